"""Which place a move waits for: a broker's, the cluster's, its bytes', those of repairs."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.queue.in_flight_caps import (
    MovesInFlight,
    makes_room,
    partitions_to_measure,
    weight,
)
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, InFlightCaps
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import (
    CLUSTER,
    ENABLED,
    LATER,
    REPAIRS,
    WINDOW,
    receiving,
    sending,
)
from tests.core.build import TOPIC, cluster, moving, not_moving, write
from tests.core.queue.queue_rounds import queued, through

FIRST, SECOND = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
MOVING = moving((1, 2), (1, 3))
"""Broker 1 sends, broker 3 receives."""
AT_REST = not_moving(1, 2)


def repair(partition: Partition) -> Partition:
    return replace(partition, move=MoveRecord(MoveTerms(partition.target, HEAL), (1, 2)))


def in_flight(here: Cluster, caps: InFlightCaps, *, sampled: bool = False) -> MovesInFlight:
    write(here, started_with=replace(DEFAULT_SETTINGS, sizes_sampled=sampled))
    found = MovesInFlight(here, caps)
    through(found.count(RoundView(here)))
    return found


def test_236_13_a_move_takes_a_place_of_each_receiver_of_its_leader_and_of_the_cluster() -> None:
    here = cluster(MOVING)
    here.soft.sizes[FIRST] = 50
    assert weight(here, FIRST, MOVING) == ((receiving(3), sending(1), CLUSTER), 50)
    assert weight(here, FIRST, repair(MOVING)).places == (receiving(3), sending(1), REPAIRS, CLUSTER)
    assert weight(here, FIRST, AT_REST) == ((), 0)
    nowhere = moving((1, 2), (1, 9))
    assert weight(here, FIRST, nowhere).places == (), "a broker that is gone receives nothing"


def test_236_13_a_cap_on_bytes_lets_one_move_of_any_size_go_and_others_as_far_as_they_fit() -> None:
    here = cluster(MOVING, AT_REST)
    here.soft.sizes |= {FIRST: 60, SECOND: 40}
    target = moving((1, 2), (4, 5))
    assert in_flight(here, InFlightCaps(bytes_in_flight=140)).waits_for(SECOND, AT_REST, target) is None
    assert in_flight(here, InFlightCaps(bytes_in_flight=139)).waits_for(SECOND, AT_REST, target) == CLUSTER
    here.soft.sizes[SECOND] = 0
    assert in_flight(here, InFlightCaps(bytes_in_flight=10)).waits_for(SECOND, AT_REST, target) is None
    alone = cluster(AT_REST, AT_REST)
    alone.soft.sizes[SECOND] = 10**9
    assert in_flight(alone, InFlightCaps(bytes_in_flight=1)).waits_for(SECOND, AT_REST, target) is None


def test_236_13_a_move_of_unknown_size_waits_for_its_leaders_report_and_that_leader_gets_no_more() -> None:
    here = cluster(MOVING, AT_REST)
    found = in_flight(here, InFlightCaps(bytes_in_flight=10**6), sampled=True)
    target = moving((2, 1), (2, 4), leader=2)
    assert found.waits_for(SECOND, AT_REST, target) == sending(2)
    assert [found.has_room(sending(2)), found.has_room(sending(4)), found.has_room(receiving(9))] == [
        False,
        True,
        False,
    ]
    lost = moving((9, 1), (9, 4), isr=(9,))
    assert found.waits_for(SECOND, not_moving(9, 1), lost) is None, "no leader is there that could report it"


def test_236_13_outside_the_window_nothing_starts_that_copies_more_but_repairs() -> None:
    here = cluster(AT_REST, MOVING)
    found = in_flight(here, InFlightCaps(closed=True))
    assert found.waits_for(FIRST, AT_REST, MOVING) == WINDOW
    assert found.waits_for(FIRST, AT_REST, repair(MOVING)) is None
    assert found.waits_for(SECOND, MOVING, MOVING) is None, "it copies already"
    assert not found.unlimited


def test_236_13_without_a_cap_for_all_moves_one_that_waits_with_its_own_cap_or_as_a_repair_is_enough_to_count() -> None:
    target = moving((1, 2), (4, 5))
    without = in_flight(cluster(MOVING, AT_REST), InFlightCaps(repairs=1))
    assert without.waits_for(SECOND, AT_REST, repair(target)) is None, "what nothing waits for is not counted"
    with_repair = cluster(repair(MOVING), AT_REST)
    queued(with_repair, {1: (4, 5)}, route=HEAL)
    assert in_flight(with_repair, InFlightCaps(repairs=1)).waits_for(SECOND, AT_REST, repair(target)) == REPAIRS
    with_own = cluster(MOVING, AT_REST)
    queued(with_own, {1: (4, 5)}, own={1: 1})
    assert in_flight(with_own, InFlightCaps()).waits_for(SECOND, AT_REST, target, own=1) == sending(1)


def test_236_13_a_move_that_changes_gives_its_places_back_before_it_takes_others() -> None:
    here = cluster(MOVING, AT_REST)
    found = in_flight(here, InFlightCaps(per_broker=1))
    other = moving((5, 2), (5, 3))
    assert found.waits_for(SECOND, not_moving(5, 2), other) == receiving(3)
    assert found.waits_for(FIRST, MOVING, moving((1, 2), (1, 3, 4))) is None, "its own places are free for it"
    found.replace(FIRST, MOVING, moving((1, 2), (1, 4)))
    assert found.waits_for(SECOND, not_moving(5, 2), other) is None
    assert found.waits_for(SECOND, not_moving(5, 2), moving((5, 2), (5, 4))) == receiving(4)


def test_236_13_no_cap_keeps_a_move_from_the_end_of_another_one_or_from_reassignments_that_are_enabled() -> None:
    full = InFlightCaps(per_broker=0, per_cluster=0, repairs=0, closed=True)
    found = in_flight(cluster(MOVING), full)
    assert [found.has_room(place) for place in (CLUSTER, receiving(3), REPAIRS, WINDOW)] == [False] * 4
    assert [found.has_room(place) for place in (LATER, ENABLED)] == [True] * 2


def test_236_13_changes_of_this_round_count_and_room_comes_when_a_move_needs_less() -> None:
    here = cluster(AT_REST, AT_REST)
    view = RoundView(here)
    view.add(PartitionChange(TOPIC, 0, MOVING))
    found = MovesInFlight(here, InFlightCaps(per_cluster=1))
    through(found.count(view))
    assert found.is_full
    assert found.waits_for(SECOND, AT_REST, MOVING) == CLUSTER
    assert makes_room(MOVING, AT_REST)
    assert not makes_room(AT_REST, MOVING)
    assert not makes_room(MOVING, MOVING)


def test_236_13_the_sizes_of_what_waits_next_are_asked_for_also_in_the_batch() -> None:
    here = cluster(AT_REST, AT_REST)
    queued(here, {1: (3, 4)})
    here.batch = BatchZnode({FIRST: BatchEntry((3, 4))}, waiting=1)
    assert partitions_to_measure(here) == [SECOND, FIRST]
    here.batch = replace(here.batch, waiting=0)
    assert partitions_to_measure(here) == [SECOND]
    queued(here := cluster(*[AT_REST] * 1002), dict.fromkeys(range(1, 1002), (3, 4)))
    assert len(measured := partitions_to_measure(here)) == 1000, "of any number that wait"
    assert (measured[0], measured[-1]) == (SECOND, TopicPartition(TOPIC, 1000))
    here.batch = BatchZnode({FIRST: BatchEntry((3, 4))}, waiting=1)
    assert partitions_to_measure(here) == measured, "those of the batch come last"
