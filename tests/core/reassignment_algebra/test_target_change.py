"""Which adding replicas of a former target are removed at once (KIP-236): the table, and properties of any move."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.reassignment.alter import cancel
from kafka_reassign_rpc.core.reassignment_algebra import (
    LoadedAssignment,
    added_for_former_target,
    durable_assignment,
    min_insync_replicas,
    partition_of,
    reassign,
    retained,
)
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster, decided, made, moving, not_moving, sets, view
from tests.tables import for_each

Replicas = tuple[int, ...]
NAME = TopicPartition(TOPIC, 0)


@for_each(
    ("origin", "first", "isr", "target", "dropped", "stays"),
    [
        pytest.param((1, 2), (2, 3), (1, 2), (2, 4), (3,), (), id="the proposal's example"),
        pytest.param((1, 2), (2, 3), (1, 2, 3), (2, 4), (3,), (), id="as many stay as there were"),
        pytest.param((1, 2), (2, 3), (1, 3), (2, 4), (), (3,), id="a sick original"),
        pytest.param((1, 2), (2, 3), (3, 2), (2, 4), (), (3,), id="it leads"),
        pytest.param((1,), (2, 3), (2, 1, 3), (4,), (3,), (2,), id="one is enough"),
        pytest.param((1, 2, 3), (4, 5, 6), (1, 4, 5), (7, 8, 9), (6,), (4, 5), id="two are needed"),
        pytest.param((1, 2, 3), (4, 5, 6), (1, 6, 5, 2), (7, 8, 9), (4, 5), (6,), id="the first of two"),
        pytest.param((1, 2), (3, 4), (3, 4), (1, 2), (), (3, 4), id="back, but they alone are in sync"),
        pytest.param((1, 2), (3, 4), (1, 2, 3), (1, 2), (3, 4), (), id="back"),
        pytest.param((1, 2), (3, 4), (1, 3), (3, 5), (4,), (), id="in the new target too"),
        pytest.param((1, 2, 3), (4,), (1, 2, 3, 4), (5,), (4,), (), id="shrinking"),
        pytest.param((1, 2), (2, 1), (1, 2), (3, 4), (), (), id="a start"),
    ],
)
def test_236_9_adding_replicas_of_a_former_target_are_removed_at_once_unless_retained(
    origin: Replicas, first: Replicas, isr: Replicas, target: Replicas, dropped: Replicas, stays: Replicas
) -> None:
    before = moving(origin, first, isr=isr)
    assert retained(before, target) == stays
    to = reassign(before, target, stays)
    assert (to.removed_at_once, to.retained) == (dropped, stays)
    assert to.replicas == target + to.removing
    assert set(to.removing) == ({*origin} - {*target}) | {*stays}


def change(before: Partition, target: Replicas, *, min_isr: str = "1") -> Partition:
    here = view(before, live=range(10), configs={"min.insync.replicas": min_isr})
    error, changes = decided(here, NAME, target)
    assert error is None
    return made(changes)


replica_lists = st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True).map(tuple)


@st.composite
def in_flight(draw: st.DrawFn) -> Partition:
    """A move after up to two changes of target, with any ISR and any leader after each."""
    origin, target = draw(replica_lists), draw(replica_lists)
    value = moving(origin, target)
    for _ in range(draw(st.integers(0, 2)) + 1):
        members = draw(st.lists(st.sampled_from(value.replicas), min_size=1, unique=True).map(tuple))
        value = moved(value, members)
        if value.is_moving:
            value = change(value, draw(replica_lists))
    if value.is_moving:
        value = moved(value, draw(st.lists(st.sampled_from(value.replicas), min_size=1, unique=True).map(tuple)))
    assume(value.is_moving)
    return value


def moved(value: Partition, isr: Replicas) -> Partition:
    """The move with the ISR that its leader asked for."""
    return Partition(
        value.replicas,
        value.adding,
        value.removing,
        value.pending_deletion,
        leader=isr[0],
        isr=isr,
        leader_epoch=value.leader_epoch,
        partition_epoch=value.partition_epoch,
        controller_epoch=1,
        move=value.move,
    )


@given(in_flight(), replica_lists)
def test_236_9_a_change_of_target_keeps_the_leader_the_isr_and_the_producers(
    before: Partition, target: Replicas
) -> None:
    top = len(before.origin)
    stays = retained(before, target)
    needed = {*before.origin, *target}
    isr = [replica for replica in before.isr if replica in needed or replica in stays]

    assert before.leader in isr, "the leader is never dropped"
    assert len(isr) >= min(len(before.isr), top), "the ISR gets no smaller than it was, or than the original"
    for min_isr in range(1, top + 1):
        assert len(isr) >= min_isr or len(before.isr) < min_isr, "producers are not cut off"
    assert {*stays} <= {*before.isr} & {*added_for_former_target(before, target)}, "nobody is retained in vain"
    if stays:
        assert len(isr) <= max(top, len([r for r in before.isr if r in needed]) + 1), "nor more than are needed"


@given(in_flight(), replica_lists)
def test_236_9_retained_replicas_leave_at_completion_and_with_a_cancel(before: Partition, target: Replicas) -> None:
    value = change(before, target)
    assert before.move is not None
    if value.is_moving:
        assert value.move is not None
        assert (value.move.original, value.origin and {*value.origin}) == (before.move.original, {*before.origin})
        assert not {*value.adding} & {*value.removing}
        assert {*value.retained} == {*value.move.retained}
        read = partition_of(LoadedAssignment(*durable_assignment(value)), None, value.move)
        assert (sets(read), read.retained, {*read.pending_deletion}) == (
            sets(value),
            value.retained,
            {*value.pending_deletion},
        ), "after a failover"
        done = change(moved(value, value.replicas), target)
        assert (done.replicas, done.is_moving) == (target, False)
        here = view(moved(value, value.replicas), live=range(10))
        error, changes = cancel(here, NAME)
        assert error is None
        back = made(changes)
        assert back.replicas == before.move.original
        assert {*value.replicas} | {*value.pending_deletion} == {*back.replicas} | {*back.pending_deletion}, (
            "no log is forgotten"
        )


@pytest.mark.parametrize("origin", [(1,), (1, 2)])
def test_236_9_a_target_that_could_cut_producers_off_is_refused(origin: Replicas) -> None:
    before = moving(origin, (5, 6), isr=(*origin, 5))
    here = view(before, configs={"min.insync.replicas": "3"})

    def answer(target: Replicas | None) -> object:
        return type(decided(here, NAME, target)[0])

    error, changes = decided(here, NAME, (4, 3))
    assert type(error) is InvalidReplicaAssignment
    assert changes == []
    assert str(error) == (
        f"Unable to change the target of the reassignment for t:0: it began with {len(origin)} replica(s), fewer than"
        " min.insync.replicas=3, so that dropping [5, 6] could cut producers off. Cancel it first, or leave them in"
        " the target."
    )
    assert answer((5, 6)) is answer((6, 5)) is answer((4, 5, 6)) is type(None), "these drop nothing"
    assert answer(origin) is answer(None) is type(None), "going back is always possible"
    here.cluster.topic_configs[TOPIC] = {"min.insync.replicas": str(len(origin))}
    assert answer((4, 3)) is type(None)
    at_rest = view(not_moving(1), configs={"min.insync.replicas": "3"})
    assert decided(at_rest, NAME, (2,))[0] is None


@pytest.mark.parametrize(
    ("own", "default", "counts"), [("2", "3", 2), (None, "3", 3), (None, None, 1), ("x", "3", 1), ("²", None, 1)]
)
def test_236_9_the_topics_min_insync_replicas_counts_then_the_clusters(
    own: str | None, default: str | None, counts: int
) -> None:
    here = cluster(not_moving(1), configs={} if own is None else {"min.insync.replicas": own})
    if default is not None:
        here.broker_configs["<default>"] = {"min.insync.replicas": default}
    assert min_insync_replicas(here, TOPIC) == counts
