"""The replicas that configs throttle, and their rates, for all brokers of a process: followed in ZooKeeper
(DynamicConfigManager, ZkNodeChangeNotificationListener).

Token buckets: rates in bytes per second. Pure: the caller passes the time in (seconds, monotonic).

A bucket may go into debt, for which later bytes wait. So one grant larger than the bucket still keeps the rate in the
long run.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    Configs,
    Named,
    named_replicas,
    rate_of,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import AnnouncedChanges, ConfigStore
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


class ThrottledReplicas:
    def __init__(self) -> None:
        self._topics: dict[str, tuple[Named, Named]] = {}
        self._brokers: dict[str, Configs] = {}
        self.on_change: list[Callable[[], None]] = []

    def set_topic(self, topic: str, configs: Configs) -> None:
        leader, follower = named_replicas(configs.get(LEADER_REPLICAS)), named_replicas(configs.get(FOLLOWER_REPLICAS))
        if leader == {} and follower == {}:
            changed = self._topics.pop(topic, None) is not None
        else:
            changed = self._topics.get(topic) != (leader, follower)
            self._topics[topic] = (leader, follower)
        if changed:
            self._notify()

    def set_broker(self, name: str, configs: Configs) -> None:
        """`name`: a broker's id as text, or `<default>` for all."""
        if self._brokers.get(name, {}) != configs:
            self._brokers[name] = dict(configs)
            self._notify()

    def leader_throttled(self, broker: int, partition: TopicPartition) -> bool:
        return self._names(0, broker, partition)

    def follower_throttled(self, broker: int, partition: TopicPartition) -> bool:
        return self._names(1, broker, partition)

    def rate(self, name: str, broker: int) -> float | None:
        """Bytes/s; None: no limit."""
        return rate_of(name, self._brokers.get(str(broker), {}), self._brokers.get(DEFAULT, {}))

    def _names(self, side: int, broker: int, partition: TopicPartition) -> bool:
        lists = self._topics.get(partition.topic)
        if lists is None:
            return False
        named = lists[side]
        return named is None or partition.partition in named.get(broker, ())

    def _notify(self) -> None:
        for callback in self.on_change:
            callback()


log = logging.getLogger(__name__)


class DynamicConfigs:
    """Sets the configs of `throttles` within a second of each change."""

    def __init__(self, zk: ZooKeeper, throttles: ThrottledReplicas) -> None:
        self._store = ConfigStore(zk)
        self._setters: dict[str, Callable[[str, Mapping[str, str]], None]] = {
            TOPICS: throttles.set_topic,
            BROKERS: throttles.set_broker,
        }
        self._seen = -1
        self._caught_up = asyncio.Event()
        feeds = (znode_paths.CONFIG_CHANGES,)
        self._changes = AnnouncedChanges(zk, feeds, (), self._all, self._changed, _failed)
        self._changes.start("configs")

    async def ready(self) -> None:
        await self._caught_up.wait()

    async def close(self) -> None:
        await self._changes.close()

    async def _all(self) -> None:
        await self._announced()
        for kind, set_configs in self._setters.items():
            found, garbage = await self._store.get_all(kind)
            _skip(garbage)
            for name, configs in found.items():
                set_configs(name, configs)
        self._caught_up.set()

    async def _changed(self, _repaired: Collection[str]) -> None:
        for entity in await self._announced():
            kind, _, name = entity.partition("/")
            if kind in self._setters:
                try:
                    self._setters[kind](name, await self._store.get(kind, name))
                except BadZnode as error:
                    _skip([error])

    async def _announced(self) -> Sequence[str]:
        changes = await self._store.changes_since(self._seen, watch=True)
        self._seen = changes.last
        _skip(changes.bad)
        return changes.entities


def _failed(error: Exception) -> None:
    log.info("the brokers keep the dynamic configs that they have until these can be read: %s", error)


def _skip(bad: Iterable[BadZnode]) -> None:
    for unreadable in bad:
        log.warning("a malformed config is skipped, so the brokers keep the one before: %s", unreadable)


UNLIMITED = (1 << 63) - 1
"""Without a rate: the wire's largest number."""

BURST_S = 1.0
"""Seconds' worth of bytes that a bucket saves up: Kafka's replication.quota.window.size.seconds.

Leader and follower each keep to their own rate; neither may lose what it cannot use while it waits for the other.
"""

IDLE_LINK_S = 0.2
"""The same for an idle link: a network saves nothing up for the next copy."""


class TokenBucket:
    """`rate` None: no limit; 0: nothing passes. `idle_s`: seconds' worth of bytes saved up while nothing passes."""

    __slots__ = ("_at", "_idle_s", "_tokens", "_used", "rate")

    def __init__(self, rate: float | None, now: float, idle_s: float = BURST_S) -> None:
        self.rate = rate
        self._at = now
        self._idle_s = idle_s
        self._used = now - BURST_S
        """When bytes passed last."""
        self._tokens = (rate or 0) * idle_s

    def set_rate(self, rate: float | None, now: float) -> None:
        """Drops saved-up bytes beyond the new burst."""
        if rate == self.rate:
            return
        self._refill(now)
        self.rate = rate
        self._tokens = min(self._tokens, (rate or 0) * BURST_S)

    def available(self, now: float) -> int:
        """Bytes that may pass now, never negative."""
        if self.rate is None:
            return UNLIMITED
        self._refill(now)
        return max(0, int(self._tokens))

    def take(self, amount: int, now: float) -> None:
        self.hold(amount, now)
        if amount:
            self._used = now

    def hold(self, amount: int, now: float) -> None:
        """Takes bytes that may pass later, or returns some (negative)."""
        if self.rate is not None:
            self._refill(now)
            self._tokens -= amount

    def _refill(self, now: float) -> None:
        if self.rate is not None and now > self._at:
            saved_s = BURST_S if now - self._used < BURST_S else self._idle_s
            self._tokens = min(self._tokens + (now - self._at) * self.rate, self.rate * saved_s)
        self._at = max(self._at, now)
