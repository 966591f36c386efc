"""Which looks count for a move."""

from kafka_reassign_rpc.core.phases.phases import LOOKS
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_seen import Known
from kafka_reassign_rpc.kraft.kraft_commands import Sighted
from kafka_reassign_rpc.kraft.round_records import Intents
from kafka_reassign_rpc.kraft.sightings import FORWARDING_S, Settling, Sightings, settling
from kafka_reassign_rpc.support.turns import in_turns
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import MemoryCluster

NAME, LATER = TopicPartition("t", 0), TopicPartition("t", 1)
RECORD = MoveRecord(MoveTerms((3, 2)), (1, 2), phase=Phase.MOVING)
AT_ONCE = Settling(0.0, 0.0)
AT_REST, MOVING = SeenPartition((1, 2)), SeenPartition((3, 2, 1), (3,), (1,))


class Here:
    def __init__(self, settling: Settling = AT_ONCE) -> None:
        self.intents = Intents()
        self.intents.moves[NAME] = RECORD
        self.kraft = KRaftPartition(1, 2)
        self.cluster = MemoryCluster({NAME: self.kraft, LATER: KRaftPartition(1, 2)}, (1, 2, 3))
        self.now = 100.0
        self.sightings = Sightings(self.intents, settling, lambda: self.now)

    async def look(self, name: TopicPartition = NAME) -> Sighted | None:
        self.sightings.look_begins()
        return await self.take(name)

    async def take(self, name: TopicPartition = NAME) -> Sighted | None:
        return (await in_turns(self.sightings.taken(await self.cluster.look()))).sighted.get(name)


async def test_kr_6_looks_that_agree_are_counted_and_another_sight_begins_anew() -> None:
    here = Here()
    assert [await here.look(), await here.look()] == [
        Sighted(RECORD, AT_REST, 1),
        Sighted(RECORD, AT_REST, 2, AT_REST),
    ]
    here.kraft.alter((3, 2))
    assert await here.look() == Sighted(RECORD, MOVING, 1, AT_REST)
    here.kraft.catch_up()
    assert await here.look() == Sighted(RECORD, SeenPartition((3, 2)), 1, MOVING)


async def test_kr_6_a_look_that_does_not_show_a_partition_says_nothing_and_the_next_begins_anew() -> None:
    here = Here()
    await here.look()
    here.cluster.secret = {"t"}
    assert [await here.look(), await here.look(), await here.look()] == [None] * 3
    here.cluster.secret = set()
    assert await here.look() == Sighted(RECORD, AT_REST, 1)
    del here.cluster.partitions[NAME]
    assert [await here.look(), await here.look(), await here.look()] == [None] * 3
    taken = await in_turns(here.sightings.taken(await here.cluster.look(), {Known("t")}))
    assert taken.sighted == {NAME: Sighted(RECORD, None, LOOKS)}


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


async def test_kr_6_an_alter_of_the_former_server_may_arrive_for_moves_of_its_time_and_not_for_later_ones() -> None:
    here = Here(settling(4, 30))
    here.intents.moves[LATER] = RECORD
    here.now += 4 + FORWARDING_S + 30 - 1
    for _ in range(3):
        found, later = await here.look(), await here.take(LATER)
        assert found is not None
        assert later is not None
        assert (found.is_settled, later.is_settled) == (False, True)
    here.now += 1
    assert await here.look() == Sighted(RECORD, AT_REST, 1, AT_REST), "looks that settle it begin anew"
    assert await here.look() == Sighted(RECORD, AT_REST, 2, AT_REST)


async def test_kr_6_an_act_of_its_own_without_an_answer_may_arrive_as_long() -> None:
    here = Here(settling(4, 30))
    here.intents.moves[LATER] = RECORD
    for passed, is_settled in ((0, False), (FORWARDING_S + 29, False), (FORWARDING_S + 30, True)):
        if not passed:
            here.sightings.being_told([LATER])
            here.sightings.unanswered([LATER])
            here.sightings.answered([LATER])
        here.now = 100 + passed
        found = await here.look(LATER)
        assert found is not None
        assert found.is_settled is is_settled
