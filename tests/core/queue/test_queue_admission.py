"""KIP-236's queue and the caps on moves in flight: which moves start, which wait and for what, which leave."""

import gc
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.queue.in_flight_caps import (
    NOTHING,
    makes_room,
    partitions_to_measure,
    weight,
)
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    DEFAULT_SETTINGS,
    InFlightCaps,
    ReassignmentSettings,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import (
    CLUSTER,
    LATER,
    WINDOW,
    Place,
    receiving,
    sending,
)
from kafka_reassign_rpc.core.writers import topic_writes
from kafka_reassign_rpc.core.writers.facts import ConfigsFound, SizesReported, TimeTold
from tests.core.build import TOPIC, cluster, learn, made, moving, not_moving, sets, write
from tests.core.queue.queue_rounds import (
    ROOT,
    Target,
    admitted,
    complete,
    durable,
    queued,
    scheduled,
    through,
)
from tests.effort import examples
from tests.tables import for_each


def outcome(
    partition: Partition,
    move: WaitingMove,
    settings: ReassignmentSettings = DEFAULT_SETTINGS,
    *,
    live: Iterable[int] = range(1, 7),
) -> queue_admission.QueueOutcome:
    view = RoundView(cluster(partition, live=live))
    return queue_admission.decide_waiting_move(view, TopicPartition(TOPIC, 0), move, scheduled(view, settings))


@pytest.mark.long
def test_236_13_the_garbage_collector_does_not_track_waiting_moves() -> None:
    """Otherwise, with a hundred thousand of them, a full pass holds the event loop for too long."""
    in_cluster = cluster(*[not_moving(1, 2)] * 5000)
    gc.collect()
    before = len(gc.get_objects())
    queued(in_cluster, dict.fromkeys(range(5000), (3, 4)))
    gc.collect()
    assert len(gc.get_objects()) - before < 100


def test_236_13_every_part_is_a_slice_even_a_short_one() -> None:
    """The controller reads and writes a thousand parts in one go. Without a yield per part they held the event loop for
    100 ms."""
    in_cluster = cluster(*[not_moving(1, 2)] * 3)
    part = QueuePart(
        ROOT, f"{ROOT}/part_0000000001", {(TOPIC, index): WaitingMove(MoveTerms((3, 4), QUEUE)) for index in range(3)}
    )
    assert len(list(in_cluster.queue.put(part))) >= 1
    assert len(list(in_cluster.queue.remove(part.path))) >= 1
    assert not in_cluster.queue


# ------------------------------------------------------------------------------------------------------ one by one


def test_236_7_a_waiting_move_starts_with_its_route_and_reason() -> None:
    found = outcome(not_moving(1, 2), WaitingMove(MoveTerms((3, 4), "heal", "broker 2 is lost")))
    assert found.leaves
    value = made(found.changes)
    assert sets(value) == ((3, 4, 1, 2), (3, 4), (1, 2))
    assert value.move is not None
    assert (value.move.terms.route, value.move.terms.reason) == ("heal", "broker 2 is lost")


@pytest.mark.parametrize("partition", [not_moving(3, 4), moving((1, 2), (3, 4))])
def test_236_7_a_waiting_move_that_is_done_or_in_flight_leaves(partition: Partition) -> None:
    assert outcome(partition, WaitingMove(MoveTerms((3, 4), QUEUE))) == queue_admission.QueueOutcome(leaves=True)


def test_236_7_a_move_elsewhere_is_cancelled_first_and_the_new_one_has_its_own_record() -> None:
    standing_move = moving((2, 1), (3, 4), isr=(2, 1, 3))
    found = outcome(standing_move, WaitingMove(MoveTerms((3, 5), QUEUE)))
    change = found.changes[-1]
    assert isinstance(change, PartitionChange)
    value = change.value
    assert sets(value) == ((3, 5, 2, 1), (3, 5), (2, 1))
    assert value.isr == (2, 1), "the replicas of the former move were given up"
    assert value.pending_deletion == (4,)
    assert value.move is not None
    assert (value.move.id, value.move.original, value.move.terms.target) == (None, (2, 1), (3, 5))


