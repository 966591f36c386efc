"""What the status page says of a cluster, by cases that were computed by hand."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import msgspec
import pytest

from kafka_reassign_rpc.api.vendor_table import DOCUMENTS
from kafka_reassign_rpc.core.document_and_command_bodies import Parameters
from kafka_reassign_rpc.core.healing.self_healing_status import FailedBroker, HealingStatus
from kafka_reassign_rpc.core.reassignment.move_sums import SPANS, FigureHistory
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.remaining_time import CopyRates
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status import brokers, documents, moves
from kafka_reassign_rpc.core.status.documents import Moves, Status
from kafka_reassign_rpc.core.status.moves import MoveFilter, Sort
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import TermView
from kafka_reassign_rpc.status_page.events import EventReader
from kafka_reassign_rpc.status_page.keepers import FigureKeeper
from kafka_reassign_rpc.status_page.requests import PARAMETERS, BadParameter, EventsRequest, MovesRequest
from kafka_reassign_rpc.status_page.requests import Parameters as QueryParameters
from kafka_reassign_rpc.status_page.status_api import StatusApi
from kafka_reassign_rpc.support.slices import finished
from tests.status_page.views import at_rest, cluster_of, move, run, sample, server_of, term_of
from tests.tables import for_each

T = TypeVar("T")


def shown(term: TermView | None, *, full: bool = True, at: int = 5000) -> Status:
    return status_of(server_of(term), at=at, version="1", full=full)


def listed(term: TermView, wanted: MoveFilter, offset: int = 0, limit: int = 50) -> Moves:
    selection = finished(moves.select_moves(term, wanted))
    return moves.page_of(term, selection, offset=offset, limit=limit, at=1, listed_at=1)


def names(found: Moves) -> list[str]:
    return [f"{one.topic}-{one.partition}" for one in found.moves]


def test_sv_11_what_is_not_known_is_null_and_never_0() -> None:
    cluster = cluster_of({"t": {0: move((1,), (2, 3)), 1: move((1,), (2,))}})
    tracker = ProgressTracker(60.0)
    before = shown(term_of(cluster, tracker)).totals
    assert before is not None
    assert (before.bytes_left, before.bytes_total, before.rate, before.remaining_ms) == (None, None, None, None)
    assert (before.stalled, before.moves_without_size) == (None, 2)
    sample(tracker, cluster, 1.0, {2: {"t": {0: 10}}})  # the leader does not tell its sizes
    silent = shown(term_of(cluster, tracker)).totals
    assert silent is not None
    assert (silent.bytes_left, silent.moves_without_size) == (None, 2)
    [first, _] = listed(term_of(cluster, tracker), MoveFilter()).moves
    assert (first.bytes_total, first.bytes_copied, first.rate) == (None, None, None)
    assert first.copied == {2: 10}, "what a replica holds is known without the leader"
    sample(tracker, cluster, 6.0, {1: {"t": {0: 100, 1: 50}}, 2: {"t": {0: 10, 1: 20}}})  # broker 3 does not answer
    found = listed(term_of(cluster, tracker), MoveFilter())
    assert (found.moves[0].bytes_total, found.moves[0].bytes_copied) == (200, None)
    assert (found.moves[1].bytes_total, found.moves[1].bytes_copied) == (50, 20)
    assert (found.sums.bytes_total, found.sums.bytes_copied, found.sums.moves_without_size) == (50, 20, 1)
    unhealthy = shown(term_of(cluster, tracker)._replace(unhealthy=None)).totals
    assert unhealthy is not None
    assert unhealthy.offline is unhealthy.under_replicated is None
    assert shown(None).totals is None


def test_sv_11_nothing_in_flight_is_known_to_be_nothing() -> None:
    totals = shown(term_of(cluster_of({"t": {0: at_rest(1, 2)}}))).totals
    assert totals is not None
    assert (totals.in_flight, totals.bytes_left, totals.stalled, totals.remaining_ms, totals.rate) == (0, 0, 0, 0, 0)
    assert (totals.under_replicated, totals.offline) == (2, 1)


def test_sv_11_rates_are_those_between_samples_and_unknown_before_two_of_them() -> None:
    cluster = cluster_of({"t": {0: move((1,), (2,))}})
    tracker = ProgressTracker(60.0)
    assert tracker.rates.of_all(moves=True) is None
    for now, copied in ((0.0, 0), (5.0, 500), (10.0, 2500)):
        sample(tracker, cluster, now, {1: {"t": {0: 9000}}, 2: {"t": {0: copied}}})
    assert tracker.rates.of_all(moves=True) == 250
    assert tracker.rates.of(2, moves=True) == (250, 0)
    assert tracker.rates.of(1, moves=True) == (0, 250)
    assert tracker.rates.of(2, moves=False) == (0, 0)
    assert ProgressTracker(60.0).rates.of(2, moves=True) == (None, None), "another term has seen nothing yet"


def test_kr_1_a_rate_is_unknown_and_not_0_while_no_broker_that_receives_has_answered() -> None:
    parts = {0: move((1,), (2,)), 1: move((1,), (3,))}
    cluster, tracker = cluster_of({"t": parts}), ProgressTracker(60.0)
    sizes = {1: {"t": {0: 9000, 1: 9000}}, 2: {"t": {0: 100}}, 3: {"t": {1: 100}}}

    def rate() -> int | None:
        totals = shown(term_of(cluster, tracker)).totals
        assert totals is not None
        return totals.rate

    for now in (0.0, 5.0):
        sample(tracker, cluster, now, sizes)
    assert rate() == 0, "they say that nothing is copied"
    del sizes[3]
    sample(tracker, cluster, 10.0, sizes)
    assert (rate(), tracker.rates.of(2, moves=True), tracker.rates.of(3, moves=True)) == (0, (0, 0), (None, 0))
    del sizes[2]
    sample(tracker, cluster, 15.0, sizes)
    assert rate() is None
    assert [tracker.rates.of(one, moves=True) for one in (1, 2, 3)] == [(None, None)] * 3
    sample(tracker, cluster, 20.0, {**sizes, 2: {"t": {0: 600}}})
    assert rate() is not None


def test_sv_11_a_clock_of_samples_that_has_stopped_makes_no_rate() -> None:
    cluster = cluster_of({"t": {0: move((1,), (2,))}})
    tracker = ProgressTracker(60.0)
    for copied in (0, 500):
        sample(tracker, cluster, 7.0, {1: {"t": {0: 9000}}, 2: {"t": {0: copied}}})
    assert tracker.rates.of_all(moves=True) is None


def test_sv_11_moves_are_filtered_sorted_and_paged_and_sums_are_those_of_all_pages() -> None:
    cluster = cluster_of(
        {
            "orders": {0: move((1,), (2,), started=30), 1: move((1,), (3,), started=10), 2: at_rest(1)},
            "audit": {0: move((1,), (4,), started=20)},
            "waits": {0: at_rest(1, 2), 1: at_rest(1, 2)},
        }
    )
    entries = {
        ("waits", 0): WaitingMove(MoveTerms((2, 3), "queue", "why")),
        ("orders", 0): WaitingMove(MoveTerms((4,), "queue")),
    }
    run(cluster.queue.put(QueuePart("/q", "/q", entries)))
    tracker = ProgressTracker(60.0)
    sizes = {1: {"orders": {0: 100, 1: 900}, "audit": {0: 500}}, 2: {"orders": {0: 90}}, 3: {"orders": {1: 10}}}
    sample(tracker, cluster, 0.0, {**sizes, 4: {"audit": {0: 0}}})
    term = term_of(cluster, tracker)
    orders: dict[Sort, list[str]] = {
        "topic": ["audit-0", "orders-0", "orders-0", "orders-1", "waits-0"],
        "left": ["orders-1", "audit-0", "orders-0", "orders-0", "waits-0"],
        "since": ["orders-1", "audit-0", "orders-0", "orders-0", "waits-0"],
        "remaining": ["audit-0", "orders-0", "orders-0", "orders-1", "waits-0"],
        "rate": ["audit-0", "orders-0", "orders-0", "orders-1", "waits-0"],
        "stalled": ["audit-0", "orders-0", "orders-1", "orders-0", "waits-0"],
    }
    assert orders.keys() == moves.SORTS.keys()
    for sort, expected in orders.items():
        assert names(listed(term, MoveFilter(sort=sort))) == expected, sort
    everything = listed(term, MoveFilter())
    sums = everything.sums
    assert (everything.count, sums.in_flight, sums.waiting, sums.bytes_total, sums.bytes_copied) == (5, 3, 2, 1500, 100)
    page = listed(term, MoveFilter(), offset=1, limit=2)
    assert (names(page), page.count, page.sums) == (["orders-0", "orders-0"], 5, sums)
    assert names(listed(term, MoveFilter(), offset=99)) == []
    assert names(listed(term, MoveFilter(topic="rde"))) == ["orders-0", "orders-0", "orders-1"]
    assert names(listed(term, MoveFilter(broker=3))) == ["orders-1", "waits-0"]
    assert names(listed(term, MoveFilter(state="waiting"))) == ["orders-0", "waits-0"]
    waiting_sums = listed(term, MoveFilter(state="waiting")).sums
    assert (waiting_sums.waiting, waiting_sums.bytes_total, waiting_sums.bytes_copied) == (2, None, None)
    assert names(listed(term, MoveFilter(state="moving"))) == ["audit-0", "orders-0", "orders-1"]
    assert names(listed(term, MoveFilter(state="stalled"))) == []
    [behind, waiting] = listed(term, MoveFilter(state="waiting")).moves
    assert (behind.state, behind.original, behind.target) == ("waiting", (2,), (4,)), "it begins where the other ends"
    assert (waiting.original, waiting.target, waiting.adding, waiting.removing) == ((1, 2), (2, 3), (3,), (1,))
    assert (waiting.reason, waiting.bytes_total, waiting.bytes_copied) == ("why", None, None)


def test_236_13_the_moves_in_flight_of_partitions_come_with_those_that_wait_for_their_end() -> None:
    cluster = cluster_of({"t": {0: move((1,), (2,)), 1: at_rest(1), 2: move((1,), (3,))}, "u": {0: move((1,), (2,))}})
    entries = {("t", one): WaitingMove(MoveTerms((4,), "queue")) for one in (0, 1, 2)}
    run(cluster.queue.put(QueuePart("/q", "/q", entries)))
    term = term_of(cluster)
    listed_too = {(one.topic, one.partition, one.state): one for one in listed(term, MoveFilter()).moves}

    def told(wanted: dict[str, list[int]] | None) -> Sequence[tuple[str, int, str]]:
        found = [one for one in moves.moves_in_flight(term, wanted) if one is not None]
        names = [(one.topic, one.partition, one.state) for one in found]
        assert found == [listed_too[name] for name in names], "one picture of a move"
        return names

    of_t = [("t", 0, "moving"), ("t", 2, "moving")]
    waiting = [("t", 0, "waiting"), ("t", 2, "waiting")]
    assert told(None) == [*of_t, ("u", 0, "moving"), *waiting]
    assert told({"t": [2, 2, 1, -1, 99], "gone": [0]}) == [of_t[1], waiting[1]]
    assert told({}) == []


def test_sv_11_a_queued_move_of_a_partition_that_moves_is_counted_as_the_status_counts_it() -> None:
    cluster = cluster_of({"t": {0: move((1,), (2,)), 1: at_rest(1)}})
    run(cluster.queue.put(QueuePart("/q", "/q", {("t", one): WaitingMove(MoveTerms((4,), "queue")) for one in (0, 1)})))
    term = term_of(cluster)
    totals = shown(term).totals
    assert totals is not None
    assert sum((totals.waiting or {}).values()) == listed(term, MoveFilter()).sums.waiting == 2
    found = [(one.partition, one.state) for one in listed(term, MoveFilter()).moves]
    assert found == [(0, "moving"), (0, "waiting"), (1, "waiting")]


def test_sv_11_a_move_that_is_over_by_now_is_left_out_of_its_page() -> None:
    cluster = cluster_of({"t": {0: move((1,), (2,)), 1: move((1,), (2,))}})
    term = term_of(cluster)
    selection = finished(moves.select_moves(term, MoveFilter()))
    cluster.topics["t"].partitions[0] = at_rest(2)
    found = moves.page_of(term, selection, offset=0, limit=9, at=1, listed_at=1)
    assert names(found) == ["t-1"]


def test_sv_11_a_move_that_ended_while_another_waits_for_its_partition_has_one_row() -> None:
    cluster = cluster_of({"t": {0: move((1,), (2,))}})
    run(cluster.queue.put(QueuePart("/q", "/q", {("t", 0): WaitingMove(MoveTerms((4,), "queue"))})))
    term = term_of(cluster)
    selection = finished(moves.select_moves(term, MoveFilter()))
    cluster.topics["t"].partitions[0] = at_rest(2)
    found = moves.page_of(term, selection, offset=0, limit=9, at=1, listed_at=1)
    assert [(one.state, one.target) for one in found.moves] == [("waiting", (4,))]


def test_sv_11_a_move_that_copies_nothing_has_0_bytes_without_any_answer() -> None:
    cluster = cluster_of({"t": {0: move((1, 2), (1,)), 1: at_rest(1, 2)}})
    run(cluster.queue.put(QueuePart("/q", "/q", {("t", 1): WaitingMove(MoveTerms((2, 1), "queue"))})))
    found = listed(term_of(cluster), MoveFilter())
    assert [(one.bytes_total, one.bytes_copied) for one in found.moves] == [(0, 0), (0, 0)]
    assert (found.sums.bytes_total, found.sums.moves_without_size) == (0, 0)


def test_sv_11_after_an_idle_hour_rates_do_not_count_it() -> None:
    """10 bytes a second from 3600 s on, after a move that ended an hour before."""
    cluster = cluster_of({"t": {0: move((1,), (2,)), 1: at_rest(1)}})
    tracker = ProgressTracker(60.0)
    sample(tracker, cluster, 0.0, {1: {"t": {0: 100}}, 2: {"t": {0: 100}}})
    cluster = cluster_of({"t": {0: at_rest(2), 1: at_rest(1)}})
    sample(tracker, cluster, 5.0, {})
    cluster = cluster_of({"t": {1: move((1,), (2,))}})
    sample(tracker, cluster, 3600.0, {1: {"t": {1: 900}}, 2: {"t": {1: 0}}})
    assert tracker.rates.of_all(moves=True) is None, "one sample makes no rate"
    sample(tracker, cluster, 3605.0, {1: {"t": {1: 900}}, 2: {"t": {1: 50}}})
    assert tracker.rates.of_all(moves=True) == 10


def test_sv_11_history_has_all_that_is_left_to_copy_waiting_moves_included() -> None:
    cluster = cluster_of({"t": {0: move((1,), (2,)), 1: at_rest(1)}})
    run(cluster.queue.put(QueuePart("/q", "/q", {("t", 1): WaitingMove(MoveTerms((2,), "queue"))})))
    cluster.soft.sizes[TopicPartition("t", 1)] = 500
    tracker, history = ProgressTracker(60.0), FigureHistory()
    sample(tracker, cluster, 0.0, {1: {"t": {0: 100, 1: 500}}, 2: {"t": {0: 40}}})
    term = term_of(cluster, tracker)
    FigureKeeper(lambda: term, history).record(10.0, 1000)
    assert shown(term).work.bytes_left == 560  # type: ignore[union-attr]
    assert history.past("hour", 20.0, 9000).points[-1].bytes_left == 560


def test_sv_11_only_what_is_complete_has_the_share_of_1_however_large_it_is() -> None:
    assert documents.share(10**18 - 1, 10**18) == 0.9999


def test_sv_11_brokers_are_counted_and_one_that_is_gone_but_holds_replicas_is_shown() -> None:
    cluster = cluster_of({"t": {0: at_rest(1, 9), 1: at_rest(9, 2, leader=-1)}}, live=(1, 2))
    cluster.broker_configs["1"] = {"follower.replication.throttled.rate": "5000"}
    counts = brokers.no_counts()
    run(brokers.count_replicas(cluster, counts))
    shown_brokers = finished(brokers.brokers_of(cluster, counts, CopyRates(), at=1, counted_at=1)).brokers
    found = {one.id: one for one in shown_brokers}
    assert [(one.alive, one.replicas, one.leaders, one.rack) for one in found.values()] == [
        (True, 1, 1, "r1"),
        (True, 1, 0, "r2"),
        (False, 2, 0, None),
    ]
    assert found[1].throttle_in is not None
    assert (found[1].throttle_in.rate, found[1].throttle_in.by) == (5000, "config")
    assert found[1].throttle_out is found[2].throttle_in is None
    assert found[1].rate_in == 0, "nothing moves"


def test_sv_11_healing_is_shown_with_its_countdown_and_its_problems_only_in_full() -> None:
    failed = [FailedBroker(9, 1000, 61_000, 5), FailedBroker(10, 2000, None, 1)]
    status = HealingStatus(60_000, False, "too many", failed, 3, 4, problems=["config x"])
    term = term_of(cluster_of({}))._replace(healing=status)
    healing = shown(term).healing
    assert healing is not None
    assert [(one.broker, one.heal_at, one.replicas) for one in healing.failed] == [(9, 61_000, 5), (10, None, 1)]
    assert (healing.held_back, healing.waiting, healing.in_flight, healing.problems) == (
        "too many", 3, 4, ["config x"],
    )  # fmt: skip
    counts = shown(term, full=False)
    assert counts.healing is not None
    assert counts.healing.problems is counts.controller.page is None


def test_sv_11_history_keeps_a_bounded_number_of_points_and_a_clock_that_jumps_does_not_bend_it() -> None:
    term: TermView | None = term_of(cluster_of({}))
    history = FigureHistory()
    keeper = FigureKeeper(lambda: term, history)
    for number in range(500):
        keeper.record(10.0 * number, (500 - number) * 1_000_000)  # the clock goes back
    hour = history.past("hour", 5000.0, 9_000_000).points
    assert len(hour) == SPANS["hour"].points
    assert [one.at for one in hour[-2:]] == [8_980_000, 8_990_000]
    assert all(one.at < other.at for one, other in pairwise(hour))
    assert len(history.past("day", 5000.0, 9_000_000).points) == 17
    term = None
    keeper.record(5100.0, 9_100_000)
    assert history.past("hour", 5100.0, 9_100_000).points[-1].at == 9_100_000 - 110_000, "a standby knows no figures"


@for_each(
    ("query", "problem"),
    [
        ("limit=0", "limit: expected a whole number from 1 to 500, got '0'"),
        ("limit=501", "limit: expected a whole number from 1 to 500"),
        ("limit=²", "limit: expected a whole number"),
        ("offset=-1", "offset: expected a whole number"),
        ("offset=" + "9" * 400, "offset: expected a whole number"),
        ("broker=x", "broker: expected a whole number"),
        ("sort=size", "sort: expected one of topic, left,"),
        ("state=done", "state: expected one of moving, waiting, stalled"),
        ("topic=" + "x" * 250, "topic: expected at most 249 characters"),
        ("topic=a&topic=b", "topic is given twice"),
        ("topic=&topic=b", "topic is given twice"),
        ("topic=b&topic=", "topic is given twice"),
        ("colour=red", "unknown parameter 'colour': expected offset, limit,"),
        ("&".join(f"a{n}=1" for n in range(20)), "more than 10 parameters"),
        ("topic=" + "%41" * 3_000, "the parameters have more than 8192 characters"),
    ],
)
def test_sv_11_a_parameter_that_makes_no_sense_is_refused_with_what_is_expected(query: str, problem: str) -> None:
    with pytest.raises(BadParameter) as refused:
        MovesRequest(query)
    assert problem in str(refused.value)
    assert len(str(refused.value)) < 300


def test_sv_11_no_parameter_of_any_path_may_be_there_twice() -> None:
    for known in PARAMETERS.values():
        for name in known:
            for query in (f"{name}=1&{name}=1", f"{name}=&{name}=", f"{name}=1&%{ord(name[0]):x}{name[1:]}=2"):
                with pytest.raises(BadParameter, match=f"^{name} is given twice$"):
                    QueryParameters(query, tuple(known))


async def test_sv_11_every_document_of_the_page_that_the_vendor_table_names_is_answered_as_the_page_does() -> None:
    term = term_of(cluster_of({"t": {0: move((1,), (2,))}}))

    async def readers() -> dict[int, EventReader]:
        return {}

    api = StatusApi(lambda: server_of(term), readers, FigureKeeper(lambda: term, FigureHistory()), "1.0", full=False)
    given = {"departure": {"brokers": "2"}, "history": {"span": "day"}, "moves": {"limit": "1", "topic": "t"}}
    for row in DOCUMENTS:
        if row.body is Parameters:
            status, body = await api.document(row.name, given.get(row.name, {}))
            assert status == 200, (row.name, body)
            msgspec.json.decode(body, type=row.answers)
            status, body = await api.document(row.name, {"colour": "red"})
            assert (status, "unknown parameter 'colour'" in body.decode()) == (400, True), row.name
    status, body = await api.document("departure", {"brokers": ",".join(map(str, range(5_000)))})
    assert (status, "brokers: expected" in body.decode()) == (400, True)
    await api.close()


def test_sv_11_parameters_have_defaults_and_an_empty_one_is_none() -> None:
    asked = MovesRequest("topic=&limit=&broker=7&state=stalled&sort=left")
    assert (asked.offset, asked.limit, asked.filter) == (0, 50, MoveFilter(None, 7, "stalled", "left"))
    events = EventsRequest("principal=alice%20b&since=5")
    assert (events.principal, events.since, events.limit) == ("alice b", 5, 50)


def test_sv_11_documents_are_json() -> None:
    term = term_of(cluster_of({"t\u2028</script>": {0: move((1,), (2,), reason="<x>")}}))
    body = msgspec.json.encode(listed(term, MoveFilter()))
    assert msgspec.json.decode(body)["moves"][0]["topic"] == "t\u2028</script>"
