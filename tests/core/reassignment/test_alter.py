"""AlterPartitionReassignments, case by case: the answers of Kafka in ZooKeeper mode, and the partition afterwards."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.reassignment.alter import Decision, alter, cancel
from kafka_reassign_rpc.core.reassignment_algebra import completed
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, PartitionChange, RoundView, TopicDeletionStarted
from kafka_reassign_rpc.core.state.partition import BATCH, NO_LEADER, REQUEST, RPC, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, decided, made, moving, not_moving, sets, view

NAME = TopicPartition(TOPIC, 0)
UNCLEAN = {"unclean.leader.election.enable": "true"}


def given(in_view: RoundView, target: tuple[int, ...] | None, index: int = 0, topic: str = TOPIC) -> Decision:
    return decided(in_view, TopicPartition(topic, index), target)


def refused(decision: Decision, kind: type[KafkaError], text: str) -> None:
    error, changes = decision
    assert type(error) is kind
    assert str(error) == text
    assert changes == []


def accepted(decision: Decision) -> Partition:
    error, changes = decision
    assert error is None
    return made(changes)


# ------------------------------------------------------------------------------------------------ B: validation


@pytest.mark.parametrize(
    ("target", "text"),
    [
        pytest.param((), "Empty replica list specified in partition reassignment.", id="B01"),
        pytest.param(
            (1, 1),
            "Duplicate replica ids in partition reassignment replica list: ArrayBuffer(1, 1)",
            id="B02",
        ),
        pytest.param((-1,), "Invalid broker id in replica list: ArrayBuffer(-1)", id="B03"),
        pytest.param((-3, -2, -1), "Invalid broker id in replica list: ArrayBuffer(-3, -2, -1)", id="B03-many"),
        pytest.param(
            (1, 99),
            "Replica assignment has brokers that are not alive."
            " Replica list: ArrayBuffer(99), live broker list: Set(1, 2, 3)",
            id="B04",
        ),
    ],
)
def test_455_1_b_an_invalid_target_is_refused_with_kafkas_text(target: tuple[int, ...], text: str) -> None:
    refused(given(view(not_moving(1, 2, 3), live=(1, 2, 3)), target), InvalidReplicaAssignment, text)


@pytest.mark.parametrize(
    ("topic", "index"),
    [TopicPartition("nope", 0), TopicPartition(TOPIC, 99), TopicPartition(TOPIC, -1)],
    ids=["B05", "B06", "A13"],
)
def test_455_1_b05_an_unknown_partition_is_refused(topic: str, index: int) -> None:
    text = "The partition does not exist."
    refused(given(view(not_moving(1, 2)), (1, 2), index, topic), UnknownTopicOrPartition, text)


def test_455_1_an_unknown_partition_with_a_bad_target_is_refused_for_the_target() -> None:
    assert type(given(view(), (), 0, "nope")[0]) is InvalidReplicaAssignment


def test_455_6_a_cancel_of_an_unknown_partition_finds_nothing_in_progress() -> None:
    assert type(given(view(), None, 0, "nope")[0]) is NoReassignmentInProgress


def test_455_1_b09_a_broker_in_controlled_shutdown_is_not_alive() -> None:
    here = view(not_moving(1, 2, 3))
    here.cluster.soft.shutting_down.add(4)
    assert type(given(here, (1, 2, 4))[0]) is InvalidReplicaAssignment


def test_455_1_b10_a_dead_replica_may_be_kept_and_reordered() -> None:
    value = accepted(given(view(not_moving(1, 2, 3, isr=(1, 2)), live=(1, 2)), (3, 2, 1)))
    assert (value.replicas, value.isr, value.leader, value.is_moving) == ((3, 2, 1), (1, 2), 1, False)


def test_455_1_i01_a_topic_in_deletion_has_no_partitions() -> None:
    here = view(moving((1, 2), (1, 3)))
    here.add(TopicDeletionStarted(TOPIC))
    for target in ((1, 2), None):
        refused(given(here, target), UnknownTopicOrPartition, "The partition does not exist.")


# ------------------------------------------------------------------------------------------------ C: start


def test_455_3_c05_a_start_leaves_the_leader_and_the_isr_alone() -> None:
    error, changes = given(view(not_moving(1, 2, 3)), (1, 2, 4))
    assert error is None
    value = made(changes)
    assert sets(value) == ((1, 2, 4, 3), (4,), (3,))
    assert (value.leader, value.isr, value.leader_epoch) == (1, (1, 2, 3), 6)
    assert value.move == MoveRecord(MoveTerms((1, 2, 4)), (1, 2, 3))
    assert changes[0] == PartitionChange(TOPIC, 0, value, AssignmentWrite.NOW, asked=MoveTerms((1, 2, 4)))


def test_455_1_c02_the_present_assignment_as_the_target_changes_nothing() -> None:
    assert given(view(not_moving(1, 2, 3)), (1, 2, 3)) == (None, [])


def test_455_4_c03_a_reorder_completes_at_once_and_the_leader_stays() -> None:
    value = accepted(given(view(not_moving(1, 2, 3)), (3, 1, 2)))
    assert sets(value) == ((3, 1, 2), (), ())
    assert (value.leader, value.leader_epoch, value.move, value.pending_deletion) == (1, 6, None, ())


def test_455_4_c04_a_shrink_completes_at_once() -> None:
    value = accepted(given(view(not_moving(1, 2, 3)), (1, 2)))
    assert sets(value) == ((1, 2), (), ())
    assert (value.isr, value.leader, value.leader_epoch, value.pending_deletion) == ((1, 2), 1, 6, (3,))


def test_455_4_g02_a_shrink_that_removes_the_leader_elects_the_first_target_replica_in_sync() -> None:
    value = accepted(given(view(not_moving(1, 2, 3, isr=(1, 2)), live=(1, 2)), (3, 2)))
    # 3 is not in sync: the shrink waits for it rather than leave one in-sync replica instead of two.
    assert sets(value) == ((3, 2, 1), (), (1,))
    value = accepted(given(view(not_moving(1, 2, 3)), (3, 2)))
    assert (value.replicas, value.leader, value.isr) == ((3, 2), 3, (2, 3))


def test_455_5_the_same_target_again_is_propagated_again() -> None:
    before = moving((1, 2, 3), (1, 2, 4))
    value = accepted(given(view(before), (1, 2, 4)))
    assert value == replace(before, leader_epoch=before.leader_epoch + 1)


def test_a_replica_that_is_pending_deletion_may_come_back() -> None:
    value = accepted(given(view(replace(not_moving(1, 2), pending_deletion=(3, 4))), (1, 2, 3)))
    assert (value.adding, value.pending_deletion) == ((3,), (4,))


# ------------------------------------------------------------------------------------------------ D: another target


def test_455_5_d03_replicas_of_the_former_target_leave_assignment_and_isr_at_once() -> None:
    before = moving((1, 2, 3), (4, 5, 6), isr=(1, 2, 3, 4))
    value = accepted(given(view(before, live=range(1, 10)), (7, 8, 9)))
    assert sets(value) == ((7, 8, 9, 1, 2, 3), (7, 8, 9), (1, 2, 3))
    assert (value.pending_deletion, value.isr, value.leader) == ((4, 5, 6), (1, 2, 3), 1)
    assert value.move == MoveRecord(MoveTerms((7, 8, 9)), (1, 2, 3), 400, 1_700_000_000_000)


def test_236_8_a_move_has_the_route_of_its_current_target() -> None:
    here = view(not_moving(1, 2, 3))
    for route in (BATCH, REQUEST, RPC):
        error, changes = alter(here, NAME, MoveTerms((4, 5), route))
        assert error is None
        move = made(changes).move
        assert move is not None
        assert move.terms.route == route
        here.add(changes[0])


def test_455_5_d05_a_dead_adding_replica_is_refused_when_given_again() -> None:
    here = view(moving((1, 2, 3), (1, 2, 4)), live=(1, 2, 3))
    assert type(given(here, (1, 2, 4))[0]) is InvalidReplicaAssignment


def test_236_9_d08_an_adding_replica_that_leads_stays_the_leader_until_completion() -> None:
    before = moving((2,), (4, 3), isr=(2, 4), leader=4)
    value = accepted(given(view(before), (2, 3)))
    assert (value.leader, value.isr, value.pending_deletion) == (4, (2, 4), ())
    assert sets(value) == ((2, 3, 4), (3,), (4,))
    assert value.move is not None
    assert (value.move.original, value.move.retained) == ((2,), (4,))
    ended = completed(view(value).cluster, replace(value, isr=(2, 4, 3)))
    assert ended is not None
    assert (ended.replicas, ended.leader, ended.isr, ended.pending_deletion) == ((2, 3), 2, (2, 3), (4,))
    back = accepted(given(view(value), None))
    assert (back.replicas, back.leader, back.isr) == ((2,), 2, (2,)), "a cancel goes back to what was there before"


def test_236_9_a_target_without_in_sync_replicas_retains_the_leader() -> None:
    before = moving((2,), (4, 3), isr=(4,), leader=4)
    value = accepted(given(view(before, live=(3, 4, 5)), (5,)))
    assert (value.leader, value.isr, value.pending_deletion) == (4, (4,), (3,))
    assert sets(value) == ((5, 2, 4), (5,), (2, 4))
    again = accepted(given(view(value, live=(3, 4, 5)), (3,)))
    assert (sets(again), again.leader) == (((3, 2, 4), (3,), (2, 4)), 4)


def test_455_8_a_target_that_removes_all_live_in_sync_replicas_is_refused() -> None:
    before = replace(moving((2, 1), (4, 3), isr=(2, 1, 4)), leader=NO_LEADER)
    refused(
        given(view(before, live=(3, 4, 5)), (5,)),
        InvalidReplicaAssignment,
        "Unable to change the target of the reassignment for t:0 because it would require an unclean leader election.",
    )


def test_455_5_a_change_to_a_target_in_sync_completes_at_once() -> None:
    before = moving((1, 2, 3), (1, 2, 4))
    value = accepted(given(view(before), (1, 2)))
    assert sets(value) == ((1, 2), (), ())
    assert (set(value.pending_deletion), value.move, value.leader_epoch) == ({3, 4}, None, before.leader_epoch + 1)


# ------------------------------------------------------------------------------------------------ E: cancel


def test_455_6_e01_a_cancel_without_a_move_finds_nothing_in_progress() -> None:
    refused(given(view(not_moving(1, 2)), None), NoReassignmentInProgress, "No partition reassignment is in progress.")


def test_455_6_e03_a_cancel_restores_the_original_order_at_once() -> None:
    before = moving((1, 2, 3), (3, 4, 2))
    value = accepted(given(view(before), None))
    assert sets(value) == ((1, 2, 3), (), ())
    assert (value.pending_deletion, value.isr, value.leader, value.move) == ((4,), (1, 2, 3), 1, None)
    assert value.leader_epoch == before.leader_epoch + 1


def test_455_6_e07_adding_replicas_leave_the_isr_too() -> None:
    value = accepted(given(view(moving((1, 2, 3), (1, 4, 5), isr=(1, 2, 3, 4))), None))
    assert (value.replicas, value.isr, value.pending_deletion) == ((1, 2, 3), (1, 2, 3), (4, 5))


def test_455_8_e08_a_cancel_that_would_lose_all_in_sync_replicas_is_refused() -> None:
    before = moving((2,), (4, 3), isr=(4,), leader=4)
    refused(
        given(view(before, live=(3, 4)), None),
        InvalidReplicaAssignment,
        "Unable to revert partition assignment for t:0 because it would require an unclean leader election.",
    )


def test_455_8_a_cancel_is_refused_while_only_dead_replicas_of_the_origin_are_in_sync() -> None:
    before = moving((2,), (4, 3), isr=(2, 4), leader=4)
    assert type(given(view(before, live=(3, 4)), None)[0]) is InvalidReplicaAssignment


def test_455_6_e09_where_unclean_election_is_allowed_the_first_live_original_leads_alone() -> None:
    before = moving((1, 2), (4, 3), isr=(4,), leader=4)
    value = accepted(given(view(before, live=(2, 3, 4), configs=UNCLEAN), None))
    assert (value.replicas, value.leader, value.isr, value.leader_recovery_state) == ((1, 2), 2, (2,), 1)


def test_455_8_an_unclean_election_without_live_replicas_is_refused() -> None:
    before = moving((1, 2), (4, 3), isr=(4,), leader=4)
    assert type(given(view(before, live=(3, 4), configs=UNCLEAN), None)[0]) is InvalidReplicaAssignment


def test_455_6_e10_a_cancel_does_not_check_live_brokers() -> None:
    value = accepted(given(view(moving((1, 2, 3), (1, 2, 4)), live=(1, 2, 3)), None))
    assert value.replicas == (1, 2, 3)
    before = replace(moving((1, 2), (1, 4)), leader=NO_LEADER)
    assert accepted(given(view(before, live=()), None)).replicas == (1, 2)


def test_455_6_e13_leadership_goes_back_to_the_origin() -> None:
    value = accepted(given(view(moving((1, 2), (4, 3), isr=(1, 2, 4), leader=4)), None))
    assert (value.leader, value.isr) == (1, (1, 2))


def test_455_1_e11_a_decision_sees_the_earlier_ones_of_its_round() -> None:
    here = view(moving((1, 2), (3, 4)), not_moving(1, 2))
    for index, target in ((0, None), (1, (3, 4)), (0, (5, 6))):
        error, changes = given(here, target, index)
        assert error is None
        for change in changes:
            here.add(change)
    assert here.partitions[TopicPartition(TOPIC, 0)].value.origin == (1, 2)
    assert sets(here.partitions[TopicPartition(TOPIC, 1)].value)[1] == (3, 4)


# ------------------------------------------------------------------------------------------------ K: KIP-860


def error_without_factor_change(before: Partition, target: tuple[int, ...]) -> KafkaError | None:
    return alter(view(before), NAME, MoveTerms(target), allow_replication_factor_change=False)[0]


def test_860_2_k01_a_change_of_the_replication_factor_is_refused() -> None:
    error = error_without_factor_change(not_moving(1, 2, 3), (1, 2, 3, 4))
    assert type(error) is InvalidReplicationFactor
    assert str(error) == "The replication factor is changed from 3 to 4"


def test_860_2_k03_the_same_replication_factor_is_no_change() -> None:
    assert error_without_factor_change(not_moving(1, 2, 3), (1, 2, 4)) is None


def test_860_2_in_flight_the_size_of_the_target_counts() -> None:
    before = moving((1, 2, 3), (4, 5))
    assert error_without_factor_change(before, (5, 6)) is None
    assert str(error_without_factor_change(before, (1, 2, 3))) == "The replication factor is changed from 2 to 3"


def test_860_2_an_invalid_target_is_refused_as_invalid_before_the_guard() -> None:
    assert type(error_without_factor_change(not_moving(1, 2, 3), (1, 1))) is InvalidReplicaAssignment


@pytest.mark.parametrize("target", [(1, 2, 4), None])
def test_860_5_an_unexpected_assignment_is_refused_and_the_text_shows_the_present_one(
    target: tuple[int, ...] | None,
) -> None:
    before = moving((1, 2, 3), (1, 2, 4))
    error, changes = decided(view(before), NAME, target, expected=(1, 2, 3))
    assert type(error) is InvalidReplicaAssignment
    assert "[1, 2, 3]" in str(error)
    assert "[1, 2, 4, 3]" in str(error)
    assert changes == []
    assert decided(view(before), NAME, target, expected=(1, 2, 4, 3))[1]


def test_860_5_an_unexpected_assignment_refuses_the_cancel_of_what_is_not_in_flight() -> None:
    """The caller may withdraw a move that waits only where the partition is the expected one."""
    before = view(not_moving(1, 2, 3))
    error, changes = cancel(before, NAME, expected=(9, 9))
    assert type(error) is InvalidReplicaAssignment
    assert str(error) == "The assignment is not the expected one: expected [9, 9], found [1, 2, 3]"
    assert changes == []
    error, _ = cancel(before, NAME, expected=(1, 2, 3))
    assert type(error) is NoReassignmentInProgress
    error, _ = cancel(before, TopicPartition("nope", 0), expected=(1, 2, 3))
    assert type(error) is NoReassignmentInProgress
