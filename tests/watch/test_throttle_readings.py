"""kr-2: throttles are read when moves begin and end, and none is called needless that was read before the last move."""

from kafka_reassign_rpc.client.polling_pace import HURRY_S, PAUSES_S, Ask, Pace
from kafka_reassign_rpc.client.stock_cluster import ToldConfigs
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import HEALTHY, ControllerView, ServerView, TermView
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from kafka_reassign_rpc.support.slices import run_through
from kafka_reassign_rpc.watch import seen_cluster
from kafka_reassign_rpc.watch.seen_cluster import LEASE_MS, ThrottleReadings
from tests.watch.test_decisions import MOVE, NODES, T0, cost, topic

STARTED = Event(catalogue.MOVE_STARTED, "t", 0, target=(1, 3), original=(1, 2))
COMPLETED = Event(catalogue.MOVE_COMPLETED, "t", 0, target=(1, 3), original=(1, 2))
SLOW = {LEADER_RATE: "5"}
ALL = (1, 2, 3)


def told(*throttled: int, known: tuple[int, ...] = ALL) -> ToldConfigs:
    return ToldConfigs({str(one): SLOW if one in throttled else {} for one in known}, {}, frozenset(known), "")


def at_rest() -> Cluster:
    return seen_cluster.made_new(None, NODES, [topic(1, 3)], {}, {}, 5)


def needless(readings: ThrottleReadings, cluster: Cluster) -> list[str]:
    term = TermView(
        cluster,
        ProgressTracker(60),
        HEALTHY,
        None,
        silent=cluster.brokers.keys() - readings.known(cluster),
        outdated=readings.outdated(cluster),
    )
    view = ServerView(None, "c", "watch", "", ControllerView(1), cluster.brokers, term)
    problems = status_of(view, at=0, version="", full=True).problems
    return [one.text for one in problems if one.kind == "needless_throttles"]


def test_kr_2_a_throttle_that_was_read_before_the_last_move_ended_is_not_called_needless() -> None:
    cluster, readings = at_rest(), ThrottleReadings()
    readings.moved([STARTED], 1_000, is_last=False)
    readings.put(cluster, told(1, 3), ALL, 1_500)
    readings.moved([COMPLETED], 9_000, is_last=True)
    assert needless(readings, cluster) == []
    assert readings.is_urgent(cluster)
    readings.put(cluster, told(1, 3), ALL, 9_000 + LEASE_MS - 1)
    assert needless(readings, cluster) == [], "whoever has throttled it may be about to end that"
    assert readings.is_urgent(cluster)
    readings.put(cluster, told(3), ALL, 9_000 + LEASE_MS)
    (text,) = needless(readings, cluster)
    assert text.startswith("Nothing moves, and broker 3 is throttled by a config that no move needs")
    assert not readings.is_urgent(cluster)


def test_kr_2_that_a_broker_was_not_throttled_before_a_move_began_is_no_knowledge() -> None:
    cluster, readings = at_rest(), ThrottleReadings()
    readings.put(cluster, told(2), ALL, 100)
    readings.moved([STARTED], 1_000, is_last=False)
    assert readings.known(cluster) == {2}
    readings.put(cluster, told(1, 2), ALL, 1_500)
    assert readings.known(cluster) == set(ALL)
    readings.moved([COMPLETED], 2_000, is_last=True)
    assert readings.known(cluster) == set(ALL), "what was read holds, with its age"


def test_kr_2_a_throttle_that_was_there_before_watch_came_is_needless_at_once() -> None:
    cluster, readings = at_rest(), ThrottleReadings()
    readings.put(cluster, told(1), ALL, 100)
    assert len(needless(readings, cluster)) == 1


def test_kr_2_a_throttle_of_a_broker_that_tells_it_no_longer_is_unknown_not_needless() -> None:
    cluster, readings = at_rest(), ThrottleReadings()
    readings.put(cluster, told(1), ALL, 100)
    readings.put(cluster, told(known=(2, 3)), ALL, 200)
    assert needless(readings, cluster) == []
    assert readings.told == {2, 3}


def test_kr_2_brokers_of_moves_throttled_ones_and_returned_ones_are_asked_and_others_keep_their_answers() -> None:
    cluster, readings = at_rest(), ThrottleReadings()
    readings.put(cluster, told(3), ALL, 100)
    assert readings.to_ask(cluster, ()) == {3}
    readings.moved([Event(catalogue.MOVE_STARTED, "t", 0, target=(2,), original=(9,))], 200, is_last=False)
    assert readings.to_ask(cluster, (1,)) == {1, 2, 3}, "and none that is gone"
    readings.put(cluster, told(2, known=(2,)), (2,), 300)
    assert readings.told == set(ALL)
    assert readings.at == {1: 100, 2: 300, 3: 100}
    assert {one for one, configs in cluster.broker_configs.items() if configs} == {"2", "3"}
    assert not readings.is_urgent(cluster)
    readings.returned([1])
    assert readings.is_urgent(cluster)
    run_through(seen_cluster.brought_up_to_date(cluster, NODES[:2], [], {T0: MOVE}, {}, 6))
    readings.put(cluster, told(known=(1,)), (1,), 400)
    assert readings.told == {1, 2}
    assert set(readings.at) == {1, 2}


def test_kr_2_what_may_no_longer_hold_is_asked_for_soon_and_within_the_budget() -> None:
    pace = Pace()
    pace.asked(Ask.THROTTLES, 5.0, cost(took_s=0.001))
    assert pace.due_in_s(Ask.THROTTLES, 5.0, moving=True) == PAUSES_S[Ask.THROTTLES][0]
    assert pace.due_in_s(Ask.THROTTLES, 5.0, moving=True, hurry=True) == HURRY_S[Ask.THROTTLES]
    pace.asked(Ask.THROTTLES, 5.0, cost(requests=200))
    assert pace.due_in_s(Ask.THROTTLES, 5.0, moving=True, hurry=True) == 50, "4 requests a second"
