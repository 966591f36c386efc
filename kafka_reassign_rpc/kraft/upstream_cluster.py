"""The cluster as the store and the looks want it, seen and told by `upstream`."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC, Config, Resource, Values
from kafka_reassign_rpc.client.kraft_calls import RegisteredBroker
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS
from kafka_reassign_rpc.core.kafka_errors import (
    BrokerNotAvailable,
    KafkaError,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint, KRaftFacts
from kafka_reassign_rpc.core.state.partition import topic_id_of
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.leased_configs import SETTLES_S
from kafka_reassign_rpc.kraft.ports import Look, LookedTopic, LookFailed
from kafka_reassign_rpc.kraft.upstream import Heard, Outcome, Seen, Told, Upstream, Wanted
from kafka_reassign_rpc.support.turns import Pace

ALL_CONFIGS_S = 30.0
"""The configs of all topics are read so often; in between, those of topics that move."""
RELEASE_S = 60.0
"""How often to see which release brokers have."""
NO_EPOCH = -1
"""Brokers tell nobody theirs."""
UNTOLD = "broker {} is down, and nobody else tells them"
STAYS = "broker {} is down, so its rates stay as they are until it is back: {}"
NO_CONTROLLERS = "no controllers are given that would change them (bootstrap.controller)"
REFUSED_S = 60.0
"""So long a change of configs that controllers have not taken is not tried again: moves do not wait for it."""


class _Stays(NamedTuple):
    """Why controllers have not changed the configs of a dead broker, and when they are asked again."""

    why: str
    until: float


class UpstreamCluster:
    """A `kraft.ports.KRaftCluster`. `protocol`: the security protocol of the brokers' listener."""

    def __init__(self, upstream: Upstream, protocol: str) -> None:
        self._upstream = upstream
        self._protocol = protocol
        self._all_topics: list[str] = []
        self._moving_topics: set[str] = set()
        self._brokers: list[int] = []
        """By the last look at everything: what to ask for in the next."""
        self._configs_at = float("-inf")
        self._refuses, self._release_at = False, float("-inf")
        self._told: dict[Entity, Mapping[str, str]] = {}
        """Configs of brokers as they were told last, or changed since."""
        self._changed_at: dict[Entity, float] = {}
        """When those of a broker were changed here, by the loop's clock."""
        self._counts_from = float("-inf")
        """Answers to what was asked before are of a former term."""
        self._stay: dict[Entity, _Stays] = {}
        self.cluster_id = ""
        self.brokers: Mapping[int, Broker] = {}
        """As the last look has found them."""

    async def look(self, topics: Collection[str] | None = None) -> Look:
        if topics is not None:
            return await self._look(Wanted(topics))
        now = asyncio.get_running_loop().time()
        if not self._brokers:  # the first one says whose configs there are to read
            self._learn(await self._look(Wanted(None)))
        reads_all = now - self._configs_at >= ALL_CONFIGS_S
        names = self._all_topics if reads_all else self._moving_topics
        look = await self._look(Wanted(None, topic_configs=list(names), broker_configs=self._brokers))
        self._learn(look)
        if reads_all:
            self._configs_at = now
        return look

    def forget_configs(self) -> None:
        """Other servers may have changed them since: what was told in a former term does not count."""
        self._told, self._changed_at, self._stay = {}, {}, {}
        self._configs_at, self._counts_from = float("-inf"), asyncio.get_running_loop().time()

    def _learn(self, look: Look) -> None:
        self._all_topics, self._brokers = list(look.topics), list(look.brokers)
        self._moving_topics = {name.topic for name in look.moves}

    async def assignments(self, topics: Collection[str], *, up_to_date: bool = False) -> Look:
        moves, told = await self._upstream.assignments(topics, up_to_date=up_to_date)
        for part in (moves, told):
            if isinstance(part, KafkaError):
                raise LookFailed(part.message)
        assert not isinstance(moves, KafkaError)
        assert not isinstance(told, KafkaError)
        return Look({}, await _topics(told), moves)

    async def _look(self, wanted: Wanted) -> Look:
        """Raises LookFailed."""
        seen = await self._upstream.look(wanted)
        self.cluster_id = seen.cluster_id or self.cluster_id
        for part in (seen.brokers, seen.topics, seen.moves):
            if isinstance(part, KafkaError):
                raise LookFailed(part.message)
        return await self._as_look(seen)

    async def _as_look(self, seen: Seen) -> Look:
        assert not isinstance(seen.brokers, KafkaError)
        assert not isinstance(seen.topics, KafkaError)
        assert not isinstance(seen.moves, KafkaError)
        configs = {
            _entity(one): _values(found) for one, found in seen.configs.items() if not isinstance(found, KafkaError)
        }
        for broker, asked_at in seen.asked_at.items():
            if (entity := _entity(broker)) in configs:
                self._learn_configs(entity, configs[entity], asked_at)
        brokers = {one: self._broker(told) for one, told in seen.brokers.items() if not told.fenced}
        self.brokers = brokers
        facts = KRaftFacts(
            fenced=frozenset(one for one, told in seen.brokers.items() if told.fenced),
            eligible={} if isinstance(seen.eligible, KafkaError) else seen.eligible,
            no_cordoned_target=await self._refuses_cordoned(brokers),
        )
        errors = {name: found.error for name, found in seen.topics.items() if found.error is not None}
        absent = frozenset(name for name, error in errors.items() if isinstance(error, UnknownTopicOrPartition))
        return Look(brokers, await _topics(seen.topics), seen.moves, configs, facts, absent)

    async def _refuses_cordoned(self, brokers: Iterable[int]) -> bool:
        """As one broker's release says; a cluster that is upgraded has others, too."""
        now = asyncio.get_running_loop().time()
        if now - self._release_at >= RELEASE_S:
            for broker in brokers:
                with suppress(KafkaError):
                    self._refuses = await self._upstream.refuses_cordoned_targets(broker)
                    self._release_at = now
                    break
        return self._refuses

    def _broker(self, told: RegisteredBroker) -> Broker:
        node = told.node
        endpoint = Endpoint(self._protocol, self._protocol, node.host, node.port)
        return Broker(node.id, NO_EPOCH, (endpoint,), node.rack)

    async def alter(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], heard: Heard
    ) -> Mapping[TopicPartition, Outcome]:
        return await self._upstream.alter(targets, heard)

    async def configs(self, entities: Sequence[Entity]) -> Mapping[Entity, Mapping[str, str] | KafkaError]:
        dead = {one for one in entities if self._is_dead(one)}
        asked_at = asyncio.get_running_loop().time()
        found = await self._upstream.configs(_resource(one) for one in entities if one not in dead)
        told = {_entity(one): some if isinstance(some, KafkaError) else _values(some) for one, some in found.items()}
        for one, some in told.items():
            if _broker_of(one) is not None and not isinstance(some, KafkaError):
                self._learn_configs(one, some, asked_at)
        return told | {one: self._of_dead(one) for one in dead}

    def _learn_configs(self, broker: Entity, configs: Mapping[str, str], asked_at: float) -> None:
        """For a moment after a change a broker may tell what was before; if it dies then, that must not count as a
        change by others.
        """
        if asked_at >= max(self._counts_from, self._changed_at.get(broker, float("-inf")) + SETTLES_S):
            self._told[broker] = configs

    def _is_dead(self, entity: Entity) -> bool:
        broker = _broker_of(entity)
        return broker is not None and bool(self.brokers) and broker not in self.brokers

    def _of_dead(self, entity: Entity) -> Mapping[str, str] | KafkaError:
        """What was told last: controllers change these configs, and refuse to describe them."""
        stays = self._stay.get(entity)
        if stays is not None and asyncio.get_running_loop().time() < stays.until:
            return KafkaError(STAYS.format(entity.name, stays.why))
        if not self._upstream.knows_controllers:
            return KafkaError(STAYS.format(entity.name, NO_CONTROLLERS))
        told = self._told.get(entity)
        return BrokerNotAvailable(UNTOLD.format(entity.name)) if told is None else told

    async def change_configs(self, changes: Mapping[Entity, Values]) -> Mapping[Entity, KafkaError | None]:
        outcomes = await self._upstream.change_configs({_resource(one): some for one, some in changes.items()})
        told = {_entity(one): _error(outcome) for one, outcome in outcomes.items()}
        now = asyncio.get_running_loop().time()
        for one, error in told.items():
            if error is not None and self._is_dead(one):
                self._stay[one] = _Stays(f"{error.name}: {str(error).rstrip('.')}", now + REFUSED_S)
            elif error is None and _broker_of(one) is not None:
                self._changed_at[one] = now
                if one in self._told:
                    self._told[one] = _changed(self._told[one], changes[one])
        return told


