"""A stock broker places replicas on this server (1000), which is no broker: others get them, at once or later."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.failover import fail_over
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, PartitionChange, RoundView
from kafka_reassign_rpc.core.state.partition import HEAL, NO_LEADER, RPC, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics.missing_replicas import place_missing, replace_missing
from kafka_reassign_rpc.core.topics.topic_deletion import replicas_to_delete
from tests.core.build import TOPIC, broker, decided, made, moving, not_moving, view
from tests.tables import for_each

OWN_ID = 1000


def change_of(here: RoundView) -> PartitionChange:
    (change,) = fail_over(here, TOPIC, 0, own_id=OWN_ID)
    assert isinstance(change, PartitionChange)
    return change


def lacking(partition: Partition, *, live: tuple[int, ...]) -> RoundView:
    """A partition with one replica too few."""
    here = view(partition, live=live)
    here.cluster.topics[TOPIC].missing[0] = 1
    return here


@pytest.mark.parametrize(
    ("replicas", "live", "expected", "missing"),
    [
        ((1000, 1), (1, 2), (2, 1), 0),
        ((1, 1000), (1, 2, 3), (1, 2), 0),
        ((1, 1000, 2), (1, 2), (1, 2), 1),
        ((1000, 1, 2), (1,), (1, 2), 1),
    ],
)
def test_sv_4_another_broker_replaces_the_servers_own_id_or_its_replica_is_missing(
    replicas: tuple[int, ...], live: tuple[int, ...], expected: tuple[int, ...], missing: int
) -> None:
    change = change_of(view(Partition(replicas), live=live))
    assert (change.value.replicas, change.missing) == (expected, missing)
    assert change.assignment is AssignmentWrite.NOW


def test_sv_4_the_servers_own_id_stays_as_an_only_replica_until_a_broker_is_free() -> None:
    alone = view(Partition((1000,)), live=())
    state = change_of(alone).value
    assert (state.replicas, state.leader, state.isr) == ((1000,), -1, (1000,))

    waiting = replace(state, partition_epoch=0)
    assert replace_missing(view(waiting, live=()), TOPIC, 0, OWN_ID) == []
    change = made(replace_missing(view(waiting, live=(2,)), TOPIC, 0, OWN_ID))
    assert (change.replicas, change.leader, change.isr) == ((2,), 2, (2,))
    assert change.leader_epoch == 1, "brokers know epoch 0 of this partition: they would not take the new leader"


def test_sv_4_a_partition_keeps_its_leader_when_the_servers_own_id_leaves() -> None:
    (change,) = replace_missing(view(not_moving(1, 1000, isr=(1,)), live=(1, 2)), TOPIC, 0, OWN_ID)
    value = change.value
    assert (value.replicas, value.isr, value.leader, value.leader_epoch) == ((1, 2), (1,), 1, 6)


def test_sv_1_a_missing_replica_stays_missing_while_the_znode_of_its_topic_has_no_room() -> None:
    partition = not_moving(1, 2)
    full = RoundView(lacking(partition, live=(1, 2, 3)).cluster, {TOPIC})
    assert place_missing(full, TOPIC, 0, partition, OWN_ID) == (partition, 1)
    assert replace_missing(full, TOPIC, 0, OWN_ID) == []


def test_sv_4_a_missing_replica_gets_the_next_free_broker_and_the_other_replicas_stay_as_they_are() -> None:
    (change,) = replace_missing(lacking(not_moving(1, 2), live=(1, 2, 3)), TOPIC, 0, OWN_ID)
    value = change.value
    assert (value.replicas, value.isr, value.leader, value.leader_epoch) == ((1, 2, 3), (1, 2), 1, 6)
    assert (change.missing, change.assignment) == (0, AssignmentWrite.NOW)


@pytest.mark.parametrize(
    "partition",
    [
        not_moving(1, 2),
        moving((1, 2), (1, 3)),
        replace(not_moving(1, 2), pending_deletion=(3,)),
    ],
    ids=["no broker is free", "a move is in flight", "the free broker still deletes a replica"],
)
def test_sv_4_a_missing_replica_waits(partition: Partition) -> None:
    live = (1, 2) if partition == not_moving(1, 2) else (1, 2, 3)
    assert replace_missing(lacking(partition, live=live), TOPIC, 0, OWN_ID) == []


def test_sv_4_a_broker_in_controlled_shutdown_gets_no_missing_replica() -> None:
    here = lacking(not_moving(1, 2), live=(1, 2, 3))
    here.cluster.soft.shutting_down.add(3)
    assert replace_missing(here, TOPIC, 0, OWN_ID) == []


def test_sv_4_a_missing_replica_goes_to_a_rack_without_one() -> None:
    here = lacking(not_moving(1, 2), live=())
    racks = {1: "a", 2: "b", 3: "a", 4: "c"}
    here.cluster.brokers = {id_: broker(id_, rack=rack) for id_, rack in racks.items()}
    assert made(replace_missing(here, TOPIC, 0, OWN_ID)).replicas == (1, 2, 4)


def test_sv_4_elections_starts_and_cancels_do_not_forget_a_missing_replica() -> None:
    here = lacking(not_moving(1, 2), live=(1, 2, 3))
    here.add(PartitionChange(TOPIC, 0, replace(not_moving(1, 2), leader=2, leader_epoch=6)))
    assert here.missing(TOPIC, 0) == 1
    for target in ((1, 3), None):
        _, changes = decided(here, TopicPartition(TOPIC, 0), target)
        for change in changes:
            here.add(change)
        assert changes
        assert here.missing(TOPIC, 0) == 1


@pytest.mark.parametrize(("route", "missing"), [(RPC, 0), (HEAL, 1)])
def test_sv_4_the_end_of_a_clients_move_decides_the_replication_factor_and_that_of_a_repair_does_not(
    route: str, missing: int
) -> None:
    before = moving((1, 2), (1, 3))
    assert before.move is not None
    here = lacking(
        replace(before, move=replace(before.move, terms=replace(before.move.terms, route=route))), live=(1, 2, 3)
    )
    here.add(PartitionChange(TOPIC, 0, replace(not_moving(1, 3), pending_deletion=(2,)), AssignmentWrite.LATER))
    assert here.missing(TOPIC, 0) == missing


def test_sv_4_a_client_that_gives_the_replicas_another_order_decides_the_replication_factor() -> None:
    here = lacking(not_moving(1, 2), live=(1, 2, 3))
    here.add(PartitionChange(TOPIC, 0, not_moving(2, 1)))
    assert here.missing(TOPIC, 0) == 0


@for_each(
    "partition",
    [
        not_moving(1000, 2, isr=(1000,), leader=NO_LEADER),
        not_moving(1000, 2, isr=(1000,)),
        not_moving(2, 1000),
        not_moving(1000, leader=NO_LEADER),
        replace(not_moving(1000, leader=NO_LEADER), partition_epoch=0),
        replace(not_moving(1000, epoch=0), partition_epoch=0),
        replace(not_moving(1000, leader=NO_LEADER, epoch=0), partition_epoch=1),
        replace(not_moving(1000, 2), isr=(), leader=NO_LEADER),
    ],
    ids=[
        "it alone was in sync",
        "it leads, as far as is known",
        "it is in sync besides another",
        "it is the only replica",
        "a restored state: its version is that of a new one",
        "it led from the beginning",
        "a later state of a partition that had a leader",
        "nobody is in sync",
    ],
)
def test_sv_4_a_broker_with_the_servers_own_id_that_is_down_keeps_its_replica_which_may_have_all_records(
    partition: Partition,
) -> None:
    here = view(partition, live=(2, 3))
    assert replace_missing(here, TOPIC, 0, OWN_ID) == []
    for change in fail_over(here, TOPIC, 0, own_id=OWN_ID):
        assert isinstance(change, PartitionChange)
        assert change.value.replicas == partition.replicas
        assert change.value.leader in (NO_LEADER, 2)
        assert set(change.value.isr) <= set(partition.isr)


def test_sv_4_a_registered_broker_with_the_servers_own_id_keeps_its_replica() -> None:
    for partition in (not_moving(1, 1000, isr=(1,)), Partition((1000, 1))):
        here = view(partition, live=(1, 2, 1000))
        assert replace_missing(here, TOPIC, 0, OWN_ID) == []


def test_sv_4_the_deletion_of_a_topic_waits_for_a_broker_with_the_servers_own_id() -> None:
    def waits_for(partition: Partition, *, live: tuple[int, ...] = (1, 2)) -> set[tuple[int, int]]:
        return set(replicas_to_delete(view(partition, live=live).cluster, TOPIC, (), own_id=OWN_ID))

    assert waits_for(not_moving(1, 1000, isr=(1,))) == {(0, 1)}
    assert waits_for(Partition((1000, 1))) == {(0, 1)}
    assert waits_for(not_moving(1, 1000)) == {(0, 1), (0, 1000)}
    assert waits_for(not_moving(1, 1000, isr=(1,)), live=(1, 1000)) == {(0, 1), (0, 1000)}
