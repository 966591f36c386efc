"""When a move is complete, and the partition afterwards."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.leadership.broker_changes import adapt, confirm_stopped
from kafka_reassign_rpc.core.reassignment_algebra import completed, is_complete
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.writers.facts import ShutdownAsked
from tests.core.build import TOPIC, cluster, learn, made, moving, not_moving, sets, view
from tests.tables import for_each


@for_each(
    ("origin", "target", "isr", "is_over"),
    [
        pytest.param((1, 2, 3), (1, 2, 4), (1, 2, 3, 4), True, id="C09: the whole target is in sync"),
        pytest.param((1, 2, 3), (1, 2, 4), (1, 2, 3), False, id="an adding replica is late"),
        pytest.param((1, 2, 3), (4, 5, 6), (1, 2, 3, 4, 5), False, id="one of several adding replicas is late"),
        pytest.param((1, 2, 3), (1, 2, 4), (1, 3, 4), True, id="KAFKA-19975: a staying replica is sick"),
        pytest.param((1, 2, 3), (1, 2, 3, 4), (1, 3, 4), True, id="KAFKA-19975: the same, growing"),
        pytest.param((1, 2, 3), (1, 2), (1, 3), False, id="a shrink waits rather than halve the ISR"),
        pytest.param((1, 2, 3), (1, 2), (1,), True, id="a shrink takes what is out of sync"),
        pytest.param((1, 2, 3), (4,), (2, 3, 4), True, id="a shrink as asked for"),
        pytest.param((1, 2, 3), (2,), (1, 3), False, id="nobody of the target is in sync"),
    ],
)
def test_455_4_a_move_is_complete(
    origin: tuple[int, ...], target: tuple[int, ...], isr: tuple[int, ...], is_over: bool
) -> None:
    partition = moving(origin, target, isr=isr)
    assert is_complete(cluster(partition), partition) is is_over


def test_455_8_a_move_is_not_complete_while_only_removing_replicas_are_alive() -> None:
    partition = moving((1, 2), (3, 4), isr=(1, 3, 4))
    assert not is_complete(cluster(partition, live=(1, 2)), partition)
    assert is_complete(cluster(partition, live=()), partition)


def test_455_4_g01_a_leader_in_the_target_stays() -> None:
    (change,) = adapt(view(moving((1, 2, 3), (4, 1, 2), isr=(1, 2, 3, 4))), TOPIC, 0)
    value = made([change])
    assert sets(value) == ((4, 1, 2), (), ())
    assert (value.leader, value.isr, value.pending_deletion, value.leader_epoch) == (1, (1, 2, 4), (3,), 7)
    assert value.move is None
    assert change.assignment is AssignmentWrite.LATER  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("target", "isr", "live", "leader"),
    [
        ((3, 4, 2), (1, 2, 3, 4), (1, 2, 3, 4), 3),
        ((3, 4, 2), (1, 2, 3, 4), (1, 2, 4), 4),
    ],
)
def test_455_4_g02_else_the_first_live_target_replica_in_sync_leads(
    target: tuple[int, ...], isr: tuple[int, ...], live: tuple[int, ...], leader: int
) -> None:
    value = made(adapt(view(moving((1, 2, 3), target, isr=isr), live=live), TOPIC, 0))
    assert value.leader == leader


@pytest.mark.parametrize(
    ("isr", "live", "failed", "leader"),
    [
        pytest.param((1,), (1, 2, 3), (), 1, id="it stays"),
        pytest.param((1, 2), (1, 2, 3), (), 2, id="another one can lead"),
        pytest.param((1,), (2, 3), (), NO_LEADER, id="it is gone"),
        pytest.param((1,), (1, 2, 3), (1,), NO_LEADER, id="its log dir has failed"),
    ],
)
def test_sv_10_a_leader_in_controlled_shutdown_stays_where_no_other_target_replica_can_lead(
    isr: tuple[int, ...], live: tuple[int, ...], failed: tuple[int, ...], leader: int
) -> None:
    here = cluster(moving((1, 2, 3), (1, 2), isr=isr), live=live)
    learn(here, ShutdownAsked(1, -1))
    after = completed(here, replace(here.topics[TOPIC].partitions[0], offline=failed))
    assert after is not None
    assert (after.replicas, after.isr, after.leader, after.leader_epoch) == ((1, 2), isr, leader, 7)


def test_a_move_that_removes_nothing_has_its_znode_written_at_once() -> None:
    (change,) = adapt(view(moving((1, 2), (1, 2, 3), isr=(1, 2, 3))), TOPIC, 0)
    assert change.assignment is AssignmentWrite.NOW  # type: ignore[union-attr]


def test_a_partition_at_rest_or_unknown_does_not_change() -> None:
    assert adapt(view(not_moving(1, 2)), TOPIC, 0) == []
    assert adapt(view(), TOPIC, 5) == []


def test_455_4_the_last_confirmation_clears_the_topic_znode() -> None:
    here = view(replace(not_moving(1, 2), pending_deletion=(3, 4)))
    epoch = here.cluster.topics[TOPIC].partitions[0].leader_epoch
    (first,) = confirm_stopped(here, TOPIC, 0, (3,), leader_epoch=epoch)
    assert (first.value.pending_deletion, first.assignment) == ((4,), AssignmentWrite.LATER)  # type: ignore[union-attr]
    here.add(first)
    assert confirm_stopped(here, TOPIC, 0, (3,), leader_epoch=epoch) == []
    (last,) = confirm_stopped(here, TOPIC, 0, (4,), leader_epoch=epoch)
    assert (last.value.pending_deletion, last.assignment) == ((), AssignmentWrite.NOW)  # type: ignore[union-attr]
