"""A controller that looks after lost brokers, with a clock that the test holds."""

import json
from collections.abc import Awaitable, Callable, Mapping

from kafka_reassign_rpc.controller.commands import cluster_commands
from kafka_reassign_rpc.controller.duties.progress_sampling import Sample
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.controller.loading.load_cluster import read_cluster
from kafka_reassign_rpc.core.healing.healing_settings import Healing
from kafka_reassign_rpc.core.throttling.observed_throughput import ObservedThroughput
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.rig import Name, Replicas, Rig, put_topic, register

MINUTE = 60_000
ON = Healing(interval_ms=MINUTE)
WHERE: Mapping[Name, Replicas] = {("a", 0): (3, 1), ("a", 1): (1, 2), ("b", 0): (2, 3), ("b", 1): (4, 3)}
"""Broker 3 is the one that is lost."""


class Carer:
    """A controller's healer, and the time as the test has it."""

    def __init__(self, rig: Rig, settings: Healing = ON, now: int = 0) -> None:
        self.rig = rig
        self.now = now
        self.samples = 0
        self.sample = Sample({}, {})
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.links = ObservedThroughput()
        self.healer = Healer(rig.loop, settings, lambda: self.now, self._sample, self.links)

    async def _sample(self) -> Sample:
        self.samples += 1
        if self.meanwhile is not None:
            await self.meanwhile()
        return self.sample

    async def turn(self, *, passes: int = 0) -> float | None:
        self.now += passes
        return await self.healer.turn()

    async def turns(self) -> None:
        """One that notes who is lost, one when the interval is over, and what waits is taken up."""
        await self.turn()
        await self.turn(passes=MINUTE)
        await self.rig.look_at_queue()

    async def brokers_seen(self) -> None:
        registered = (await read_cluster(self.rig.zk)).cluster.brokers
        await self.rig.loop.submit(cluster_commands.BrokersRead(registered, lambda: None))

    def said(self) -> list[tuple[str, str | None]]:
        found = [(one.event, one.reason) for one in self.rig.events if one.event.startswith("heal.")]
        self.rig.events.clear()
        return found


async def put(
    zk: ZooKeeper,
    where: Mapping[Name, Replicas] = WHERE,
    brokers: Replicas = (1, 2, 4, 5),
    racks: Mapping[int, str | None] | None = None,
) -> None:
    await register(zk, *(racks or brokers), racks=racks)
    for topic in {topic for topic, _ in where}:
        await put_topic(zk, topic, {index: found for (name, index), found in where.items() if name == topic})


def standing(rig: Rig) -> dict[Name, Replicas]:
    return {(topic, index): value.target for topic, index, value in rig.cluster.all_partitions()}


def queued(rig: Rig) -> dict[Name, Replicas]:
    topics = rig.cluster.queue.topics
    return {(name, index): place.move.target for name, places in topics.items() for index, place in places.items()}


async def failed(zk: ZooKeeper) -> list[str]:
    return sorted(await zk.children(znode_paths.FAILED_BROKERS))


async def failed_since(zk: ZooKeeper) -> dict[int, int]:
    found = {name: (await zk.get(znode_paths.failed_broker(int(name))))[0] for name in await failed(zk)}
    return {int(name): json.loads(data)["timestamp"] for name, data in found.items()}
