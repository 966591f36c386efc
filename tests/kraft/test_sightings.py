"""Which looks count for a move."""

from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.kraft_commands import Sighted
from kafka_reassign_rpc.kraft.sightings import Sightings
from kafka_reassign_rpc.support.turns import in_turns
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import MemoryCluster

NAME = TopicPartition("t", 0)
RECORD = MoveRecord(MoveTerms((3, 2)), (1, 2), phase=Phase.MOVING)


class Here:
    def __init__(self) -> None:
        intents = Intents()
        intents.moves[NAME] = RECORD
        self.kraft = KRaftPartition(1, 2)
        self.cluster = MemoryCluster({NAME: self.kraft}, (1, 2, 3))
        self.sightings = Sightings(intents)

    async def look(self, *, is_settled: bool = True) -> Sighted | None:
        self.sightings.look_begins()
        return await self.take(is_settled=is_settled)

    async def take(self, *, is_settled: bool = True) -> Sighted | None:
        taken = self.sightings.taken(await self.cluster.look(), is_settled=is_settled)
        return (await in_turns(taken)).get(NAME)


async def test_kr_6_looks_that_agree_are_counted_and_another_sight_begins_anew() -> None:
    here = Here()
    assert [await here.look(), await here.look()] == [
        Sighted(RECORD, SeenPartition((1, 2)), 1),
        Sighted(RECORD, SeenPartition((1, 2)), 2),
    ]
    here.kraft.alter((3, 2))
    assert await here.look() == Sighted(RECORD, SeenPartition((3, 2, 1), (3,), (1,)), 1)
    here.kraft.catch_up()
    assert await here.look() == Sighted(RECORD, SeenPartition((3, 2)), 1, was_in_flight=True)
    here.cluster.partitions.clear()
    assert [await here.look(), await here.look()] == [Sighted(RECORD, None, 1), Sighted(RECORD, None, 2)]


async def test_kr_6_a_look_that_began_before_the_last_act_was_answered_does_not_count() -> None:
    here = Here()
    await here.look()
    here.sightings.being_told([NAME])
    assert await here.look() is None
    here.sightings.answered([NAME])
    assert await here.take() is None, "it began before the answer"
    found = await here.look()
    assert found is not None
    assert found.looks == 1


async def test_kr_6_while_an_alter_of_the_former_server_may_arrive_looks_agree_on_nothing() -> None:
    here = Here()
    for _ in range(3):
        found = await here.look(is_settled=False)
        assert found is not None
        assert found.looks == 1
    found = await here.look()
    assert found is not None
    assert found.looks == 2
