"""Which moves in flight have a throttle of their own (a lease), by topic and by broker: nothing is ever scanned for it.

A lease throttles exactly the replicas that the move concerns, as the stock tool does: the ones that stand already as
leaders (any of them may come to lead), the ones being added as followers, and every one of their brokers at its rate.
What topic and broker configs follow from it stands in `core.throttling.leased_configs`.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

NO_RATE = -1


class Lease(NamedTuple):
    """Of one move: bytes/s on each of its brokers, the replicas that stand already, and those being added."""

    rate: int
    sources: tuple[int, ...]
    adding: tuple[int, ...]

    @property
    def brokers(self) -> tuple[int, ...]:
        return self.sources + self.adding


class Throttled:
    """The replicas of one topic to be throttled as leaders and as followers, each as `partition:broker`."""

    def __init__(self) -> None:
        self.leases: dict[int, Lease] = {}
        self.leaders: dict[str, None] = {}
        self.followers: dict[str, None] = {}

    def put(self, partition: int, lease: Lease) -> None:
        self.leases[partition] = lease
        self.leaders.update(dict.fromkeys(entries(partition, lease.sources)))
        self.followers.update(dict.fromkeys(entries(partition, lease.adding)))

    def drop(self, partition: int, lease: Lease) -> None:
        del self.leases[partition]
        for entry in entries(partition, lease.sources):
            del self.leaders[entry]
        for entry in entries(partition, lease.adding):
            del self.followers[entry]


NOTHING = Throttled()
"""Of a topic without leases; nobody adds to it."""


def entries(partition: int, brokers: Collection[int]) -> Iterator[str]:
    """As a topic's list of throttled replicas names them."""
    for broker in brokers:
        yield f"{partition}:{broker}"


class Leases:
    """All leases. `ended` collects where some have ended or changed, until somebody has drained it."""

    def __init__(self) -> None:
        self.topics: dict[str, Throttled] = {}
        self._rates: dict[int, dict[int, int]] = {}
        """Broker -> rate -> how many leases on it have this rate: few, as leases come in batches."""
        self._ended_topics: dict[str, None] = {}
        self._ended_brokers: dict[int, None] = {}
        self.being_written = False
        """Configs are being written by what they said a moment ago: whoever sees one meanwhile has seen a change."""

    @property
    def brokers(self) -> Iterable[int]:
        """Those with a lease."""
        return self._rates.keys()

    def rate(self, broker: int) -> int:
        """The lowest of the leases on a broker, NO_RATE where there is none."""
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
            found.drop(partition, before)
            self._forget(topic, before)
        if lease is None:
            if found is not None and not found.leases:
                del self.topics[topic]
            return
        if found is None:
            found = self.topics[topic] = Throttled()
        found.put(partition, lease)
        for broker in lease.brokers:
            rates = self._rates.setdefault(broker, {})
            rates[lease.rate] = rates.get(lease.rate, 0) + 1

    def drop(self, topic: str) -> None:
        """The topic is gone, and its moves with it."""
        found = self.topics.pop(topic, None)
        for lease in () if found is None else found.leases.values():
            self._forget(topic, lease)

    def disturbed(self, topics: Iterable[str] = (), brokers: Iterable[int] = ()) -> None:
        """Somebody else has changed their configs: where leases need them, they are looked at like ended ones."""
        self._ended_topics.update((name, None) for name in topics if name in self.topics)
        self._ended_brokers.update((broker, None) for broker in brokers if broker in self._rates)

    def drain(self) -> tuple[dict[str, None], dict[int, None]]:
        """Topics and brokers of leases that have ended or changed since the last time."""
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
