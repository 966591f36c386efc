"""kr-6: what the cluster refuses, over a move that is in flight: what its sender is answered, and what goes on."""

from collections.abc import Callable

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.partition import Phase
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.test_term import NAME, Here, looked
from tests.tables import for_each
from tests.waiting import eventually

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
