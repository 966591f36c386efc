"""KIP-455's algebra: tables from the behaviour of Kafka 3.9, and properties of any lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.reassignment_algebra import Reassigned, cancelled, pending_deletion_after, reassign
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition
from tests.core.build import moving, not_moving

replica_lists = st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True).map(tuple)


@pytest.mark.parametrize(
    ("origin", "target", "replicas", "adding", "removing"),
    [
        pytest.param((1, 2, 3), (1, 2, 4), (1, 2, 4, 3), (4,), (3,), id="C05"),
        pytest.param((1, 2, 3), (4, 5, 6), (4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3), id="C06"),
        pytest.param((1, 2, 3, 4), (4, 2, 5, 3), (4, 2, 5, 3, 1), (5,), (1,), id="C07"),
        pytest.param((1, 2, 3), (3, 1, 2), (3, 1, 2), (), (), id="C03"),
        pytest.param((1, 2, 3), (1, 2), (1, 2, 3), (), (3,), id="C04"),
    ],
)
def test_455_3_a_start_puts_the_target_first_and_the_tail_in_its_old_order(
    origin: tuple[int, ...],
    target: tuple[int, ...],
    replicas: tuple[int, ...],
    adding: tuple[int, ...],
    removing: tuple[int, ...],
) -> None:
    assert reassign(not_moving(*origin), target) == Reassigned(replicas, adding, removing, ())


def test_455_5_d03_a_change_of_target_keeps_the_origin_and_removes_replicas_of_the_former_target_at_once() -> None:
    assert reassign(moving((1, 2, 3), (4, 5, 6)), (7, 8, 9)) == Reassigned(
        (7, 8, 9, 1, 2, 3), (7, 8, 9), (1, 2, 3), (4, 5, 6)
    )


def test_455_7_a_cancel_restores_the_original_order() -> None:
    assert cancelled(moving((1, 2, 3), (3, 4, 2))) == Reassigned((1, 2, 3), (), (), (4,))


def test_455_7_without_a_record_a_cancel_has_the_present_order() -> None:
    assert cancelled(moving((1, 2, 3), (3, 4, 2), recorded=False)).replicas == (3, 2, 1)


def test_455_7_a_record_that_contradicts_the_topic_znode_is_ignored() -> None:
    partition = moving((1, 2, 3), (3, 4, 2), recorded=False)
    stale = Partition(
        partition.replicas, partition.adding, partition.removing, move=MoveRecord(MoveTerms((4,)), (7, 8))
    )
    assert cancelled(stale).replicas == (3, 2, 1)


def test_a_replica_that_comes_back_is_no_longer_pending_deletion() -> None:
    partition = Partition((1, 2), pending_deletion=(3, 4))
    assert pending_deletion_after(partition, (5,), (1, 2, 4)) == (3, 5)


@given(replica_lists, replica_lists)
def test_455_a_start_makes_room_for_both_sets(origin: tuple[int, ...], target: tuple[int, ...]) -> None:
    to = reassign(not_moving(*origin), target)
    assert not set(to.adding) & set(to.removing)
    assert to.replicas == target + to.removing
    assert set(to.replicas) == {*origin, *target}
    assert to.removed_at_once == ()
    assert to.is_moving == (set(origin) != set(target))


@given(replica_lists, replica_lists, replica_lists)
def test_455_5_a_change_of_target_is_a_start_from_the_origin(
    origin: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    to = reassign(moving(origin, first), second)
    fresh = reassign(not_moving(*origin), second)
    assert (set(to.replicas), to.adding, set(to.removing)) == (
        set(fresh.replicas),
        fresh.adding,
        set(fresh.removing),
    )
    assert set(to.removed_at_once) == {*first} - {*origin} - {*second}


@given(replica_lists, replica_lists)
def test_455_7_cancel_after_a_start_is_the_assignment_before(origin: tuple[int, ...], target: tuple[int, ...]) -> None:
    to = cancelled(moving(origin, target))
    assert to.replicas == origin
    assert set(to.removed_at_once) == set(target) - set(origin)
