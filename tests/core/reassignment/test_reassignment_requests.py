"""Request znodes (KIP-236), target by target; and how they and the batch exclude each other."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.reassignment.reassign_partitions import RequestOutcome
from kafka_reassign_rpc.core.round.round_view import RequestEnded, RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.state.partition import BATCH, HEAL, QUEUE, REQUEST, RPC, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.replay import Durable, ReplayedChanges, replay
from tests.core.build import TOPIC, cluster, made, moving, not_moving, sets, view, write
from tests.tables import for_each

NAME = TopicPartition(TOPIC, 0)


def decided(
    in_view: RoundView,
    *target: int,
    legacy: bool = False,
    name: TopicPartition = NAME,
) -> RequestOutcome:
    return reassign_partitions.decide_target(in_view, name, MoveTerms(target, BATCH if legacy else REQUEST))


def by(route: str, partition: Partition) -> Partition:
    assert partition.move is not None
    return replace(partition, move=replace(partition.move, terms=replace(partition.move.terms, route=route)))


def test_236_8_a_target_of_a_request_starts_with_the_route_request() -> None:
    outcome = decided(view(not_moving(1, 2)), 2, 3)
    assert outcome.report is None
    value = made(outcome.changes)
    assert sets(value) == ((2, 3, 1), (3,), (1,))
    assert value.move is not None
    assert (value.move.terms.route, value.move.original) == (REQUEST, (1, 2))


def test_236_8_a_legacy_request_starts_moves_of_the_batch() -> None:
    value = made(decided(view(not_moving(1, 2)), 2, 3, legacy=True).changes)
    assert value.move is not None
    assert value.move.terms.route == BATCH


@pytest.mark.parametrize("name", [TopicPartition("nope", 0), TopicPartition(TOPIC, 7), TopicPartition(TOPIC, -1)])
def test_236_8_a_partition_that_does_not_exist_is_reported(name: TopicPartition) -> None:
    assert decided(view(not_moving(1, 2)), 2, 3, name=name) == RequestOutcome(report="The partition does not exist.")


@pytest.mark.parametrize(
    ("target", "text"), [((), "Empty replica list"), ((3, 3), "Duplicate replica ids"), ((-1,), "Invalid broker id")]
)
def test_236_8_an_invalid_target_is_reported_with_kafkas_text(target: tuple[int, ...], text: str) -> None:
    outcome = decided(view(not_moving(1, 2)), *target)
    assert outcome.changes == ()
    assert outcome.report is not None
    assert text in outcome.report


def test_h01_a_move_waits_for_a_dead_broker_and_reports_it() -> None:
    outcome = decided(view(not_moving(1, 2), live=(1, 2)), 2, 3)
    assert made(outcome.changes).adding == (3,)
    assert outcome.report == "waits for broker(s) [3], which are not alive"


def test_860_4_the_rule_on_replication_factors_holds_for_requests_too() -> None:
    in_view = view(not_moving(1, 2))
    write(in_view.cluster, started_with=ReassignmentSettings(replication_factor_change_allowed=False))
    outcome = decided(in_view, 1, 2, 3)
    assert outcome.changes == ()
    assert outcome.report is not None
    assert "is changed from 2 to 3" in outcome.report
    assert "allowed=false" in outcome.report


@pytest.mark.parametrize("partition", [not_moving(2, 3), moving((1, 2), (2, 3)), by(BATCH, moving((1, 2), (2, 3)))])
@pytest.mark.parametrize("legacy", [False, True])
def test_236_10_a_request_that_is_decided_again_changes_nothing(partition: Partition, legacy: bool) -> None:
    assert not decided(view(partition), 2, 3, legacy=legacy).changes


@for_each(
    ("route", "legacy", "is_ignored"),
    [
        (RPC, False, False),
        (REQUEST, False, False),
        (QUEUE, False, False),
        (HEAL, False, False),
        (BATCH, False, True),
        (RPC, True, False),
        (REQUEST, True, True),
        (BATCH, True, False),
    ],
)
def test_236_8_the_batch_and_a_request_do_not_override_each_other(route: str, legacy: bool, is_ignored: bool) -> None:
    outcome = decided(view(by(route, moving((1, 2), (2, 3)))), 2, 4, legacy=legacy)
    if is_ignored:
        assert outcome.changes == ()
        assert outcome.report is not None
        assert outcome.report.startswith("ignored: it moves to [2, 3], started by")
    else:
        assert made(outcome.changes).target == (2, 4)


def test_236_8_the_batch_does_not_override_a_request() -> None:
    here = view(by(REQUEST, moving((1, 2), (2, 3))))
    for target in ((2, 4), (2, 3)):
        outcome = reassign_partitions.decide_entry(here, NAME, BatchEntry(target))
        assert (outcome.entry, outcome.changes) == (None, ())
        assert outcome.report is not None
        assert "ignored" in outcome.report
    assert reassign_partitions.roll_back(
        here, NAME, BatchEntry((2, 3), (1, 2))
    ) == reassign_partitions.BatchEntryOutcome(None), "nor does its cancellation"


def test_236_8_the_batch_overrides_a_client_as_in_kafka() -> None:
    outcome = reassign_partitions.decide_entry(view(moving((1, 2), (2, 3))), NAME, BatchEntry((2, 4)))
    assert made(outcome.changes).target == (2, 4)


def test_236_10_the_batch_waits_for_unread_requests() -> None:
    here = view(not_moving(1, 2), not_moving(1, 2))
    here.cluster.requests = frozenset(("request_0000000000",))
    assert reassign_partitions.decide_entry(here, NAME, BatchEntry((2, 4))) == reassign_partitions.BatchEntryOutcome(
        BatchEntry((2, 4))
    )
    here.requests["request_0000000000"] = RequestEnded(0)
    for _ in replay(here.cluster, here, Durable(), 1, ReplayedChanges()):
        pass
    assert reassign_partitions.decide_entry(here, NAME, BatchEntry((2, 4))).changes


def test_236_8_a_decision_of_a_request_sees_the_earlier_ones_of_its_round() -> None:
    here = RoundView(cluster(not_moving(1, 2)))
    for target in ((2, 3), (2, 4)):
        for change in decided(here, *target).changes:
            here.add(change)
    value = here.partitions[NAME].value
    assert sets(value) == ((2, 4, 1), (4,), (1,))
    assert value.pending_deletion == (3,)


def test_236_2_the_record_says_that_a_legacy_request_gave_the_target_until_another_target_comes() -> None:
    started = made(decided(view(not_moving(1, 2)), 2, 3, legacy=True).changes)
    assert started.move is not None
    assert (started.move.terms.route, started.move.legacy) == (BATCH, True)
    entry = BatchEntry((2, 4))
    after = made(reassign_partitions.decide_entry(view(started), NAME, entry).changes)
    assert after.move is not None
    assert (after.move.terms.route, after.move.legacy) == (BATCH, False)
    other = made(decided(view(not_moving(1, 2)), 2, 3).changes)
    assert other.move is not None
    assert not other.move.legacy
