"""KIP-236's batch, entry by entry: which entries start, wait or leave, and which a cancel rolls back."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicationFactor,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView, TopicDeletionStarted
from kafka_reassign_rpc.core.settings import reassignment_settings
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.state.partition import BATCH, NO_LEADER, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode, CancelAll
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import AdminZnodes, AdminZnodesFound
from kafka_reassign_rpc.core.writers.replay import Durable, ReplayedChanges, replay
from tests.core.build import TOPIC, learn, made, moving, not_moving, sets, view, write

NAME = TopicPartition(TOPIC, 0)
CHANGE_FORBIDDEN = {"partition.reassignments.replication.factor.change.allowed": "false"}


def decided(
    in_view: RoundView, *target: int, original: tuple[int, ...] | None = None
) -> reassign_partitions.BatchEntryOutcome:
    return reassign_partitions.decide_entry(in_view, NAME, BatchEntry(target, original))


def rolled_back(
    in_view: RoundView, *target: int, original: tuple[int, ...] | None
) -> reassign_partitions.BatchEntryOutcome:
    return reassign_partitions.roll_back(in_view, NAME, BatchEntry(target, original))


# ------------------------------------------------------------------------------------------------------ taking up


def test_236_1_an_entry_that_starts_gets_its_original_replicas_in_their_order() -> None:
    outcome = decided(view(not_moving(3, 1, 2)), 1, 4, 5)
    assert outcome.entry == BatchEntry((1, 4, 5), (3, 1, 2))
    assert sets(made(outcome.changes)) == ((1, 4, 5, 3, 2), (4, 5), (3, 2))
    assert made(outcome.changes).move == MoveRecord(MoveTerms((1, 4, 5), BATCH), (3, 1, 2))
    assert outcome.report is None


def test_236_1_a_start_replaces_original_replicas_that_others_wrote() -> None:
    assert decided(view(not_moving(1, 2)), 3, 4, original=(5, 6)).entry == BatchEntry((3, 4), (1, 2))


def test_236_5_an_entry_leaves_when_its_partition_has_the_target() -> None:
    assert decided(view(not_moving(1, 2)), 1, 2, original=(5, 6)) == reassign_partitions.BatchEntryOutcome(None)


def test_236_5_an_entry_of_a_move_in_flight_stays_as_it_is() -> None:
    outcome = decided(view(moving((1, 2), (3, 4))), 3, 4, original=(1, 2))
    assert outcome == reassign_partitions.BatchEntryOutcome(BatchEntry((3, 4), (1, 2)))


def test_236_10_a_move_that_another_controller_started_gets_its_original_replicas() -> None:
    assert decided(view(moving((2, 1), (3, 4))), 3, 4).entry == BatchEntry((3, 4), (2, 1))
    assert decided(view(moving((2, 1), (3, 4), recorded=False)), 3, 4).entry == BatchEntry((3, 4), (2, 1))


def test_236_4_original_replicas_that_others_took_out_stay_out() -> None:
    in_view = view(moving((2, 1), (3, 4)))
    assert reassign_partitions.decide_entry(in_view, NAME, BatchEntry((3, 4)), stripped=True).entry == BatchEntry(
        (3, 4)
    )


def test_d03_an_entry_gives_a_moving_partition_another_target_and_keeps_the_origin() -> None:
    outcome = decided(view(moving((1, 2), (3, 4))), 5, 6)
    assert outcome.entry == BatchEntry((5, 6), (1, 2))
    assert sets(made(outcome.changes)) == ((5, 6, 1, 2), (5, 6), (1, 2))


def test_h01_a_target_with_a_dead_broker_starts_waits_for_the_broker_and_reports_it() -> None:
    outcome = decided(view(not_moving(1, 2), live=(1, 2, 3)), 1, 9)
    assert outcome.entry == BatchEntry((1, 9), (1, 2))
    value = made(outcome.changes)
    assert (value.leader, value.isr, value.leader_epoch) == (1, (1, 2), 6)
    assert outcome.report == "waits for broker(s) [9], which are not alive"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ((), "Empty replica list specified in partition reassignment."),
        ((1, 1), "Duplicate replica ids in partition reassignment replica list: ArrayBuffer(1, 1)"),
        ((-1, 2), "Invalid broker id in replica list: ArrayBuffer(-1, 2)"),
    ],
)
def test_236_5_an_entry_with_an_invalid_target_leaves_with_the_reason(target: tuple[int, ...], text: str) -> None:
    assert decided(view(not_moving(1, 2)), *target) == reassign_partitions.BatchEntryOutcome(None, report=text)


def test_236_5_an_unknown_partition_leaves_with_the_reason() -> None:
    outcome = reassign_partitions.decide_entry(view(not_moving(1, 2)), TopicPartition("nope", 0), BatchEntry((1, 2)))
    assert outcome == reassign_partitions.BatchEntryOutcome(None, report="The partition does not exist.")


@pytest.mark.parametrize(
    ("partition", "goes"),
    [
        (not_moving(1, 2), True),
        (moving((1, 2), (4, 3)), True),
        (moving((1, 2), (1, 3)), False),
        (not_moving(1, 3), False),
    ],
    ids=["at rest", "moves elsewhere", "moves there", "is there"],
)
def test_dh_7_an_entry_that_is_to_be_held_waits_neither_for_requests_nor_until_reassignments_are_enabled(
    partition: Partition, goes: bool
) -> None:
    in_view = view(partition)
    write(in_view.cluster, disabled_by_znode=True)
    in_view.cluster.requests = frozenset({"request_0000000001"})
    outcome = reassign_partitions.decide_entry(in_view, NAME, BatchEntry((1, 3)), waits=False)
    assert bool(outcome.changes) is goes
    assert not outcome.waits


@pytest.mark.parametrize("how", ["znode", "config"])
def test_236_6_disabled_reassignments_start_no_entry_and_let_moves_in_flight_go_on(how: str) -> None:
    in_view = view(not_moving(1, 2))
    if how == "znode":
        write(in_view.cluster, disabled_by_znode=True)
    else:
        write(in_view.cluster, broker_configs={"<default>": {"partition.reassignments.enabled": "false"}})
    assert decided(in_view, 3, 4) == reassign_partitions.BatchEntryOutcome(BatchEntry((3, 4)), waits=True)

    in_view = view(moving((1, 2), (3, 4)))
    write(in_view.cluster, disabled_by_znode=True)
    assert decided(in_view, 3, 4, original=(1, 2)) == reassign_partitions.BatchEntryOutcome(BatchEntry((3, 4), (1, 2)))
    assert decided(in_view, 5, 6).waits, "a new target is a new move"


def test_860_4_the_rule_on_replication_factors_holds_for_the_znode_too() -> None:
    in_view = view(not_moving(1, 2))
    text = (
        "The replication factor is changed from 2 to 3,"
        " which partition.reassignments.replication.factor.change.allowed=false forbids"
    )
    write(in_view.cluster, started_with=ReassignmentSettings(replication_factor_change_allowed=False))
    assert decided(in_view, 1, 2, 3) == reassign_partitions.BatchEntryOutcome(None, report=text)
    assert decided(in_view, 1, 3).changes
    write(in_view.cluster, started_with=ReassignmentSettings(), broker_configs={"<default>": CHANGE_FORBIDDEN})
    assert decided(in_view, 1, 2, 3) == reassign_partitions.BatchEntryOutcome(None, report=text)


def test_860_4_the_cluster_config_overrides_the_server_setting_unless_it_is_invalid() -> None:
    cluster = view(not_moving(1, 2)).cluster

    def may_change(own: bool, text: str | None) -> bool:
        defaults = {} if text is None else {reassignment_settings.REPLICATION_FACTOR_CHANGE_ALLOWED: text}
        settings = ReassignmentSettings(replication_factor_change_allowed=own)
        write(cluster, started_with=settings, broker_configs={"<default>": defaults})
        return cluster.soft.in_force.replication_factor_change_allowed

    assert not may_change(False, None)
    assert may_change(False, "true")
    assert may_change(True, "perhaps")
    assert not may_change(False, "perhaps")


def test_860_4_the_text_names_the_rule_only_where_the_rule_refuses_the_target() -> None:
    error = InvalidReplicationFactor("The replication factor is changed from 2 to 3")
    by_request = str(restrictions.with_reason(error, forbidden=False))
    assert by_request.startswith("The replication factor is changed from 2 to 3, which the request itself forbids: ")
    assert "AllowReplicationFactorChange=false" in by_request
    assert reassignment_settings.REPLICATION_FACTOR_CHANGE_ALLOWED not in by_request
    other = UnknownTopicOrPartition()
    assert restrictions.with_reason(other, forbidden=True) is other
    assert restrictions.with_reason(None, forbidden=True) is None


# --------------------------------------------------------------------------------------------------- rolling back


def test_236_3_a_rollback_restores_the_original_order_and_raises_the_leader_epoch() -> None:
    outcome = rolled_back(view(moving((2, 1), (3, 4), isr=(2, 1, 3))), 3, 4, original=(2, 1))
    value = made(outcome.changes)
    assert outcome.entry is None
    assert sets(value) == ((2, 1), (), ())
    assert (value.leader, value.isr, value.leader_epoch, value.pending_deletion) == (2, (2, 1), 7, (3, 4))
    assert value.move is None


def test_236_3_an_original_replica_replaces_a_leader_from_outside_the_original_set() -> None:
    value = made(rolled_back(view(moving((1, 2), (3, 4), isr=(2, 3), leader=3)), 3, 4, original=(1, 2)).changes)
    assert (value.leader, value.isr) == (2, (2,))


def test_236_2_a_cancel_only_removes_entries_that_are_completed_not_started_or_moving_elsewhere() -> None:
    assert rolled_back(view(not_moving(3, 4)), 3, 4, original=(1, 2)) == reassign_partitions.BatchEntryOutcome(None)
    assert rolled_back(view(not_moving(1, 2)), 3, 4, original=None) == reassign_partitions.BatchEntryOutcome(None)
    assert rolled_back(view(moving((1, 2), (5, 6))), 3, 4, original=(1, 2)) == reassign_partitions.BatchEntryOutcome(
        None
    )
    assert reassign_partitions.roll_back(view(), NAME, BatchEntry((1, 2))) == reassign_partitions.BatchEntryOutcome(
        None
    )


def is_not_cancelled(outcome: reassign_partitions.BatchEntryOutcome, reason: str) -> None:
    assert outcome.entry is not None
    assert outcome.entry.not_cancelled == outcome.report == f"not cancelled: {reason}"
    assert not outcome.changes


def test_236_4_a_cancel_skips_an_entry_without_original_replicas() -> None:
    outcome = rolled_back(view(moving((1, 2), (3, 4))), 3, 4, original=None)
    is_not_cancelled(outcome, "its original_replicas are missing in the znode")


def test_236_4_a_cancel_skips_a_partition_that_would_go_offline() -> None:
    outcome = rolled_back(view(moving((1, 2), (3, 4), isr=(3,)), live=(1, 3)), 3, 4, original=(1, 2))
    is_not_cancelled(outcome, "none of the original replicas [1, 2] is in the ISR [3] while new one(s) [3] are alive")


def test_236_4_a_cancel_skips_it_even_if_the_topic_allows_unclean_elections() -> None:
    in_view = view(moving((1, 2), (3, 4), isr=(3,)), live=(1, 3), configs={"unclean.leader.election.enable": "true"})
    assert rolled_back(in_view, 3, 4, original=(1, 2)).entry is not None


def test_236_4_a_cancel_rolls_back_a_partition_with_all_original_and_adding_replicas_offline() -> None:
    dark = moving((1, 2), (3, 4), isr=(3,), leader=NO_LEADER)
    outcome = rolled_back(view(dark, live=(5,)), 3, 4, original=(1, 2))
    value = made(outcome.changes)
    assert outcome.entry is None
    assert sets(value) == ((1, 2), (), ())
    assert (value.leader, value.isr) == (NO_LEADER, (1,)), "an original replica leads when it comes back"


def test_236_4_a_live_original_replica_out_of_sync_does_not_become_the_leader() -> None:
    dark = moving((1, 2), (3, 4), isr=(3,), leader=NO_LEADER)
    is_not_cancelled(
        rolled_back(view(dark, live=(1,)), 3, 4, original=(1, 2)),
        f"Unable to revert partition assignment for {TOPIC}:0 because it would require an unclean leader election.",
    )


def test_236_3_a_rollback_ignores_original_replicas_that_others_changed() -> None:
    outcome = rolled_back(view(moving((1, 2), (3, 4))), 3, 4, original=(5, 6))
    assert sets(made(outcome.changes)) == ((1, 2), (), ())
    assert outcome.report == "rolled back to [1, 2]: [5, 6] was not there before its move"


# ------------------------------------------------------------------------------------------- what the znode has to hold


def with_batch(in_view: RoundView, **entries: BatchEntry) -> RoundView:
    named = {TopicPartition(TOPIC, int(name.removeprefix("p"))): entry for name, entry in entries.items()}
    in_view.cluster.batch = BatchZnode(named, version=4, changed=900)
    return in_view


def test_236_1_entries_that_start_are_written_first_and_leave_last() -> None:
    in_view = with_batch(view(not_moving(1, 2), not_moving(1, 2)), p0=BatchEntry((3, 4)), p1=BatchEntry((2, 1)))
    in_view.batch.started = {NAME: BatchEntry((3, 4), (1, 2))}
    in_view.batch.ended = {TopicPartition(TOPIC, 1): None}
    found = reassign_partitions.contents(in_view.cluster, in_view)
    assert found is not None
    assert found.first == {NAME: BatchEntry((3, 4), (1, 2)), TopicPartition(TOPIC, 1): BatchEntry((2, 1))}
    assert found.last == {NAME: BatchEntry((3, 4), (1, 2))}


def test_236_5_an_entry_leaves_in_the_round_in_which_its_partition_reaches_the_target() -> None:
    standing_ = moving((1, 2), (3, 4))
    in_view = with_batch(view(standing_), p0=BatchEntry((3, 4), (1, 2)))
    in_view.add(PartitionChange(*NAME, replace(standing_, leader_epoch=9)))
    assert reassign_partitions.contents(in_view.cluster, in_view) is None, "still on its way"
    in_view.add(PartitionChange(*NAME, not_moving(3, 4)))
    found = reassign_partitions.contents(in_view.cluster, in_view)
    assert found == ({NAME: BatchEntry((3, 4), (1, 2))}, {})


def test_236_5_the_entries_of_a_deleted_topic_leave() -> None:
    in_view = with_batch(view(moving((1, 2), (3, 4))), p0=BatchEntry((3, 4), (1, 2)))
    in_view.add(TopicDeletionStarted(TOPIC))
    assert reassign_partitions.contents(in_view.cluster, in_view) == ({NAME: BatchEntry((3, 4), (1, 2))}, {})


def test_i06_an_entry_that_a_client_has_replaced_leaves_first() -> None:
    in_view = with_batch(view(moving((1, 2), (3, 4))), p0=BatchEntry((3, 4), (1, 2)))
    assert reassign_partitions.withdraw_for_client(in_view, NAME, None) is None
    assert reassign_partitions.contents(in_view.cluster, in_view) == ({}, {})


def test_i06_a_refused_request_withdraws_no_entry() -> None:
    in_view = with_batch(view(moving((1, 2), (3, 4))), p0=BatchEntry((3, 4), (1, 2)))
    refusal = InvalidReplicationFactor()
    assert reassign_partitions.withdraw_for_client(in_view, NAME, refusal) is refusal
    nothing = NoReassignmentInProgress()
    assert reassign_partitions.withdraw_for_client(in_view, TopicPartition(TOPIC, 7), nothing) is nothing
    assert reassign_partitions.contents(in_view.cluster, in_view) is None


def test_236_6_a_client_can_cancel_a_waiting_entry_once() -> None:
    in_view = with_batch(view(not_moving(1, 2)), p0=BatchEntry((3, 4)))
    assert reassign_partitions.withdraw_for_client(in_view, NAME, NoReassignmentInProgress()) is None
    again = NoReassignmentInProgress()
    assert reassign_partitions.withdraw_for_client(in_view, NAME, again) is again


def replayed(after: RoundView, batch: reassign_partitions.BatchWritten) -> None:
    for _ in replay(after.cluster, after, Durable(batch=batch), 1, ReplayedChanges()):
        pass


def batch_found(batch: BatchZnode) -> AdminZnodesFound:
    return AdminZnodesFound(AdminZnodes(disabled_by_znode=False, cancel_all=None, batch=batch), batch_read=True)


def test_236_2_a_committed_round_puts_the_batch_into_the_cluster_as_written() -> None:
    in_view = with_batch(view(not_moving(1, 2)), p0=BatchEntry((3, 4)))
    in_view.batch.started = {NAME: BatchEntry((3, 4), (1, 2))}
    replayed(in_view, reassign_partitions.BatchWritten(5, 950))
    assert in_view.cluster.batch == BatchZnode({NAME: BatchEntry((3, 4), (1, 2))}, version=5, changed=950)

    after = RoundView(in_view.cluster)
    after.cluster.cancel_all = after.batch.cancelled = CancelAll(77)
    after.batch.ended = {NAME: None}
    replayed(after, reassign_partitions.BatchWritten())
    assert after.cluster.batch is None
    ended = after.cluster
    assert (ended.cancel_all, ended.soft.cancelled) == (None, 77)


def test_236_5_a_reading_older_than_the_last_write_changes_nothing() -> None:
    in_view = with_batch(view(not_moving(1, 2)), p0=BatchEntry((3, 4), (1, 2)))
    known = in_view.cluster.batch
    assert not learn(in_view.cluster, batch_found(BatchZnode({NAME: BatchEntry((3, 4))}, version=3, changed=899)))
    assert in_view.cluster.batch == known


def test_236_4_a_reading_without_original_replicas_of_a_move_marks_the_entry_as_stripped() -> None:
    partition: Partition = moving((1, 2), (3, 4))
    in_view = with_batch(view(partition), p0=BatchEntry((3, 4), (1, 2)))
    assert learn(in_view.cluster, batch_found(BatchZnode({NAME: BatchEntry((3, 4))}, version=5, changed=901)))
    assert in_view.cluster.batch is not None
    assert in_view.cluster.batch.stripped == {NAME}