@pytest.mark.parametrize(
    ("move", "gone"),
    [
        (WaitingMove(MoveTerms((3, 5), QUEUE)), (4,)),
        (WaitingMove(MoveTerms((3, 5), QUEUE, throttle=7)), (3, 4, 2, 1)),
        (WaitingMove(MoveTerms((2, 1), QUEUE)), (3, 4, 2, 1)),
        (WaitingMove(MoveTerms((3, 5))), None),
    ],
)
def test_236_7_the_throttle_of_the_cancelled_move_goes_with_it(move: WaitingMove, gone: Target | None) -> None:
    """The throttle of the new move stays: entries that others set for replicas of both moves, or its own lease."""
    in_cluster = cluster(moving((2, 1), (3, 4)))
    through(in_cluster.queue.put(QueuePart(ROOT, ROOT, {(TOPIC, 0): move})))
    assert admitted(in_cluster).unthrottled == ({} if gone is None else {TOPIC: {0: gone}})


def test_236_7_a_move_of_another_route_gets_the_new_target() -> None:
    value = made(outcome(moving((2, 1), (3, 4), isr=(2, 1, 3)), WaitingMove(MoveTerms((3, 5)))).changes)
    assert value.isr == (2, 1, 3)
    assert value.move is not None
    assert (value.move.id, value.move.terms.target) == (400, (3, 5))


def test_236_7_a_move_back_is_a_cancel() -> None:
    found = outcome(moving((2, 1), (3, 4)), WaitingMove(MoveTerms((2, 1), QUEUE)))
    assert sets(made(found.changes)) == ((2, 1), (), ())
    assert found.leaves


def test_236_7_a_move_waits_for_the_end_of_one_that_cannot_be_cancelled() -> None:
    found = outcome(moving((1,), (3,), isr=(3,), leader=3), WaitingMove(MoveTerms((4,), QUEUE)), live=(3, 4))
    assert found == queue_admission.QueueOutcome(leaves=False, waits_for=LATER)


def test_236_7_an_invalid_target_leaves_with_the_reason() -> None:
    assert outcome(not_moving(1, 2), WaitingMove(MoveTerms((3, 3), QUEUE))).report == (
        "INVALID_REPLICA_ASSIGNMENT: Duplicate replica ids in partition reassignment replica list: ArrayBuffer(3, 3)"
    )
    view = RoundView(cluster())
    gone = queue_admission.decide_waiting_move(
        view, TopicPartition(TOPIC, 0), WaitingMove(MoveTerms((1,), QUEUE)), scheduled(view)
    )
    assert gone == queue_admission.QueueOutcome(leaves=True, report="The partition does not exist.")
    found = outcome(
        not_moving(1, 2),
        WaitingMove(MoveTerms((3,), QUEUE)),
        ReassignmentSettings(replication_factor_change_allowed=False),
    )
    assert found.leaves
    assert found.report is not None
    assert "replication.factor.change.allowed=false forbids" in found.report


def test_236_13_a_move_waits_for_a_dead_broker() -> None:
    assert outcome(not_moving(1, 2), WaitingMove(MoveTerms((1, 6), QUEUE)), live=(1, 2)).waits_for == receiving(6)
    assert outcome(not_moving(1, 6), WaitingMove(MoveTerms((6, 1), QUEUE)), live=(1, 2)).leaves, "it is not brought in"


# ------------------------------------------------------------------------------------------------------------ caps


@pytest.mark.parametrize(("per_broker", "own"), [(1, -1), (-1, 1)])
def test_236_13_a_move_that_waits_for_room_on_a_broker_does_not_wait_for_its_return(per_broker: int, own: int) -> None:
    in_cluster = cluster(not_moving(1, 2), not_moving(1, 4))
    settings = ReassignmentSettings(caps=InFlightCaps(per_broker))
    queued(in_cluster, {0: (1, 3), 1: (4, 5)}, own={0: own, 1: own})
    durable(in_cluster, admitted(in_cluster, settings))
    assert in_cluster.moving == {TOPIC: {0}}, "both are led by broker 1"
    del in_cluster.brokers[1]
    topic_writes.put_partition(in_cluster, in_cluster.topics[TOPIC], 1, not_moving(1, 4, isr=(4,)))
    assert set(admitted(in_cluster, settings).partitions) == {TopicPartition(TOPIC, 1)}


