"""A controller with self-healing, and a clock that the test sets."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping

from kafka_reassign_rpc.controller.commands import cluster_commands
from kafka_reassign_rpc.controller.duties.progress_sampling import Sample
from kafka_reassign_rpc.controller.duties.self_healing import Healer
from kafka_reassign_rpc.controller.loading.load_cluster import read_cluster
from kafka_reassign_rpc.core.healing.failed_brokers import DescribedLogDirs
from kafka_reassign_rpc.core.reassignment.remaining_time import ObservedThroughput
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.core.state.requesters import client
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered, SettingsFound
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import SERVER, BareController, Name, Replicas, put_topic, register

MINUTE = 60_000
ON = HealingSettings(interval_ms=MINUTE)
REQUIRED = HealingSettings(interval_ms=MINUTE, approval="required")
ALICE = client("User:alice", "ops", "10.0.0.7")
WHERE: Mapping[Name, Replicas] = {("a", 0): (3, 1), ("a", 1): (1, 2), ("b", 0): (2, 3), ("b", 1): (4, 3)}
"""Broker 3 is the failed one."""


class HealingController:
    """A controller's healer. `now` is its clock, in ms."""

    def __init__(self, controller: BareController, settings: HealingSettings = ON, now: int = 0) -> None:
        self.controller = controller
        self.now = now
        self.samples = 0
        self.failed_dirs: dict[int, tuple[str, ...]] = {}
        self.sample = Sample({}, {})
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.throughput = ObservedThroughput()
        controller.start_with(healing=settings)
        self.healer = Healer(controller.loop, lambda: self.now, self._sample, self.throughput, self._ask)

    async def _ask(self, brokers: Collection[int]) -> Mapping[int, DescribedLogDirs]:
        registered = self.controller.cluster.brokers
        return {
            id_: DescribedLogDirs(registered[id_].epoch, self.failed_dirs.get(id_))
            for id_ in brokers
            if id_ in registered
        }

    async def _sample(self) -> Sample:
        self.samples += 1
        if self.meanwhile is not None:
            await self.meanwhile()
        return self.sample

    async def diagnose(self, *, after_ms: int = 0) -> float | None:
        self.now += after_ms
        return await self.healer.diagnose_and_heal()

    async def heal_when_due(self) -> None:
        """Diagnose, diagnose again when the interval is over, and start the queued moves."""
        await self.diagnose()
        await self.diagnose(after_ms=MINUTE)
        await self.controller.start_queued_moves()

    async def configure(self, **configs: str) -> None:
        """The cluster's dynamic configs, with underscores for their dots."""
        named = {name.replace("_", "."): value for name, value in configs.items()}
        await self.controller.loop.submit(cluster_commands.ConfigsRead("brokers", {"<default>": named}))

    async def cordon(self, brokers: str) -> None:
        """As the watch of the settings does it."""
        found = SettingsFound({CORDONED_BROKERS: brokers}, "", {})
        await self.controller.loop.submit(cluster_commands.Reported(found))

    async def read_brokers(self) -> None:
        registered = (await read_cluster(self.controller.zk)).cluster.brokers
        await self.controller.loop.submit(
            cluster_commands.BrokersRead(BrokersRegistered(registered), SERVER, lambda: None)
        )

    def new_events(self) -> list[tuple[str, str | None]]:
        found = [(one.event, one.reason) for one in self.controller.events if one.event.startswith("heal.")]
        self.controller.events.clear()
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


def targets(controller: BareController) -> dict[Name, Replicas]:
    return {(topic, index): value.target for topic, index, value in controller.cluster.all_partitions()}


def queued(controller: BareController) -> dict[Name, Replicas]:
    topics = controller.cluster.queue.topics
    return {
        (name, index): place.move.terms.target for name, places in topics.items() for index, place in places.items()
    }


async def failed(zk: ZooKeeper) -> list[str]:
    return sorted(await zk.children(znode_paths.FAILED_BROKERS))


async def failed_since(zk: ZooKeeper) -> dict[int, int]:
    found = {name: (await zk.get(znode_paths.failed_broker(int(name))))[0] for name in await failed(zk)}
    return {int(name): json.loads(data)["timestamp"] for name, data in found.items()}
