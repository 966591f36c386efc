"""kr-6: a term begins with a look at a broker that may lag, in virtual time."""

import asyncio
import itertools
from collections.abc import Collection

from msgspec.structs import replace

from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.ports import Look, LookFailed
from kafka_reassign_rpc.support.tasks import end
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft import virtual_time
from tests.kraft.memory_cluster import MemoryCluster
from tests.kraft.memory_term import NAME, Here
from tests.kraft.unsteady import LAGS_S
from tests.tables import for_each

ENDED, IN_FLIGHT = (1, 3), (1, 3, 2)


class _Lagging(MemoryCluster):
    """down   until then no broker answers
    slow_s   how long a broker takes for the next look at everything
    until    until then they show the replicas that NAME had while it moved
    """

    down = until = float("-inf")
    slow_s = 0.0

    async def look(self, topics: Collection[str] | None = None) -> Look:
        if asyncio.get_running_loop().time() < self.down:
            raise LookFailed("no broker answers")
        if topics is None:
            slow_s, self.slow_s = self.slow_s, 0.0
            await asyncio.sleep(slow_s)
        look = await super().look(topics)
        if asyncio.get_running_loop().time() < self.until and (topic := look.topics.get(NAME.topic)) is not None:
            shown = replace(topic.partitions[NAME.partition], replicas=IN_FLIGHT)
            topic = topic._replace(partitions={**topic.partitions, NAME.partition: shown})
            look = look._replace(topics={**look.topics, NAME.topic: topic})
        return look


@for_each("down_s, slow_s", [(0.0, 0.0), (0.5, 0.0), (0.0, 2.0)])
def test_kr_6_what_a_broker_that_lags_shows_after_a_take_over_is_not_taken_for_the_original_replicas(
    down_s: float, slow_s: float
) -> None:
    """The move before had just ended. What waits, and what a client asks for, is decided once that has been shown, also
    where the first look comes late."""

    async def passes() -> None:
        here = Here()
        here.cluster = cluster = _Lagging({NAME: KRaftPartition(1, 2)}, (1, 2, 3, 4))
        async with here.term(InFlightCaps(per_cluster=0), LookPace()):
            assert await here.asked_by_api(NAME, (4, 2), queue=True) is None
        cluster.partitions[NAME].at = SeenPartition(ENDED)
        now = asyncio.get_running_loop().time()
        cluster.down, cluster.slow_s, cluster.until = now + down_s, slow_s, now + down_s + slow_s + LAGS_S
        async with here.term(pace=LookPace()):
            while not cluster.partitions[NAME].at.is_moving:
                await asyncio.sleep(0.1)
        assert here.log.replayed().moves[NAME].original == ENDED

    virtual_time.run(passes())


def test_kr_6_a_request_about_partitions_that_others_change_each_second_is_answered_soon() -> None:
    """All is read again for it, and what it is decided on is not waited for each time."""

    async def passes() -> None:
        here, names = Here(), [TopicPartition("t", index) for index in range(20)]
        here.cluster = cluster = MemoryCluster({name: KRaftPartition(1, 2) for name in names}, (1, 2, 3, 4))

        async def others() -> None:
            for name in itertools.cycle(names):
                if not cluster.partitions[name].at.is_moving:
                    added = 3 if 3 not in cluster.partitions[name].at.replicas else 4
                    cluster.partitions[name].at = SeenPartition((1, added))
                await asyncio.sleep(1.0)

        async with here.term(pace=LookPace()):
            await asyncio.sleep(3.0)
            changing = asyncio.create_task(others())
            await asyncio.sleep(1.3)
            async with asyncio.timeout(5):
                assert set((await here.answers(names, (2, 4, 1))).values()) == {None}
            await end(changing)

    virtual_time.run(passes())
