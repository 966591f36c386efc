"""Throttle leases: the moves in flight with a throttle of their own, by topic and by broker.

As the stock tool does, a lease throttles the existing replicas as leaders (any of them may become the leader), the
adding replicas as followers, and each of their brokers. `core.throttling.leased_configs` derives the configs.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

NO_RATE = -1


class Lease(NamedTuple):
    """`rate`: bytes/s on each of its brokers. If it `lifts`, it replaces a stricter rate that is set already."""

    rate: int
    sources: tuple[int, ...]
    adding: tuple[int, ...]
    lifts: bool = False

    @property
    def brokers(self) -> tuple[int, ...]:
        return self.sources + self.adding


class ThrottledReplicas:
    """The leased replicas of one topic, each as `partition:broker`."""

    def __init__(self) -> None:
        self.leases: dict[int, Lease] = {}
        self.leaders: dict[str, None] = {}
        self.followers: dict[str, None] = {}

    def put(self, partition: int, lease: Lease) -> None:
        self.leases[partition] = lease
        self.leaders.update(dict.fromkeys(entries(partition, lease.sources)))
        self.followers.update(dict.fromkeys(entries(partition, lease.adding)))

    def remove(self, partition: int, lease: Lease) -> None:
        del self.leases[partition]
        for entry in entries(partition, lease.sources):
            del self.leaders[entry]
        for entry in entries(partition, lease.adding):
            del self.followers[entry]


NOTHING = ThrottledReplicas()
"""A topic without leases; shared, so nothing may be added to it."""


def entries(partition: int, brokers: Collection[int]) -> Iterator[str]:
    for broker in brokers:
        yield f"{partition}:{broker}"


class Leases:
    """All leases, and what has ended or changed until `drain`."""

    def __init__(self) -> None:
        self.topics: dict[str, ThrottledReplicas] = {}
        self._rates: dict[int, dict[tuple[int, bool], int]] = {}
        """Broker -> rate, and whether it lifts -> number of leases like this: few, as leases come in batches."""
        self._ended_topics: dict[str, None] = {}
        self._ended_brokers: dict[int, None] = {}
        self.common = NO_RATE
        """The rate of the window that holds (`core.queue.window_now`); NO_RATE: it has none."""

    @property
    def brokers(self) -> Iterable[int]:
        return self._rates.keys()

    def follow(self, rate: int) -> None:
        """From now on all leases have this rate, or with NO_RATE their own."""
        if rate != self.common:
            self.common = rate
            self.configs_changed(brokers=self._rates)

    def rate(self, broker: int) -> int:
        """The common rate, else the lowest of the broker's leases. NO_RATE: it has none."""
        lowest = min((rate for rate, _ in self._rates.get(broker, ())), default=NO_RATE)
        return lowest if NO_RATE in (lowest, self.common) else self.common

    def lift(self, broker: int) -> bool:
        """One that does not lift a stricter rate keeps it."""
        return all(lifts for _, lifts in self._rates.get(broker, ()))

    def get(self, topic: str, partition: int) -> Lease | None:
        found = self.topics.get(topic)
        return None if found is None else found.leases.get(partition)

    def put(self, topic: str, partition: int, lease: Lease | None) -> None:
        found = self.topics.get(topic)
        before = None if found is None else found.leases.get(partition)
        if before == lease:
            return
        if found is not None and before is not None:
            found.remove(partition, before)
            self._forget(topic, before)
        if lease is None:
            if found is not None and not found.leases:
                del self.topics[topic]
            return
        if found is None:
            found = self.topics[topic] = ThrottledReplicas()
        found.put(partition, lease)
        for broker in lease.brokers:
            rates = self._rates.setdefault(broker, {})
            rates[lease.rate, lease.lifts] = rates.get((lease.rate, lease.lifts), 0) + 1

    def remove(self, topic: str) -> None:
        found = self.topics.pop(topic, None)
        for lease in () if found is None else found.leases.values():
            self._forget(topic, lease)

    def configs_changed(self, topics: Iterable[str] = (), brokers: Iterable[int] = ()) -> None:
        """Somebody else has changed these configs: if leases need them, `drain` returns them as if a lease had
        ended.
        """
        self._ended_topics.update((name, None) for name in topics if name in self.topics)
        self._ended_brokers.update((broker, None) for broker in brokers if broker in self._rates)

    def drain(self) -> tuple[dict[str, None], dict[int, None]]:
        """Topics and brokers whose leases ended or changed since the last call."""
        drained = self._ended_topics, self._ended_brokers
        self._ended_topics, self._ended_brokers = {}, {}
        return drained

    def _forget(self, topic: str, lease: Lease) -> None:
        self._ended_topics[topic] = None
        for broker in lease.brokers:
            rates = self._rates[broker]
            rates[lease.rate, lease.lifts] -= 1
            if not rates[lease.rate, lease.lifts]:
                del rates[lease.rate, lease.lifts]
                self._ended_brokers[broker] = None
                if not rates:
                    del self._rates[broker]
