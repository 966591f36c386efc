"""The stores under test, each with what may happen to it."""

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple, Protocol

import pytest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.store import Entity, Store, StoredProblem
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import ZooKeeperStore
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import topic_writes
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import SERVER, TOPIC_ID, DyingZooKeeper, put_topic, register
from tests.controller.store.memory_store import Configs, Log, MemoryStore
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import LogWriter, MemoryCluster, MemoryLog, elected

BROKERS = (1, 2, 3, 4)


class Elected(NamedTuple):
    """A controller that has just been elected: its store, and the cluster that it has loaded. `faults` has the fields
    `lives` and `loses` of `DyingZooKeeper`, `MemoryStore` and `LogWriter`."""

    store: Store
    cluster: Cluster
    faults: DyingZooKeeper | MemoryStore | LogWriter


class World(Protocol):
    """One store with brokers 1 to 4 and these topics, all replicas in sync. The methods do what others do.

    leads   the store keeps leaders and ISRs; otherwise they are the cluster's, and stay as they were seen
    """

    leads: bool

    async def elect(self) -> Elected: ...

    async def give_replicas(self, name: TopicPartition, replicas: tuple[int, ...]) -> None: ...

    async def set_configs(self, entity: Entity, configs: Mapping[str, str]) -> None: ...


class WholeWorld(World, Protocol):
    """One in which the controller keeps topics too, and others write its queue. In front of KRaft topics are the
    cluster's own, and so is the room that they have; only the server writes a queue in the state log."""

    async def break_queue(self) -> None:
        """Put into the queue what cannot be understood."""
        ...

    def allow(self, most: int) -> None:
        """From now on a topic has room for this many bytes."""
        ...


Topics = Mapping[str, Mapping[int, tuple[int, ...]]]


class ZooKeeperWorld:
    """ZooKeeper's store on a real ZooKeeper; every write is a transaction of its own."""

    leads = True

    def __init__(self, zk: ZooKeeper, connect: str, sessions: AsyncExitStack, patch: pytest.MonkeyPatch) -> None:
        self._zk = zk
        self._connect = connect
        self._sessions = sessions
        self._patch = patch
        patch.setattr(transactions, "MAX_OPERATIONS", 1)

    async def elect(self) -> Elected:
        zk = await self._sessions.enter_async_context(DyingZooKeeper(self._connect))
        current = await controller_election.owner(zk)
        leadership = await controller_election.campaign(
            zk, SERVER, (), lambda: time.time_ns() // 1_000_000, seize=current
        )
        assert leadership is not None
        store = ZooKeeperStore(zk, leadership)
        return Elected(store, (await store.load()).cluster, zk)

    async def give_replicas(self, name: TopicPartition, replicas: tuple[int, ...]) -> None:
        path = znode_paths.topic(name.topic)
        content = json.loads((await self._zk.get(path))[0])
        content["partitions"][str(name.partition)] = replicas
        await self._zk.set(path, json.dumps(content).encode())

    async def set_configs(self, entity: Entity, configs: Mapping[str, str]) -> None:
        await ConfigStore(self._zk).alter(*entity, lambda _: configs)

    async def break_queue(self) -> None:
        await self._zk.create(znode_paths.REASSIGN_QUEUE, b"{")

    def allow(self, most: int) -> None:
        self._patch.setattr(transactions, "MAX_STEP_BYTES", most)


@asynccontextmanager
async def zookeeper_world(
    zk: ZooKeeper, connect: str, topics: Topics, patch: pytest.MonkeyPatch
) -> AsyncIterator[ZooKeeperWorld]:
    await register(zk, *BROKERS)
    for name, partitions in topics.items():
        await put_topic(zk, name, partitions, topic_id=None)
    async with AsyncExitStack() as sessions:
        yield ZooKeeperWorld(zk, connect, sessions, patch)


class MemoryWorld:
    """The store in memory."""

    leads = True

    def __init__(self, topics: Topics) -> None:
        cluster = Cluster(
            brokers={
                one: Broker(one, 1, (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9000 + one),)) for one in BROKERS
            }
        )
        self._log = Log(cluster)
        for name, partitions in topics.items():
            values = {
                index: Partition(of, leader=of[0], isr=of, leader_epoch=3, partition_epoch=0, created=1)
                for index, of in partitions.items()
            }
            topic_writes.put_topic(cluster, name, TOPIC_ID if len(topics) == 1 else None, values, version=0, created=1)

    async def elect(self) -> Elected:
        store = MemoryStore(self._log)
        return Elected(store, (await store.load()).cluster, store)

    async def give_replicas(self, name: TopicPartition, replicas: tuple[int, ...]) -> None:
        self._log.others(name, replicas)

    async def set_configs(self, entity: Entity, configs: Mapping[str, str]) -> None:
        known = self._log.configs.get(entity)
        memory = None if known is None else known.memory
        self._log.configs[entity] = Configs(self._log.next_number(), configs, memory)

    async def break_queue(self) -> None:
        number = self._log.next_number()
        self._log.problems.append(StoredProblem("the log", f"nothing of record {number} is understood"))

    def allow(self, most: int) -> None:
        self._log.limit = most


class KRaftWorld:
    """The store in front of a KRaft cluster, with both its cluster and its state log in memory."""

    leads = False

    def __init__(self, topics: Topics) -> None:
        self._log = MemoryLog()
        names = {TopicPartition(name, index): of for name, some in topics.items() for index, of in some.items()}
        self.cluster = MemoryCluster({name: KRaftPartition(*of) for name, of in names.items()}, BROKERS)

    async def elect(self) -> Elected:
        store, writer, _ = elected(self._log, self.cluster)
        return Elected(store, (await store.load()).cluster, writer)

    async def give_replicas(self, name: TopicPartition, replicas: tuple[int, ...]) -> None:
        self.cluster.partitions[name] = KRaftPartition(*replicas)

    async def set_configs(self, entity: Entity, configs: Mapping[str, str]) -> None:
        self.cluster.of_configs[entity] = dict(configs)
