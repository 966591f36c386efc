"""What an operator has to look at first: a case for each problem that a document may begin with."""

from typing import Any

from kafka_reassign_rpc.client import ClusterNode, PartitionInfo, PartitionReassignment, stock_cluster
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.core.healing.failed_brokers import LostReplicas
from kafka_reassign_rpc.core.healing.self_healing_status import (
    NOTHING_LEFT,
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    Left,
    LogDirFailure,
    with_fates,
)
from kafka_reassign_rpc.core.state.broker import FailedLogDirs, LostQuorum
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.documents import StatusProblem
from kafka_reassign_rpc.core.status.own_certificates import ListenerHandshake, OwnCertificates
from kafka_reassign_rpc.core.status.problems import MOST_UNSEEN, UNSEEN_CLUSTER, lost_brokers, problems_of
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ServerView, WatchView
from tests.core.build import broker
from tests.status_page.views import at_rest, cluster_of, run, server_of, term_of

FIRST_MISSED = 1_764_194_400_000


def problems(view: ServerView) -> dict[str, StatusProblem]:
    return {one.kind: one for one in status_of(view, at=1, version="1", full=True).problems}


def healing(enable: str | None = None, left: Left = NOTHING_LEFT, **changes: Any) -> HealingStatus:
    failed = [FailedBroker(8, FIRST_MISSED, FIRST_MISSED + 60_000, 3)]
    terms = {"interval_ms": 60_000, "paused": False, "held_back": None, "failed": failed, "waiting": 0, "moving": 0}
    return with_fates(HealingStatus(**{**terms, **changes}), enable, left)


def test_fg_5_a_server_without_a_controller_says_so() -> None:
    assert problems(server_of(None)._replace(brokers={1: broker(1)})) == {}, "a standby that knows its controller"
    assert problems(server_of(None, controller=None))["no_controller"].text == "no controller is known"
    connecting = server_of(None)._replace(role="", reason="")
    assert problems(connecting)["no_controller"].text == "this server is not ready"
    assert problems(connecting._replace(reason="no ZooKeeper"))["no_controller"].text == "no ZooKeeper"


def test_fg_5_a_server_at_a_place_without_a_cluster_says_that_the_chroot_may_be_wrong() -> None:
    empty = server_of(term_of(cluster_of({}, live=())))
    for view in (empty, server_of(None)):
        found = problems(view)["no_brokers"]
        assert found.level == "wrong"
        assert "A mistyped chroot looks the same" in found.text
    down = problems(server_of(term_of(cluster_of({"t": {0: at_rest(1)}}, live=()))))["no_brokers"]
    assert down.text == "no broker is registered, and there is 1 topic: all brokers are down"
    assert "no_brokers" not in problems(server_of(term_of(cluster_of({}))))


def test_fg_5_lost_brokers_are_named_with_the_time_of_their_loss_and_of_their_repair() -> None:
    cluster = cluster_of({"t": {0: at_rest(1)}})
    cluster.failed = {8: FIRST_MISSED, 9: None}
    found = problems(server_of(term_of(cluster)._replace(healing=healing())))["lost_brokers"]
    assert found.text == (
        "4 of 6 brokers live; lost: 8 since 2025-11-26 22:00:00 UTC, 3 replicas, healed at 2025-11-26 22:01:00 UTC; 9"
    )
    assert found.since == FIRST_MISSED
    asked = problems(server_of(term_of(cluster)._replace(healing=healing(approval=True))))["lost_brokers"]
    assert asked.text.endswith("22:00:00 UTC, 3 replicas, ready for approval at 2025-11-26 22:01:00 UTC; 9")
    cluster.failed = dict.fromkeys(range(10, 17), None)
    found = problems(server_of(term_of(cluster)))["lost_brokers"]
    assert found.text == "4 of 11 brokers live; lost: 10; 11; 12; 13; 14 and 2 more"
    assert found.since is None, "nobody knows when"
    cluster.failed = {1: FIRST_MISSED}
    assert "lost_brokers" not in problems(server_of(term_of(cluster))), "it is back"