@pytest.mark.parametrize(
    ("route", "target", "waits_for"),
    [(QUEUE, (5, 6), WINDOW), (QUEUE, (2, 1), None), (QUEUE, (1,), None), (HEAL, (5, 6), None)],
)
def test_dh_5_outside_of_windows_nothing_starts_that_copies_but_repairs(
    route: str, target: Target, waits_for: Place | None
) -> None:
    in_cluster = cluster(moving((1, 2), (3, 4)), not_moving(1, 2))
    write(in_cluster, settings={"reassignment.windows": "daily 22:00-06:00 UTC"})
    learn(in_cluster, TimeTold(12 * 3_600_000))
    view, move = RoundView(in_cluster), WaitingMove(MoveTerms(target, route))
    found = queue_admission.decide_waiting_move(view, TopicPartition(TOPIC, 1), move, scheduled(view))
    assert (found.waits_for, found.leaves) == (waits_for, waits_for is None)


@for_each(
    ("caps", "target", "waits_for"),
    [
        (InFlightCaps(), (5, 6), None),
        (InFlightCaps(per_broker=1), (5, 6), sending(1)),
        (InFlightCaps(per_broker=2), (3, 5), None),
        (InFlightCaps(per_cluster=1), (5, 6), CLUSTER),
        (InFlightCaps(per_cluster=1), (2, 1), None),
        (InFlightCaps(per_cluster=1), (1,), None),
        (InFlightCaps(per_cluster=0), (5, 6), CLUSTER),
        (InFlightCaps(per_cluster=2), (5, 6), None),
        (InFlightCaps(bytes_in_flight=39), (5, 6), CLUSTER),
        (InFlightCaps(bytes_in_flight=40), (5, 6), None),
        (InFlightCaps(per_broker=1, per_cluster=1), (5, 6), sending(1)),
    ],
)
def test_236_13_a_move_waits_for_the_cap_that_is_reached(
    caps: InFlightCaps, target: Target, waits_for: Place | None
) -> None:
    in_cluster = cluster(moving((1, 2), (3, 4)), not_moving(1, 2))
    in_cluster.soft.sizes = {TopicPartition(TOPIC, 0): 10, TopicPartition(TOPIC, 1): 10}
    view = RoundView(in_cluster)
    settings = ReassignmentSettings(caps=caps)
    found = queue_admission.decide_waiting_move(
        view, TopicPartition(TOPIC, 1), WaitingMove(MoveTerms(target, QUEUE)), scheduled(view, settings)
    )
    assert (found.waits_for, found.leaves) == (waits_for, waits_for is None)


def test_236_13_a_move_with_a_cap_of_its_own_does_not_wait_for_the_move_that_it_replaces() -> None:
    settings = ReassignmentSettings(caps=InFlightCaps(per_broker=2))
    found = outcome(moving((1, 2), (1, 3)), WaitingMove(MoveTerms((1, 4), QUEUE, moves_per_broker=1)), settings)
    assert made(found.changes[-1:]).adding == (4,)


def test_236_13_a_move_larger_than_the_cap_starts_alone() -> None:
    in_cluster = cluster(not_moving(1, 2))
    in_cluster.soft.sizes = {TopicPartition(TOPIC, 0): 1000}
    view = RoundView(in_cluster)
    settings = ReassignmentSettings(caps=InFlightCaps(bytes_in_flight=10))
    assert queue_admission.decide_waiting_move(
        view, TopicPartition(TOPIC, 0), WaitingMove(MoveTerms((3, 4), QUEUE)), scheduled(view, settings)
    ).leaves


