"""Topics that a fleet creates at its start, and the size of their replicas from creation on.

Each size is in `/simulated_fleet/$topic`, written before the topic is created. So every process of a fleet knows it
when one of its brokers gets a new partition.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicationFactor, TopicAlreadyExists
from kafka_reassign_rpc.fleet.controller_connection import ControllerConnection
from kafka_reassign_rpc.fleet.fleet_config import SeedTopic
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_number
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NotSent, TransactionFailed, ZkError

log = logging.getLogger(__name__)

ROOT = "/simulated_fleet"
TIMEOUT_S = 60.0
AGAIN_S = 0.2
_RETRIABLE = frozenset({-1, 7, 41})
"""Transient errors of CreateTopics, during a controller failover."""


class SeedError(Exception): ...


class SeedSizes:
    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk
        self._sizes: dict[str, int] = {}

    def size(self, topic: str) -> int:
        """0 if no size is known."""
        return self._sizes.get(topic, 0)

    def set(self, topic: SeedTopic) -> None:
        self._sizes[topic.name] = topic.size

    async def look_up(self, topics: Iterable[str]) -> None:
        unknown = [topic for topic in topics if topic not in self._sizes]
        if not unknown:
            return
        try:
            await self._zk.sync(ROOT)
            for topic, found in zip(unknown, await self._zk.multi_get([_path(t) for t in unknown]), strict=True):
                if found is not None:
                    with suppress(BadZnode):
                        self._sizes[topic] = decode_number(found[0], 2**63 - 1, _path(topic))
        except ZkError as error:
            log.warning("the sizes of new topics cannot be read, so they start empty: %s", error)


class TopicSeeder:
    """Creates topics, once: through the controller if there is one, else in ZooKeeper as a broker does."""

    def __init__(self, zk: ZooKeeper, link: ControllerConnection, knows_controller: Callable[[], bool]) -> None:
        self._zk = zk
        self._link = link
        self._knows_controller = knows_controller

    async def create(self, topics: Sequence[SeedTopic], sizes: SeedSizes) -> None:
        """Creates the missing topics. Raises SeedError, ZkError."""
        for topic in topics:
            sizes.set(topic)
            await self._zk.ensure_path(ROOT)
            with suppress(NodeExists):
                await self._zk.create(_path(topic.name), b"%d" % topic.size)
        missing = list(topics)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while missing := await self._missing(missing):
                    if await self._zk.exists(znode_paths.CONTROLLER) is None:
                        await self._write(missing[0])
                    elif self._knows_controller():
                        await self._ask(missing)
                    else:
                        await asyncio.sleep(AGAIN_S)
        except TimeoutError:
            names = ", ".join(topic.name for topic in missing)
            raise SeedError(f"no controller created {names} within {TIMEOUT_S:g} s") from None

    async def _missing(self, topics: Sequence[SeedTopic]) -> list[SeedTopic]:
        found = await self._zk.multi_get([znode_paths.topic(topic.name) for topic in topics])
        return [topic for topic, read in zip(topics, found, strict=True) if read is None]

    async def _ask(self, topics: Sequence[SeedTopic]) -> None:
        def build(version: int) -> CreateTopicsRequest:
            return CreateTopicsRequest(
                version=version,
                timeout_ms=30_000,
                validate_only=False,
                topics=[
                    CreateTopicsRequest.CreatableTopic(
                        version=version,
                        name=topic.name,
                        num_partitions=topic.partitions,
                        replication_factor=topic.replication_factor,
                        assignments=[],
                        configs=[],
                    )
                    for topic in topics
                ],
            )

        answer = await self._link.call(
            CreateTopicsRequest, build, lambda found: [topic.error_code for topic in found.topics]
        )
        for result in answer.topics:
            if result.error_code in {TopicAlreadyExists.code, 0}:
                continue
            if result.error_code not in _RETRIABLE:
                raise SeedError(f"topic {result.name}: error {result.error_code}: {result.error_message}")
            await asyncio.sleep(AGAIN_S)

    async def _write(self, topic: SeedTopic) -> None:
        """As AdminZkClient.createTopic; a controller then takes the topic up."""
        names = await self._zk.children(znode_paths.BROKER_IDS)
        brokers: dict[int, str | None] = {}
        for name, found in zip(
            names, await self._zk.multi_get([f"{znode_paths.BROKER_IDS}/{name}" for name in names]), strict=True
        ):
            if found is not None:
                with suppress(BadZnode):
                    broker = znode_contents.decode_broker(found[0], f"{znode_paths.BROKER_IDS}/{name}", 0)
                    brokers[broker.id] = broker.rack
        assignment = spread(brokers, topic.partitions, topic.replication_factor)
        data = topic_znodes.encode_topic(
            uuid.uuid4(), {index: topic_znodes.Assignment(replicas) for index, replicas in enumerate(assignment)}
        )
        config = znode_paths.config_topic(topic.name)
        try:
            if await self._zk.exists(config) is None:
                await self._zk.create(config, znode_contents.encode_config({}))
            await self._zk.create(znode_paths.topic(topic.name), data)
        except (NodeExists, TransactionFailed):
            log.info("topic %s: another process created it", topic.name)
        except NotSent:
            await asyncio.sleep(AGAIN_S)


def spread(brokers: Mapping[int, str | None], partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
    """Replica sets in turn over all brokers, with neighbours in different racks. Raises SeedError if there are fewer
    brokers than replicas."""
    if len(brokers) < replication_factor:
        raise SeedError(f"{InvalidReplicationFactor.default_message} ({replication_factor} of {len(brokers)})")
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(brokers):
        by_rack.setdefault(brokers[broker] or "", []).append(broker)
    order = [
        rack[depth]
        for depth in range(max(map(len, by_rack.values())))
        for rack in by_rack.values()
        if depth < len(rack)
    ]
    count = len(order)
    return [
        tuple(order[(first + replica) % count] for replica in range(replication_factor)) for first in range(partitions)
    ]


def _path(topic: str) -> str:
    return f"{ROOT}/{topic}"
