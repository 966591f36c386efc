"""Throttle leases: which moves in flight have a throttle of their own, by topic and by broker.

A lease throttles exactly the replicas that its move concerns, as the stock tool does: the existing replicas as leaders
(any of them may become the leader), the adding replicas as followers, and each of their brokers at the rate of the
lease. `core.throttling.leased_configs` derives the topic and broker configs from the leases.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

NO_RATE = -1


class Lease(NamedTuple):
    """The lease of one move: bytes/s on each of its brokers, its existing replicas, and its adding replicas."""

    rate: int
    sources: tuple[int, ...]
    adding: tuple[int, ...]

    @property
    def brokers(self) -> tuple[int, ...]:
        return self.sources + self.adding


class ThrottledReplicas:
    """The leased replicas of one topic, as leaders and as followers, each as `partition:broker`."""

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
"""Of a topic without leases; shared, so nobody may add to it."""


def entries(partition: int, brokers: Collection[int]) -> Iterator[str]:
    """The names of the replicas in a topic's list of throttled replicas."""
    for broker in brokers:
        yield f"{partition}:{broker}"


class Leases:
    """All leases. It collects the topics and brokers whose leases ended or changed, until `drain`."""

    def __init__(self) -> None:
        self.topics: dict[str, ThrottledReplicas] = {}
        self._rates: dict[int, dict[int, int]] = {}
        """Broker -> rate -> number of leases with this rate: few rates, as leases come in batches."""
        self._ended_topics: dict[str, None] = {}
        self._ended_brokers: dict[int, None] = {}

    @property
    def brokers(self) -> Iterable[int]:
        """Brokers with a lease."""
        return self._rates.keys()

    def rate(self, broker: int) -> int:
        """The lowest rate of the leases on a broker, NO_RATE where it has none."""
        return min(self._rates.get(broker, ()), default=NO_RATE)

    def get(self, topic: str, partition: int) -> Lease | None:
        found = self.topics.get(topic)
        return None if found is None else found.leases.get(partition)

    def put(self, topic: str, partition: int, lease: Lease | None) -> None:
        """The lease that a partition has from now on, or None."""
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
            rates[lease.rate] = rates.get(lease.rate, 0) + 1

    def remove(self, topic: str) -> None:
        """The topic is gone, and its moves with it."""
        found = self.topics.pop(topic, None)
        for lease in () if found is None else found.leases.values():
            self._forget(topic, lease)

    def configs_changed(self, topics: Iterable[str] = (), brokers: Iterable[int] = ()) -> None:
        """Somebody else changed these configs. Where leases need them, `drain` returns them as if a lease had ended."""
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
            rates[lease.rate] -= 1
            if not rates[lease.rate]:
                del rates[lease.rate]
                self._ended_brokers[broker] = None
                if not rates:
                    del self._rates[broker]