def test_236_13_where_sizes_are_asked_for_a_move_waits_for_its_leaders_answer() -> None:
    in_cluster = cluster(moving((1, 2), (1, 3)), not_moving(2, 1), not_moving(4, 1))
    in_cluster.soft.sizes = {TopicPartition(TOPIC, 0): 10, TopicPartition(TOPIC, 2): 10}
    settings = ReassignmentSettings(caps=InFlightCaps(bytes_in_flight=20), sizes_sampled=True)
    queued(in_cluster, {1: (2, 3), 2: (4, 5)})
    assert partitions_to_measure(in_cluster) == [TopicPartition(TOPIC, 1), TopicPartition(TOPIC, 2)]
    view = admitted(in_cluster, settings)
    assert set(view.partitions) == {TopicPartition(TOPIC, 2)}, "no other move is held up"
    learn(in_cluster, SizesReported({TopicPartition(TOPIC, 1): 10}))
    assert in_cluster.queue.waiting.more
    assert set(admitted(in_cluster, settings).partitions) == {TopicPartition(TOPIC, 1)}


def test_236_13_moves_to_dead_brokers_do_not_count() -> None:
    in_cluster = cluster(moving((1, 2), (3, 6)), live=(1, 2, 3))
    places = (receiving(3), receiving(6), sending(1), CLUSTER)
    assert weight(in_cluster, TopicPartition(TOPIC, 0), moving((1, 2), (3, 6))).places == places
    assert weight(in_cluster, TopicPartition(TOPIC, 0), moving((1, 2), (3, 6), isr=(1, 2, 3))) == NOTHING
    assert weight(in_cluster, TopicPartition(TOPIC, 0), moving((1, 2), (2, 6))) == NOTHING


def test_236_13_the_cluster_config_overrides_the_setting() -> None:
    in_cluster = cluster(not_moving(1))
    defaults = {
        "partition.reassignments.max.per.broker": "-1",
        "partition.reassignments.max.per.cluster": " 20 ",
        "partition.reassignments.max.bytes.in.flight": "many",
    }
    write(in_cluster, started_with=ReassignmentSettings(caps=InFlightCaps(1, 2, 3)))
    learn(in_cluster, ConfigsFound(BROKERS, {"<default>": defaults}))
    assert in_cluster.soft.in_force.caps == InFlightCaps(-1, 20, 3, repairs=500)


def test_236_13_a_completion_a_cancel_and_another_leader_make_room() -> None:
    value = moving((1, 2), (3, 4))
    assert makes_room(value, not_moving(3, 4))
    assert makes_room(value, replace(value, leader=2))
    assert not makes_room(value, replace(value, isr=(1, 2, 3)))
    assert not makes_room(not_moving(1, 2), value)


# ------------------------------------------------------------------------------------------------------ all of them


def test_236_13_a_round_starts_a_limited_number_of_moves() -> None:
    in_cluster = cluster(*[not_moving(1, 2) for _ in range(10)])
    queued(in_cluster, dict.fromkeys(range(10), (3, 4)))
    durable(in_cluster, admitted(in_cluster, most=4))
    assert in_cluster.queue.waiting.more
    assert in_cluster.moving == {TOPIC: {0, 1, 2, 3}}
    assert len(in_cluster.queue) == 6


def test_236_7_an_abandoned_round_leaves_all_moves_in_the_line() -> None:
    in_cluster = cluster(not_moving(1, 2), not_moving(1, 2))
    queued(in_cluster, {0: (3, 4), 1: (4, 5)})
    admitted(in_cluster)
    assert set(admitted(in_cluster).partitions) == {TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)}


def test_236_7_of_two_moves_of_a_partition_the_later_one_counts() -> None:
    in_cluster = cluster(not_moving(1, 2), not_moving(1, 2))
    queued(in_cluster, {0: (3, 4), 1: (3, 4)})
    queued(in_cluster, {0: (5, 6)}, path=f"{ROOT}/part_0000000000")
    view = admitted(in_cluster)
    assert view.queue.withdrawn == {ROOT: {TopicPartition(TOPIC, 0): None}}
    assert view.partitions[TopicPartition(TOPIC, 0)].value.target == (5, 6)
    assert view.partitions[TopicPartition(TOPIC, 1)].value.target == (3, 4)


