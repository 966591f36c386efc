"""A cluster and a log in memory that take their time, lag and lose answers, by chance. Times are those of the loop."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from random import Random

from msgspec.structs import replace

from kafka_reassign_rpc.client.config_calls import Values
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.kafka_errors import KafkaError, RequestTimedOut, UnknownTopicOrPartition
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.reassignment_algebra import among
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.upstream import Outcome, Told
from tests.core.phases.kraft_model import KRaftPartition, Replicas
from tests.kraft.memory_cluster import LogWriter, MemoryCluster, MemoryLog

LAGS_S = 0.9 * LookPace().moving
"""A broker that lives has by the second of two looks what the controller had at the first."""


def loop_s() -> float:
    return asyncio.get_running_loop().time()


class Dated(KRaftPartition):
    """`since`: when each of the `history` began."""

    def __init__(self, *replicas: int) -> None:
        super().__init__(*replicas)
        self.since = [0.0]

    def _put(self, at: SeenPartition) -> None:
        super()._put(at)
        self.since.append(loop_s())

    def replicas_at(self, at: float) -> Replicas:
        return self._since(at)[0]

    def had(self, replicas: Replicas, since: float) -> bool:
        """At some time: a broker that lags may show it as the present."""
        return replicas in self._since(since)

    def _since(self, at: float) -> list[Replicas]:
        later = sum(since > at for since in self.since)
        return [seen.replicas for seen in self.history[-later - 1 :]]


class Unsteady(MemoryCluster):
    """`chance`: None: nothing of it. `loses`: this share of answers to changes, half of them with what was asked."""

    def __init__(self, brokers: Collection[int], chance: Random) -> None:
        super().__init__({}, brokers)
        self.dated: dict[TopicPartition, Dated] = {}
        self.partitions = self.dated  # type: ignore[assignment]
        self.chance: Random | None = chance
        self.loses = 0.0
        self.cordoned: frozenset[int] = frozenset()
        """No target may name one of these, as from 4.4 on."""

    async def look(self, topics: Collection[str] | None = None) -> Look:
        await self._a_while()
        found = await super().look(topics)
        found = found._replace(kraft=replace(found.kraft, no_cordoned_target=True))
        if self.chance and self.chance.random() < 0.5:
            found = self._as_it_was(found, loop_s() - self.chance.uniform(0, LAGS_S))
        await self._a_while()
        return found

    def _as_it_was(self, look: Look, at: float) -> Look:
        """What moves, the controller itself says."""
        topics = dict(look.topics)
        for topic, looked in look.topics.items():
            shown = dict(looked.partitions)
            for index, info in looked.partitions.items():
                if not (dated := self.dated[TopicPartition(topic, index)]).at.is_moving:
                    replicas = dated.replicas_at(at)
                    shown[index] = replace(info, replicas=replicas, isr=among(info.isr, replicas) or replicas)
            topics[topic] = looked._replace(partitions=shown)
        return look._replace(topics=topics)

    async def altered(self, targets: Mapping[TopicPartition, Replicas | None]) -> dict[TopicPartition, Outcome]:
        await self._a_while()
        lost = dict.fromkeys(targets, Outcome(Told.UNKNOWN, RequestTimedOut()))
        if self._loses():
            return lost
        known = {name: target for name, target in targets.items() if name in self.partitions}
        for name in known:
            self.partitions[name].cordoned = self.cordoned
        found = dict.fromkeys(targets, Outcome(Told.REFUSED, UnknownTopicOrPartition())) | await super().altered(known)
        await self._a_while()
        return lost if self._loses() else found

    async def change_configs(self, changes: Mapping[Entity, Values]) -> dict[Entity, KafkaError | None]:
        await self._a_while()
        self.fails = int(self._loses())
        return await super().change_configs(changes)

    def _loses(self) -> bool:
        return self.chance is not None and self.chance.random() < self.loses / 2

    async def _a_while(self) -> None:
        await asyncio.sleep(self.chance.choice((0, 0.005, 0.02, 0.1)) if self.chance else 0)


class UnsteadyWriter(LogWriter):
    """Its process may die at a commit."""

    def __init__(self, log: MemoryLog, chance: Random) -> None:
        super().__init__(log)
        self._chance = chance
        self.lives = chance.choice((None, None, chance.randrange(1, 30)))

    async def commit(self, payloads: Sequence[bytes]) -> int:
        await asyncio.sleep(self._chance.choice((0, 0.005, 0.02)))
        self.snapshot_is_due |= self._chance.random() < 0.05
        offset = await super().commit(payloads)
        await asyncio.sleep(self._chance.choice((0, 0.005)))
        return offset
