"""The configs that throttle leases change, at the cluster, and the memory of their former values, in the state log.

The cluster has no compare-and-set of configs: they are read again right before a change, and after it; and lists of
replicas change by their entries, so that those which others add or take in between stay as they have them. What is
remembered is durable before the configs change, with what is remembered afterwards: a server that takes over in between
finds out from the configs which of the two holds.

Controllers change the configs of a dead broker, but do not tell them: what the broker told last counts, or what is
remembered.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from kafka_reassign_rpc.client.config_calls import APPEND, SUBTRACT, ListChange, Values
from kafka_reassign_rpc.controller.store import ConfigWrite, Entity, ReloadNeeded, StoredConfigs
from kafka_reassign_rpc.core.config_values import TOPICS
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.kraft.ports import KRaftCluster
from kafka_reassign_rpc.kraft.round_records import Memory, Remembered, memory_of

Configs = Mapping[str, str]
SETTLES_S = 2.0
"""For so long a broker may answer with the configs from before a change."""


class MemoryLog(Protocol):
    """The part of the store that keeps memories."""

    @property
    def memories(self) -> Mapping[Entity, Remembered]: ...

    async def remember(self, memories: Sequence[Memory]) -> None: ...


class LeasedConfigs:
    """A `controller.store.LeasedConfigStore`."""

    def __init__(self, cluster: KRaftCluster, log: MemoryLog) -> None:
        self._cluster = cluster
        self._log = log
        self._changed: dict[Entity, float] = {}
        """When this server has changed them, in the time of the event loop, unless brokers know it for sure."""
        self._begun: float | None = None
        """When the first ones were read: the server that led before may have changed them a moment earlier."""

    async def remembered(self) -> Iterable[Entity]:
        return list(self._log.memories)

    async def read(self, entities: Sequence[Entity]) -> list[StoredConfigs]:
        found = await self._cluster.configs(entities)
        return [self._stored(entity, found[entity]) for entity in entities]

    def _stored(self, entity: Entity, found: Configs | KafkaError) -> StoredConfigs:
        known = self._log.memories.get(entity)
        found = presumed(found, known)
        if isinstance(found, KafkaError):
            what = f"the configs of {_named(entity)} cannot be read: {found}"
            is_denied = isinstance(found, UnknownTopicOrPartition)
            return StoredConfigs(entity, None, None if known is None else known.memory, what, is_denied=is_denied)
        memory = None if known is None else which(known, found)
        return StoredConfigs(entity, found or None, memory, version=found, is_settled=self._is_settled(entity))

    def _is_settled(self, entity: Entity) -> bool:
        now = asyncio.get_running_loop().time()
        if self._begun is None:
            self._begun = now
        if now - self._changed.get(entity, self._begun) < SETTLES_S:
            return False
        self._changed.pop(entity, None)
        return True

    async def write(self, writes: Sequence[ConfigWrite], *, limited: bool = False) -> int:
        """`limited` makes no difference: the cluster has room for any list."""
        del limited
        changed = [write for write in writes if write.configs != (write.stored.configs or {})]
        former, during, afterwards = [], [], []
        for write in writes:
            entity, before = write.stored.entity, write.stored.memory
            known = self._log.memories.get(entity)
            if write.configs != (write.stored.configs or {}):
                known = Remembered(before or type(write.memory)(), write.memory)
                former.append(memory_of(entity, self._log.memories.get(entity, Remembered(type(write.memory)()))))
                during.append(memory_of(entity, known))
            if known != (Remembered(write.memory) if write.memory else None):
                afterwards.append(memory_of(entity, Remembered(write.memory)))
        await self._log.remember(during)  # it may take seconds
        try:
            await self._check(changed)
        except ReloadNeeded:
            await self._log.remember(former)
            raise
        if changed:
            try:
                await self._change(changed)
            finally:
                now = asyncio.get_running_loop().time()
                self._changed |= {write.stored.entity: now for write in changed}
        await self._log.remember(afterwards)
        return sum(_size(some) for write in changed for some in differences(write))

    async def _check(self, writes: Sequence[ConfigWrite]) -> None:
        """Whether the configs are those that were read."""
        now = await self._cluster.configs([write.stored.entity for write in writes]) if writes else {}
        for write in writes:
            entity = write.stored.entity
            if isinstance(now[entity], BrokerNotAvailable):  # nobody tells them
                continue
            if now[entity] != write.stored.version:
                raise ReloadNeeded(f"somebody else has changed the configs of {_named(entity)}")

    async def _change(self, writes: Sequence[ConfigWrite]) -> None:
        for some in zip(*map(differences, writes), strict=True):
            changes = {write.stored.entity: values for write, values in zip(writes, some, strict=True) if values}
            for entity, error in (await self._cluster.change_configs(changes) if changes else {}).items():
                if error is not None:
                    raise ReloadNeeded(f"the configs of {_named(entity)} may not have changed: {error}")
        now = await self._cluster.configs([write.stored.entity for write in writes])
        for write in writes:
            found = now[write.stored.entity]
            # A broker may answer with what was: that is no change by somebody else.
            if isinstance(found, KafkaError):
                continue
            if found != write.stored.version and _unordered(found) != _unordered(write.configs):
                entity = write.stored.entity
                raise ReloadNeeded(f"somebody else has changed the configs of {_named(entity)}")


def presumed(found: Configs | KafkaError, known: Remembered | None) -> Configs | KafkaError:
    """Of a dead broker that has told this server nothing: the rates that leases have set. Where they may have changed
    or not, those that would have to go."""
    if not isinstance(found, BrokerNotAvailable) or known is None:
        return found
    before, after = known.memory, known.after
    rates: dict[str, str] = {}
    for memory in (before, after):
        if isinstance(memory, BrokerMemory):
            sides = (LEADER_RATE, memory.leader), (FOLLOWER_RATE, memory.follower)
            rates |= {name: one.set for name, one in sides if one is not None and not one.left}
    return rates if isinstance(before, BrokerMemory) else found


def _named(entity: Entity) -> str:
    return f"{'topic' if entity.kind == TOPICS else 'broker'} {entity.name}"


def differences(write: ConfigWrite) -> tuple[Values, Values]:
    """Of two requests, since one names each config once (kafka.server.ConfigAdminManager). A list that nobody has
    entries in any more is deleted, where a SUBTRACT would leave it empty."""
    before = write.stored.configs or {}
    first: dict[str, str | ListChange | None] = {name: None for name in before if name not in write.configs}
    then: dict[str, str | ListChange | None] = {}
    for name, value in write.configs.items():
        was = before.get(name)
        if was == value:
            continue
        entries, former = _entries(name, value), _entries(name, was)
        if entries is None or former is None:
            first[name] = value
            continue
        more, less = [one for one in entries if one not in former], [one for one in former if one not in entries]
        if more:
            first[name] = ListChange(APPEND, ",".join(more))
        if less:
            (then if more else first)[name] = ListChange(SUBTRACT, ",".join(less))
    return first, then


def _entries(name: str, value: str | None) -> dict[str, None] | None:
    """None: it has no entries of its own, such as `*`."""
    if name not in (LEADER_REPLICAS, FOLLOWER_REPLICAS) or value is None:
        return None
    entries = dict.fromkeys(one.strip() for one in value.split(","))
    return entries if all(":" in one for one in entries) else None


def _unordered(configs: Configs) -> dict[str, object]:
    entries = {name: _entries(name, value) for name, value in configs.items()}
    return {name: configs[name] if found is None else frozenset(found) for name, found in entries.items()}


def _size(values: Values) -> int:
    texts = (one.entries if isinstance(one, ListChange) else one or "" for one in values.values())
    return sum(map(len, values)) + sum(map(len, texts))


def which(known: Remembered, configs: Configs) -> TopicMemory | BrokerMemory:
    """What is remembered, where the configs may have changed or not."""
    memory, after = known
    if after is None:
        return memory
    if isinstance(memory, TopicMemory) and isinstance(after, TopicMemory):
        return memory.with_all_of(after)
    return after if isinstance(after, BrokerMemory) and _fits(after, memory, configs) else memory


def _fits(after: BrokerMemory, before: TopicMemory | BrokerMemory, configs: Configs) -> bool:
    """Whether the rates are those afterwards. Without a lease afterwards, those of the lease before must be gone."""
    assert isinstance(before, BrokerMemory)
    sides = (LEADER_RATE, after.leader, before.leader), (FOLLOWER_RATE, after.follower, before.follower)
    for name, now, was in sides:
        rate = configs.get(name)
        if now is None and was is not None and rate == was.set:
            return False
        if now is not None and rate != (None if now.left else now.set):
            return False
    return True