def test_236_7_a_cancel_of_a_waiting_move_succeeds() -> None:
    in_cluster = cluster(not_moving(1, 2), not_moving(1, 2))
    queued(in_cluster, {0: (3, 4)})
    view = RoundView(in_cluster)
    nothing = NoReassignmentInProgress()
    assert queue_admission.withdraw_for_client(view, TopicPartition(TOPIC, 0), nothing) is None
    assert queue_admission.find(view, TopicPartition(TOPIC, 0)) is None
    assert queue_admission.withdraw_for_client(view, TopicPartition(TOPIC, 0), nothing) is nothing
    assert queue_admission.withdraw_for_client(view, TopicPartition(TOPIC, 1), nothing) is nothing


def test_236_14_a_target_that_does_not_fit_into_a_part_is_refused() -> None:
    view = RoundView(cluster(not_moving(1, 2)))
    error = queue_admission.append(view, TopicPartition(TOPIC, 0), WaitingMove(MoveTerms(tuple(range(1000)), QUEUE)))
    assert error is not None
    assert error.name == "POLICY_VIOLATION"
    assert not view.queue.appended


@pytest.mark.parametrize("too_long", [0, 1])
def test_236_14_topic_reason_and_target_count_for_the_length_of_a_waiting_move(too_long: int) -> None:
    """The reason is free text of a client: it counts like the rest."""
    rest = len(TOPIC) + 12 * 2
    reason = "x" * (queue_admission.MAX_MOVE_CHARACTERS - rest + too_long)
    view = RoundView(cluster(not_moving(1, 2)))
    error = queue_admission.append(view, TopicPartition(TOPIC, 0), WaitingMove(MoveTerms((3, 4), QUEUE, reason)))
    assert (error is None, len(view.queue.appended)) == ((True, 1) if not too_long else (False, 0))


def test_236_6_all_moves_wait_while_reassignments_are_disabled() -> None:
    in_cluster = cluster(not_moving(1, 2))
    queued(in_cluster, {0: (3, 4)})
    write(in_cluster, disabled_by_znode=True)
    view = admitted(in_cluster)
    assert (view.partitions, view.queue.ended) == ({}, {})
    assert [event.event for event in view.notes] == ["entry.waiting"]  # type: ignore[union-attr]
    in_cluster.soft.reported = view.queue.reported or set()
    assert admitted(in_cluster).notes == [], "reported once"


# ------------------------------------------------------------------------------------------------------ invariants


replica_sets = st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(tuple)
caps = st.integers(-1, 3)


