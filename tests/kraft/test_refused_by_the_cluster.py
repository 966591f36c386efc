"""kr-6: what the cluster refuses, over a move that is in flight: what its sender is answered, and what goes on."""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.phases.phases import SOMEBODY_ELSE
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.partition import Phase
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_term import NAME, SELDOM, Here, looked
from tests.tables import for_each
from tests.waiting import eventually

T = TypeVar("T")
Happens = Callable[[KRaftPartition], None]


def cordoned(partition: KRaftPartition) -> None:
    partition.cordoned = frozenset({4})


def unclean(partition: KRaftPartition) -> None:
    """For a cancel of a move to [3, 2]."""
    partition.isr = (3,)


def before_the_next_alter(here: Here, happens: Happens) -> KRaftPartition:
    partition = here.cluster.partitions[NAME]
    here.cluster.before_alter = lambda: happens(partition)
    return partition


@for_each(
    "target, happens",
    [((4, 2), cordoned), ((4, 3), cordoned), ((1, 2), unclean), ((2, 1), unclean), ((2,), unclean)],
)
async def test_kr_6_a_new_target_that_the_cluster_refuses_is_answered_so_and_the_former_move_goes_on(
    target: tuple[int, ...], happens: Happens
) -> None:
    here = Here()
    async with here.term() as loop:
        assert await here.told(NAME, (3, 2)) is None
        await looked(here)
        partition = before_the_next_alter(here, happens)
        assert isinstance(await here.told(NAME, target), InvalidReplicaAssignment)
        await looked(here)
        assert here.named(catalogue.MOVE_REFUSED) == [NAME]
        assert partition.at == SeenPartition((3, 2, 1), (3,), (1,))
        found = loop.cluster.get(*NAME)
        assert found is not None
        assert found.move is not None
        assert (found.move.terms.target, found.move.phase) == ((3, 2), Phase.MOVING)
        partition.catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
    assert here.named(catalogue.MOVE_CANCELLED) == []


async def test_kr_6_a_new_target_that_was_refused_is_not_shown_until_the_next_look() -> None:
    here = Here()
    async with here.term(pace=SELDOM) as loop:
        assert await here.told(NAME, (3, 2)) is None
        before_the_next_alter(here, cordoned)
        assert isinstance(await here.told(NAME, (4, 2)), InvalidReplicaAssignment)
        found = loop.cluster.get(*NAME)
        assert found is not None
        assert (found.target, found.adding, found.removing) == ((3, 2), (3,), (1,))


@coroutine
def late(answer: Coroutine[Any, Any, T], until: Coroutine[Any, Any, object]) -> Generator[Any, Any, T]:
    """It goes on only then: so it is where many others have their turn first."""
    answer.send(None)
    yield from until.__await__()
    try:
        while True:
            yield answer.send(None)
    except StopIteration as end:
        found: T = end.value
        return found


@for_each("moves, target, happens", [(False, (4, 2), cordoned), (True, (4, 2), cordoned), (True, None, unclean)])
async def test_kr_6_a_refusal_that_is_durable_before_its_sender_goes_on_is_the_answer_all_the_same(
    moves: bool, target: tuple[int, ...] | None, happens: Happens
) -> None:
    here = Here()
    async with here.term():
        if moves:
            assert await here.told(NAME, (3, 2)) is None
            await looked(here)
        before_the_next_alter(here, happens)
        refused = eventually(lambda: here.named(catalogue.MOVE_REFUSED) == [NAME])
        [(*_, error)] = await late(here.begun.told(here.submitted([NAME], target), 60_000), refused)
        assert isinstance(error, InvalidReplicaAssignment)


NEVER_ENDS = SeenPartition((1, 2, 3), (2, 3), (2, 3))


def leader_out_of_sync(partition: KRaftPartition) -> None:
    partition.isr = (2,)


@for_each("target, happens", [(None, leader_out_of_sync), ((1,), leader_out_of_sync), ((4, 1), cordoned)])
async def test_kr_8_what_was_refused_over_a_move_of_others_without_an_end_is_not_sent_again_and_that_is_left_alone(
    target: tuple[int, ...] | None, happens: Happens
) -> None:
    here = Here()
    partition = here.cluster.partitions[NAME] = KRaftPartition(1)
    partition.alter((2, 3))
    partition.alter((1,))
    partition.isr = (1, 2)
    async with here.term() as loop:
        await eventually(lambda: loop.cluster.moving == {"t": {0}})
        before_the_next_alter(here, happens)
        assert isinstance(await here.told(NAME, target), InvalidReplicaAssignment)
        assert here.log.replayed().moves == {}
        here.cluster.told.clear()
        await looked(here)
        assert loop.cluster.moving == {"t": {0}}
        partition.isr = (1, 2)  # a cancel would go through by now
        await looked(here)
        assert (partition.at, here.cluster.told) == (NEVER_ENDS, {})
    assert here.named(catalogue.MOVE_REFUSED) == [NAME]


async def test_kr_6_a_move_of_its_own_without_an_end_is_sent_again_once_it_can_be_with_no_event_until_then() -> None:
    """Somebody else's target met ours, and [1] was in flight to it by way of [2, 3] when ours came."""
    here = Here()
    partition = here.cluster.partitions[NAME] = KRaftPartition(1)
    async with here.term() as loop:
        assert await here.told(NAME, (1, 2)) is None
        await looked(here)
        partition.at, partition.isr = SeenPartition((1, 2, 3), (2, 3), (3,)), (3,)
        await eventually(lambda: NAME in here.cluster.told and here.cluster.told[NAME] is None)
        await looked(here)
        written = len(here.log.records)
        await looked(here)
        assert (len(here.log.records), here.named(catalogue.MOVE_REFUSED)) == (written, [])
        partition.isr = (1,)
        await eventually(lambda: partition.at == SeenPartition((1, 2), (2,)))
        partition.catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
        assert loop.cluster.moving == {}
    assert here.named(catalogue.MOVE_CANCELLED) == here.named(catalogue.MOVE_REFUSED) == []


@for_each(
    "target, cordons, left",
    [((1, 2), {2}, (2, 1)), ((2,), {2}, (2, 1)), ((1, 2, 3, 4), {4}, (1, 2))],
)
async def test_kr_6_a_target_that_is_refused_after_the_cancel_before_it_ends_the_former_move_as_cancelled_by_its_sender(
    target: tuple[int, ...], cordons: set[int], left: tuple[int, ...]
) -> None:
    """And the original order is back where the cluster takes it."""
    here = Here()
    async with here.term() as loop:
        assert await here.told(NAME, (3, 2)) is None
        await looked(here)
        partition = here.cluster.partitions[NAME]
        before_the_next_alter(here, lambda one: setattr(one, "cordoned", frozenset(cordons)))
        answer = await here.told(NAME, target)
        assert (answer is None) is (target == (1, 2)), "a cancel is all that the original replicas need"
        await eventually(lambda: here.named(catalogue.MOVE_CANCELLED) == [NAME])
        assert (partition.at, loop.cluster.moving) == (SeenPartition(left), {})
    assert here.log.replayed().moves == {}
    assert here.named(catalogue.MOVE_REFUSED) == [NAME]
    assert SOMEBODY_ELSE.who not in {one.who for one in here.events}