def test_sv_4_topics_that_are_left_alone_are_a_problem_whose_names_only_the_full_status_has() -> None:
    cluster = cluster_of({"t": {0: at_rest(1)}})
    assert "topics_left_alone" not in problems(server_of(term_of(cluster)))
    cluster.unreadable = {"b": "its topic id is that of topic t", "a": "no JSON"}
    found = problems(server_of(term_of(cluster)))["topics_left_alone"]
    refused = "2 topics are left alone: whatever is asked about such a topic is refused"
    assert (found.level, found.text) == ("wrong", f"{refused}. a (no JSON); b (its topic id is that of topic t)")
    counts = status_of(server_of(term_of(cluster)), at=1, version="1", full=False).problems
    assert refused in [one.text for one in counts]


def test_dh_1_every_lost_broker_is_a_problem_with_what_will_happen_to_it() -> None:
    cluster = cluster_of({"t": {0: at_rest(1)}})
    cluster.failed = {8: FIRST_MISSED, 9: FIRST_MISSED}
    found = healing(
        interval_ms=None,
        failed=[FailedBroker(8, FIRST_MISSED, None, 3), FailedBroker(9, FIRST_MISSED, None, 0)],
        gone=[GoneBroker(10, None, 5, 0), GoneBroker(11, FIRST_MISSED + 1000, 0, 1)],
        repairs=[BrokerRepair(10, waiting=4, moving=1, unapproved=3)],
    )
    view = server_of(term_of(cluster)._replace(healing=found))
    assert problems(view)["lost_brokers"].text == (
        "4 of 8 brokers live; lost: 8 since 2025-11-26 22:00:00 UTC, 3 replicas, never healed by itself;"
        " 9 since 2025-11-26 22:00:00 UTC, moves in flight take all of its replicas away;"
        " 10, its repair is under way: 1 move in flight, 4 waiting (3 for approval);"
        " 11 since 2025-11-26 22:00:01 UTC, 1 move waits for it, and nothing repairs that: cancel it, give it another"
        " target, or bring the broker back. Self-healing is off: failure.interval.ms=-1"
    )
    document = status_of(view, at=1, version="1", full=True)
    assert document.brokers_lost == 4
    assert document.healing is not None
    told = [(one.broker, one.since, one.repaired, one.awaited) for one in document.healing.gone]
    assert told == [(10, None, 5, 0), (11, FIRST_MISSED + 1000, 0, 1)]
    assert document.healing.failed[0].fate == "never healed by itself"
    assert document.healing.gone[0].fate.startswith("its repair is under way")


def test_dh_1_a_repair_of_others_is_not_called_that_of_a_broker_that_only_a_move_names() -> None:
    """A repair of broker 5 takes the place of a move in flight that would have filled broker 7."""
    found = healing(failed=[], gone=[GoneBroker(7, None, 1, 0)], repairs=[BrokerRepair(5, waiting=1, moving=0)])
    assert found.gone[0].fate == "repairs take 1 replica away"


def test_dh_1_a_dead_broker_that_only_a_move_would_fill_is_lost_for_watch_and_for_a_controller_alike() -> None:
    name = TopicPartition("t", 0)
    topic = TopicInfo("t", {0: PartitionInfo(1, (1, 9, 2), (1, 2))}, None)
    listed = {name: PartitionReassignment((1, 9, 2), (9,), (2,))}
    cluster = stock_cluster.cluster_of([ClusterNode(one, "h", 1, None) for one in (1, 2)], [topic], listed)
    assert lost_brokers(cluster, None).keys() == {9}, "for watch"
    cluster.failed.clear()
    partition = cluster.get(*name)
    assert partition is not None
    losses = LostReplicas(cluster)
    losses.count(partition)
    gone = [GoneBroker(broker, None, 0, count) for broker, count in losses.awaited.items()]
    assert lost_brokers(cluster, healing(failed=[], gone=gone)).keys() == {9}, "for a controller"


def test_fg_5_a_pause_is_one_problem_though_it_also_holds_repairs_back() -> None:
    term = term_of(cluster_of({"t": {0: at_rest(1)}}))
    paused = problems(server_of(term._replace(healing=healing(paused=True, held_back="it is paused"))))
    assert paused.keys() >= {"healing_paused"}
    assert "healing_held_back" not in paused
    held = problems(server_of(term._replace(healing=healing(held_back="two are gone"))))
    assert held["healing_held_back"].text == "Self-healing is held back: two are gone"


