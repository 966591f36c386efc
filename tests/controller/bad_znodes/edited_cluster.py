"""A small cluster whose znodes somebody edits: what the steps of random histories draw, read and write."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.replica_table import SimulatedReplica
from tests.controller.cluster import Cluster

BROKERS = (1, 2, 3, 4)
TOPICS = ("t", "u")
ASSIGNMENT = {0: (1, 2), 1: (2, 3)}
SIZE = 200_000

Step = Callable[["EditedCluster"], Awaitable[str]]
"""Something happens to the cluster, and it says to what. It may raise what is in `random_edits.IN_THE_WAY`."""


class EditedCluster:
    def __init__(self, world: Cluster) -> None:
        self.world = world
        self.zk = world.zk
        self.chance = Random()
        """What the current step draws from."""
        self.undo: list[Callable[[], Awaitable[object]]] = []
        """What brings back what the cluster cannot do without, the last harm first."""
        self.away: set[int] = set()
        """The brokers that are dead."""
        self.first_states: dict[TopicPartition, bytes] = {}
        """What has once been in a partition's state, as an operator kept it."""

    def topic(self) -> str:
        return self.chance.choice(TOPICS)

    def partition(self) -> TopicPartition:
        return TopicPartition(self.topic(), self.chance.choice([*ASSIGNMENT]))

    def broker(self) -> int:
        return self.chance.choice(BROKERS)

    def replicas(self, count: int | None = None) -> tuple[int, ...]:
        return tuple(self.chance.sample(BROKERS, count or self.chance.choice([1, 2, 2, 3])))

    def targets(self) -> dict[tuple[str, int], tuple[int, ...]]:
        return {self.partition(): self.replicas() for _ in range(2)}

    def may(self, probability: float = 0.5) -> bool:
        return self.chance.random() < probability

    async def read(self, path: str) -> dict[str, Any]:
        """Raises NoNode, and ValueError where no JSON is in it."""
        found: dict[str, Any] = json.loads((await self.zk.get(path))[0])
        return found

    async def write(self, path: str, value: object) -> None:
        """Raises NoNode."""
        await self.zk.set(path, json.dumps(value).encode())

    @asynccontextmanager
    async def edited(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """What is in the znode, to be changed and then written."""
        found = await self.read(path)
        yield found
        await self.write(path, found)

    async def spoil(self, path: str, data: bytes) -> None:
        """Write what cannot be read. In the end what was there is written back."""
        before = (await self.zk.get(path))[0]

        async def repair() -> None:
            await self.zk.set(path, before)

        await self.zk.set(path, data)
        self.undo.append(repair)

    async def start_broker(self) -> int:
        """Raises ValueError where none is away."""
        broker = min(self.away)
        await self.world.start_broker(broker)
        self.away.remove(broker)
        return broker

    async def take_over(self) -> None:
        await self.world.stop_server()
        await self.world.start_server()

    async def has_created(self, topic: str, assignment: Mapping[int, Sequence[int]] = ASSIGNMENT) -> bool:
        """Always. Raises AssertionError while the name is not free."""
        await self.world.create_topic(topic, assignment)
        return True

    def replica(self, broker: int, name: TopicPartition) -> SimulatedReplica | None:
        """None: the broker knows of none."""
        return self.world.fleets[broker].brokers[broker]._table.online.get(name)