@pytest.mark.more
@settings(max_examples=examples(150))
@given(data=st.data())
def test_236_13_caps_hold_no_move_is_lost_and_no_move_waits_that_could_start(data: st.DataObject) -> None:
    origins = data.draw(st.lists(replica_sets, min_size=1, max_size=12))
    targets = data.draw(st.lists(replica_sets, min_size=len(origins), max_size=len(origins)))
    sizes = data.draw(st.lists(st.integers(0, 20), min_size=len(origins), max_size=len(origins)))
    caps_ = InFlightCaps(data.draw(caps), data.draw(caps), data.draw(st.integers(-1, 60)))
    settings = ReassignmentSettings(caps=caps_)
    in_cluster = cluster(*[not_moving(*replicas) for replicas in origins])
    in_cluster.soft.sizes = {TopicPartition(TOPIC, index): size for index, size in enumerate(sizes)}
    everybody = in_cluster.brokers
    cut = data.draw(st.integers(0, len(targets)))
    queued(in_cluster, dict(list(enumerate(targets))[:cut]))
    own = dict(
        enumerate(data.draw(st.lists(st.sampled_from([-1, 1, 2]), min_size=len(targets), max_size=len(targets))))
    )
    queued(in_cluster, dict(list(enumerate(targets))[cut:]), path=f"{ROOT}/part_0000000007", own=own)
    own |= dict.fromkeys(range(cut), -1)

    for _ in range(data.draw(st.integers(1, 6))):
        dead = data.draw(st.sets(st.integers(1, 6), max_size=2))
        in_cluster.brokers = {id_: known for id_, known in everybody.items() if id_ not in dead}
        view = RoundView(in_cluster)
        in_flight = scheduled(view, settings)
        through(queue_admission.start_waiting_moves(view, in_flight, {}, data.draw(st.integers(1, 4))))
        check_caps(in_cluster, view, caps_, sizes, own)
        durable(in_cluster, view)
        if not in_cluster.queue.waiting.more:
            nothing_could_start(in_cluster, settings)
        for index, target in enumerate(targets):
            value = in_cluster.get(TOPIC, index)
            assert value is not None
            assert value.target == target or in_cluster.queue.place(TOPIC, index) is not None
        for index in sorted(in_cluster.moving.get(TOPIC, ())):
            value = in_cluster.get(TOPIC, index)
            if value is not None and all(map(in_cluster.is_live, value.target)) and data.draw(st.booleans()):
                complete(in_cluster, TopicPartition(TOPIC, index))

    in_cluster.brokers = everybody
    if 0 in (caps_.per_broker, caps_.per_cluster):
        return
    for _ in range(4 * len(targets)):
        durable(in_cluster, admitted(in_cluster, settings))
        for index in sorted(in_cluster.moving.get(TOPIC, ())):
            complete(in_cluster, TopicPartition(TOPIC, index))
    assert len(in_cluster.queue) == 0
    assert in_cluster.queue.parts == {}
    assert [value.replicas for _, _, value in in_cluster.all_partitions()] == targets


def check_caps(
    in_cluster: Cluster, view: RoundView, caps_: InFlightCaps, sizes: list[int], own: Mapping[int, int]
) -> None:
    """The moves that this round started respect the caps, whatever was in flight before."""
    if not view.partitions:
        return
    values = {index: view.get(TOPIC, index) for index in range(len(sizes))}
    weights = {
        i: weight(in_cluster, TopicPartition(TOPIC, i), value) for i, value in values.items() if value is not None
    }
    begun = {name[1] for name in view.partitions if weights[name[1]].places}
    in_flight = [one for one in weights.values() if one.places]
    if caps_.per_cluster >= 0 and begun:
        assert len(in_flight) <= caps_.per_cluster
    for index in begun:
        for broker in {place.broker for place in weights[index].places}:
            if caps_.per_broker >= 0 and broker is not None:
                used = [one for one in in_flight if {receiving(broker), sending(broker)}.intersection(one.places)]
                assert len(used) <= caps_.per_broker
    for index in begun:
        # Others may have started after it, which have no cap of their own, or a larger one.
        earlier = [weights[i] for i in weights if weights[i].places and (i not in begun or 0 <= own[i] <= own[index])]
        for place in weights[index].places if own[index] >= 0 else ():
            if place.broker is not None:
                assert sum(place in one.places for one in earlier) <= own[index]
    if caps_.bytes_in_flight >= 0 and any(weights[index].bytes for index in begun) and len(in_flight) > 1:
        total = sum(one.bytes for one in in_flight)
        assert total <= caps_.bytes_in_flight or max(weights[index].bytes for index in begun) > caps_.bytes_in_flight


def nothing_could_start(in_cluster: Cluster, settings: ReassignmentSettings) -> None:
    """No waiting move could start, except behind a larger one that the cap on bytes delays."""
    view = RoundView(in_cluster)
    in_flight = scheduled(view, settings)
    for serial in sorted(in_cluster.queue.names):
        name = TopicPartition(*in_cluster.queue.names[serial])
        place = in_cluster.queue.place(*name)
        assert place is not None
        found = queue_admission.decide_waiting_move(view, name, place.move, in_flight)
        if found.waits_for == CLUSTER:
            return
        assert in_flight.is_full or not found.leaves, name