def test_dh_3_failed_log_dirs_are_a_problem_with_their_paths_only_in_the_full_status() -> None:
    cluster = cluster_of({"t": {0: at_rest(1)}})
    cluster.failed_log_dirs = {
        1: FailedLogDirs(FIRST_MISSED, ("/a", "/b")),
        2: FailedLogDirs(FIRST_MISSED - 1000),
        9: FailedLogDirs(1, ("/c",)),
    }
    lost = LogDirFailure(1, ("/a", "/b"), FIRST_MISSED, None, 3)
    view = server_of(term_of(cluster)._replace(healing=healing(interval_ms=None, failed=[], log_dirs=[lost])))
    found = problems(view)["failed_log_dirs"]
    assert found.text == (
        "2 brokers have lost log dirs: 1 (/a, /b) since 2025-11-26 22:00:00 UTC, 3 replicas, never healed by itself;"
        " 2 since 2025-11-26 21:59:59 UTC. Self-healing is off: failure.interval.ms=-1"
    ), "broker 9 is not registered"
    assert (found.level, found.since) == ("wrong", FIRST_MISSED - 1000)
    [bare] = [one.text for one in status_of(view, at=1, version="1", full=False).problems if "log dirs" in one.text]
    assert "/a" not in bare


def test_dh_8_repairs_that_wait_for_approval_are_a_problem_with_the_command_that_approves_them() -> None:
    term = term_of(cluster_of({"t": {0: at_rest(1)}}))
    moves = {("t", index): WaitingMove(MoveTerms((2,)), unapproved=FIRST_MISSED) for index in range(2)}
    run(term.cluster.queue.put(QueuePart("/q", "/q", moves)))
    repairs = [BrokerRepair(8, waiting=2, moving=0, unapproved=2), BrokerRepair(9, waiting=1, moving=0)]
    found = problems(server_of(term._replace(healing=healing(repairs=repairs))))["repairs_unapproved"]
    assert found.text.startswith("2 moves of repairs of broker 8 wait for approval: kafka-reassign heal")
    assert found.text.endswith("--approve")
    unknown = problems(server_of(term))["repairs_unapproved"]
    assert unknown.text.startswith("2 moves of repairs wait for approval: ")


def test_kr_1_what_watch_cannot_see_is_shown_with_addresses_only_in_the_full_status_and_up_to_a_number() -> None:
    blind = server_of(None)._replace(server=None, role="", reason="127.0.0.1:9092 refuses User:a")
    assert problems(blind)["no_controller"].text == "127.0.0.1:9092 refuses User:a"
    [bare] = problems_of(blind, None, full=False)
    assert bare.text == UNSEEN_CLUSTER
    lines = [f"topic {number} is not seen" for number in range(MOST_UNSEEN + 5)]
    watch = server_of(None)._replace(role="watch", watch=WatchView("blue", lines))
    shown = [one.text for one in problems_of(watch, None, full=True)]
    assert shown == [f"cluster blue: {one}" for one in lines[:MOST_UNSEEN]]
    assert problems_of(watch, None, full=False) == []


def test_kr_1_a_cluster_that_reports_no_moves_and_one_without_a_controller_are_problems_with_their_time() -> None:
    silent = server_of(None)._replace(role="watch", watch=WatchView(silent_since=FIRST_MISSED))
    [found] = problems_of(silent, None, full=True)
    assert (found.kind, found.since) == ("unseen", FIRST_MISSED)
    assert found.text.startswith("No broker has said since 2025-11-26 22:00:00 UTC which moves there are")
    for since, expected in ((FIRST_MISSED, FIRST_MISSED), (None, None)):
        [found] = problems_of(silent._replace(watch=WatchView(lost_quorum=LostQuorum([1], {}, since))), None, full=True)
        assert (found.kind, found.since) == ("no_controller", expected)
        assert found.text.startswith("No controller is active")


def test_sv_5_certificates_that_are_refused_are_a_problem_whose_reasons_only_the_full_status_has() -> None:
    handshakes = [
        ListenerHandshake("SSL", of_brokers=True, why="expired"),
        ListenerHandshake("SSL2", of_brokers=False, why="unknown CA", is_doubt=True),
        ListenerHandshake("SSL3", of_brokers=False),
    ]
    view = server_of(None)._replace(certificates=OwnCertificates(handshakes), brokers={1: broker(1)})
    assert problems(view)["certificates"].text == "listener SSL: brokers would not connect: expired"
    [bare] = problems_of(view, None, full=False)
    assert bare.text == "the certificates of listeners are refused"
