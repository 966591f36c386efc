"""kr-6: looks wait while the cluster is told of moves."""

import asyncio
from collections.abc import Mapping

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.upstream.outcomes import Heard, Outcome
from tests.kraft.memory_cluster import MemoryCluster
from tests.kraft.test_term import NAME, Here
from tests.tables import for_each
from tests.waiting import eventually


class Slow(MemoryCluster):
    """It takes an Alter once it `goes_on`."""

    goes_on: asyncio.Event

    async def alter(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], heard: Heard
    ) -> dict[TopicPartition, Outcome]:
        await self.goes_on.wait()
        return await super().alter(targets, heard)


async def _looks_later(cluster: MemoryCluster) -> int:
    for _ in range(300):
        await asyncio.sleep(0)
    return cluster.looks


@for_each("at_rest_s", [60.0, 0.0])
async def test_kr_6_the_cluster_is_not_looked_at_while_it_is_told_unless_it_takes_too_long(at_rest_s: float) -> None:
    here = Here()
    cluster = here.cluster = Slow(here.cluster.partitions, here.cluster.brokers)
    cluster.goes_on = asyncio.Event()
    async with here.term(pace=LookPace(0.0, at_rest_s)):
        await here.ask(NAME, (3, 2))
        before = await _looks_later(cluster)  # the one that was under way is over by then
        assert (await _looks_later(cluster) > before) is (at_rest_s == 0.0)
        cluster.goes_on.set()
        before = cluster.looks
        await eventually(lambda: cluster.looks > before)
