"""Brokers and partitions of the status document, by cases that were worked out by hand."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.brokers.departure import MOST_NAMED
from kafka_reassign_rpc.core.config_values import DEFAULT
from kafka_reassign_rpc.core.kafka_errors import KafkaStorageError
from kafka_reassign_rpc.core.reassignment.remaining_time import CopyRates
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.status import brokers, departures, partitions
from kafka_reassign_rpc.core.status.broker_documents import BrokerStatus, Disk, FailedLogDir, Throttle
from kafka_reassign_rpc.core.status.brokers import brokers_of, count_replicas, no_counts
from kafka_reassign_rpc.core.status.documents import Partitions
from kafka_reassign_rpc.core.status.partitions import PartitionFilter
from kafka_reassign_rpc.core.status.views import BrokerDisk, TermView
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.support.slices import finished
from tests.status_page.views import at_rest, cluster_of, move, run, term_of


def of_brokers(term: TermView) -> dict[int, BrokerStatus]:
    counts = no_counts()
    run(count_replicas(term.cluster, counts))
    made = brokers_of(term.cluster, counts, term.progress.rates, term.disks, (), term.closed, at=9, counted_at=9)
    found = finished(made)
    return {one.id: one for one in found.brokers}


def found(term: TermView, wanted: PartitionFilter, offset: int = 0, limit: int = 50) -> Partitions:
    names = finished(partitions.find_partitions(term, wanted))
    return partitions.partitions_of(term, names, offset=offset, limit=limit, at=9, listed_at=9)


def named(term: TermView, wanted: PartitionFilter) -> list[str]:
    return [f"{one.topic}-{one.partition}" for one in found(term, wanted).partitions]


def world() -> TermView:
    """Broker 2 has fallen behind, 9 is dead; payments-1 moves to 4, payments-2 waits to, audit-0 is offline."""
    topics = {
        "payments": {
            0: replace(at_rest(1, 2, 3), isr=(1, 3)),
            1: replace(move((1, 2), (1, 4)), isr=(1, 2)),
            2: at_rest(3, 1),
        },
        "pay": {0: at_rest(2, 3)},
        "audit": {0: replace(at_rest(9, leader=NO_LEADER), isr=(9,)), 1: replace(at_rest(1, 9), isr=(1,))},
    }
    cluster = cluster_of(topics)
    run(cluster.queue.put(QueuePart("/q", "/q", {("payments", 2): WaitingMove(MoveTerms((4, 1), "queue"))})))
    return term_of(cluster)


def test_sv_11_a_broker_has_its_replicas_that_are_not_in_sync_and_what_it_leads_under_replicated() -> None:
    told = {
        one.id: (one.replicas, one.leaders, one.under_replicated, one.out_of_sync)
        for one in of_brokers(world()).values()
    }
    assert told == {1: (4, 3, 2, 0), 2: (3, 1, 0, 1), 3: (3, 1, 0, 0), 4: (1, 0, 0, 0), 9: (2, 0, 0, 1)}


def test_kr_1_a_watch_knows_of_cordoned_brokers_what_they_report_and_of_shutdowns_nothing() -> None:
    told = of_brokers(world()._replace(closed={1: True, 2: False, 3: None}))
    assert {one.id: one.cordoned for one in told.values()} == {1: True, 2: False, 3: None, 4: None, 9: None}
    assert {one.shutting_down for one in told.values()} == {None}
    of_a_controller = of_brokers(world())
    assert {(one.cordoned, one.shutting_down) for one in of_a_controller.values()} == {(False, False)}


def test_sv_11_disks_that_were_not_reported_are_unknown_and_failed_log_dirs_have_their_path() -> None:
    failed = [("/data/2", KafkaStorageError.code), ("/data/3", 7)]
    disks = {
        1: BrokerDisk(8, 500, 1000, 400, []),
        2: BrokerDisk(7, 300, None, None, failed),
        9: BrokerDisk(6, 1, 1, 1, []),
    }
    told = {one.id: one.disk for one in of_brokers(world()._replace(disks=disks)).values()}
    assert told[1] == Disk(8, 500, 1000, 400, [])
    dirs = [FailedLogDir("/data/2", "KAFKA_STORAGE_ERROR"), FailedLogDir("/data/3", "error 7")]
    assert told[2] == Disk(7, 300, None, None, dirs), "a broker before 3.3 does not report its volumes"
    assert (told[3], told[9]) == (None, None), "what a dead broker had reported says nothing of now"


def test_sv_11_any_partition_is_found_by_topic_partition_broker_or_state() -> None:
    term = world()
    every = ["audit-0", "audit-1", "pay-0", "payments-0", "payments-1", "payments-2"]
    assert named(term, PartitionFilter()) == every
    assert named(term, PartitionFilter("pay")) == ["pay-0", "payments-0", "payments-1", "payments-2"]
    assert named(term, PartitionFilter("payments-1")) == ["payments-1"]
    assert named(term, PartitionFilter("payments-01")) == named(term, PartitionFilter("nothing")) == []
    assert named(term, PartitionFilter(broker=9)) == ["audit-0", "audit-1"]
    assert named(term, PartitionFilter(broker=4)) == ["payments-1"]
    assert named(term, PartitionFilter(state="offline")) == ["audit-0"]
    assert named(term, PartitionFilter(state="under_replicated")) == ["audit-1", "payments-0"]
    states = {
        f"{one.topic}-{one.partition}": (one.state, one.size) for one in found(term, PartitionFilter()).partitions
    }
    assert states == {
        **dict.fromkeys(every, ("at_rest", None)),
        "payments-1": ("moving", None),
        "payments-2": ("waiting", None),
    }


def test_sv_11_a_topic_of_exactly_that_name_comes_first_and_a_search_has_pages_and_a_bound() -> None:
    topics = {"a-pay": {0: at_rest(1)}, "pay": {one: at_rest(1) for one in range(partitions.MOST_FOUND + 5)}}
    term = term_of(cluster_of(topics))
    page = found(term, PartitionFilter("pay"), offset=1, limit=2)
    assert [(one.topic, one.partition) for one in page.partitions] == [("pay", 1), ("pay", 2)]
    assert page.count == partitions.MOST_FOUND + 6, "what cannot be paged through is counted"
    assert found(term, PartitionFilter("pay"), offset=partitions.MOST_FOUND).partitions == []


def test_dh_6_each_broker_and_rack_shows_whether_it_may_go_and_a_dead_one_does_not() -> None:
    topics = {"t": {0: at_rest(1, 2), 1: at_rest(3), 2: at_rest(4, 1), 3: at_rest(1, 2, 9)}}
    cluster = cluster_of(topics)
    term = term_of(cluster)._replace(disks={4: BrokerDisk(8, 500, 1000, 400, [])})
    answers = departures.Answers(term, finished(departures.ask(term, None)))
    counts = no_counts()
    run(count_replicas(term.cluster, counts))
    listed = finished(brokers_of(term.cluster, counts, term.progress.rates, at=9, counted_at=9))
    told = finished(brokers.with_departures(listed, answers))
    may_go = {one.id: one.departure and one.departure.may_go for one in told.brokers}
    assert may_go == {1: True, 2: True, 3: False, 4: True, 9: None}
    of_3 = told.brokers[2].departure
    assert of_3 is not None
    assert of_3.why_not == [
        "1 partition loses its last in-sync replica",
        "1 partition falls under min.insync.replicas",
    ]
    assert of_3.meanwhile[-1] == "whether the others have room is not known"
    assert [(one.rack, list(one.brokers), one.departure.may_go) for one in told.racks] == [
        ("r1", [1], True),
        ("r2", [2], True),
        ("r3", [3], False),
        ("r4", [4], True),
    ]


def test_dh_6_the_document_of_a_question_names_partitions_within_its_bound() -> None:
    term = term_of(cluster_of({"t": {one: at_rest(3) for one in range(MOST_NAMED + 7)}}))
    found = departures.Answers(term, finished(departures.ask(term, {3, 8}))).document(at=9, counted_at=8)
    assert (found.brokers, found.strangers, found.may_go, found.counted_at) == ([3, 8], [8], False, 8)
    last = found.departure.last_in_sync
    assert (last.count, len(last.partitions), last.left_out) == (MOST_NAMED + 7, MOST_NAMED, 7)
    assert found.departure.room.not_told == [1, 2, 3, 4, 8]


def test_kr_1_whether_a_throttle_is_a_lease_is_known_only_where_the_controller_says_so_or_gives_none() -> None:
    cluster = world().cluster
    cluster.broker_configs = {"1": {LEADER_RATE: "5"}, DEFAULT: {FOLLOWER_RATE: "7"}}
    counts = no_counts()
    for knows_leases, by in ((True, "config"), (False, None)):
        made = brokers_of(cluster, counts, CopyRates(), knows_leases=knows_leases, at=9, counted_at=9)
        first = finished(made).brokers[0]
        assert (first.throttle_out, first.throttle_in) == (Throttle(5, by), Throttle(7, "default"))  # type: ignore[arg-type]