async def _topics(told: Mapping[str, TopicInfo]) -> dict[str, LookedTopic]:
    topics, pace = {}, Pace()
    for name, found in told.items():
        if found.error is None:
            topics[name] = _looked(found)
        await pace.rest()
    return topics


def _looked(found: TopicInfo) -> LookedTopic:
    topic_id: UUID | None = topic_id_of(found.topic_id) if found.topic_id else None
    return LookedTopic(topic_id, found.partitions)


def _error(outcome: Outcome) -> KafkaError | None:
    return None if outcome.told is Told.DONE else outcome.error or UnknownServerError()


def _values(configs: Iterable[Config]) -> dict[str, str]:
    """Secrets have no value that anybody may read."""
    return {one.name: one.value for one in configs if one.value is not None}


def _changed(configs: Mapping[str, str], values: Values) -> dict[str, str]:
    """Those of a broker: they have no lists that change by entries."""
    kept = {name: value for name, value in configs.items() if name not in values}
    return kept | {name: value for name, value in values.items() if isinstance(value, str)}


def _broker_of(entity: Entity) -> int | None:
    return int(entity.name) if entity.kind == BROKERS and entity.name != DEFAULT else None


def _resource(entity: Entity) -> Resource:
    if entity.kind == TOPICS:
        return TOPIC, entity.name
    return BROKER, "" if entity.name == DEFAULT else entity.name


def _entity(resource: Resource) -> Entity:
    kind, name = resource
    return Entity(TOPICS, name) if kind == TOPIC else Entity(BROKERS, name or DEFAULT)
