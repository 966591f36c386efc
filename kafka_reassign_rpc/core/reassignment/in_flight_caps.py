"""How many moves may be in flight: caps per broker, for the cluster, and on the bytes to be copied (KIP-236).

A move counts for each broker that it brings in, and for its leader, which all of them copy from. It counts for
nothing where

- it brings in nobody (a new order, a smaller replica set): then it never waits either;
- none of the brokers that it waits for is alive: it copies nothing, and a dead broker holds up nobody else.

Its bytes are the partition's size once for each broker that it brings in. A size that is not known counts as 0; but
where leaders are asked for sizes, a move waits for its leader's answer. A move that is larger than the whole cap, or
of no known size, starts when nothing else is in flight.

A cap holds when a move starts. Later leaders change and dead brokers return, and nothing that moves is stopped for it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from kafka_reassign_rpc.core.restrictions import InFlightCaps, Rules, limits
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import HEAL, Cluster, Partition, TopicPartition

CLUSTER = -2
"""Stands for a broker where a move waits for a cap of the whole cluster."""

REPAIRS = -5
"""Stands for a broker that takes part in every move of a repair: only so many of them go at a time (KIP-46)."""

SLICE = 200

AHEAD = 1000
"""Moves that wait whose sizes are asked for: by the time that others are next in line, theirs will be."""


class Weight(NamedTuple):
    """What a move in flight counts for."""

    brokers: tuple[int, ...] = ()
    bytes: int = 0


NOTHING = Weight()


def weight(cluster: Cluster, name: TopicPartition, value: Partition) -> Weight:
    if not value.adding:
        return NOTHING
    missing = [broker for broker in value.adding if broker not in value.isr]
    if missing and not any(map(cluster.is_live, missing)):
        return NOTHING
    brokers = value.adding
    if value.leader >= 0 and value.leader not in brokers:
        brokers = (*brokers, value.leader)
    if value.move is not None and value.move.route == HEAL:
        brokers = (*brokers, REPAIRS)
    return Weight(brokers, cluster.sizes.get(name, 0) * len(value.adding))


def makes_room(before: Partition, after: Partition) -> bool:
    """Whether a change of a partition may let others start."""
    return bool(before.adding) and (before.adding, before.leader) != (after.adding, after.leader)


def to_measure(cluster: Cluster, rules: Rules) -> list[TopicPartition]:
    """Partitions whose moves wait, and whose sizes say when they may start: those that are next in line."""
    if limits(cluster, rules).bytes_in_flight < 0:
        return []
    batch: Iterable[TopicPartition] = (
        () if cluster.batch is None or not cluster.batch.waiting else cluster.batch.entries
    )
    return [TopicPartition(*name) for name in islice(chain(cluster.queue.names.values(), batch), AHEAD)]


class Schedule:
    """What is in flight, as a round goes on, and what may join it."""

    def __init__(self, cluster: Cluster, limits: InFlightCaps, *, sizes_sampled: bool = False) -> None:
        self._cluster = cluster
        self.limits = limits
        self._sizes_sampled = sizes_sampled and limits.bytes_in_flight >= 0
        self._silent: set[int] = set()
        """Leaders that something waits for since they have not said its size."""
        self._counts = not limits.unlimited or cluster.queue.routes[HEAL] > 0
        self._brokers: Counter[int] = Counter()
        self._moves = 0
        self._bytes = 0

    def count(self, view: RoundView) -> Iterator[None]:
        """Take in all that moves, yielding every `SLICE` partitions. Without caps there is nothing to count."""
        if not self._counts:
            return
        done = 0
        for topic, indexes in self._cluster.moving.items():
            for index in indexes:
                value = view.get(topic, index)
                if value is not None:
                    self._put(weight(self._cluster, TopicPartition(topic, index), value), 1)
                done += 1
                if done % SLICE == 0:
                    yield
        for name in view.partitions:
            if name[1] not in self._cluster.moving.get(name[0], ()):
                value = view.get(*name)
                if value is not None:
                    self._put(weight(self._cluster, name, value), 1)

    def replace(self, name: TopicPartition, before: Partition, after: Partition) -> None:
        """A partition has another value."""
        if self._counts:
            self._put(weight(self._cluster, name, before), -1)
            self._put(weight(self._cluster, name, after), 1)

    @property
    def is_full(self) -> bool:
        """Whether nothing may start, whatever brokers it concerns."""
        return 0 <= self.limits.per_cluster <= self._moves

    def has_room(self, broker: int) -> bool:
        """Whether a move that concerns it may start, as far as this broker goes."""
        if broker in self._silent:
            return False
        return (broker == REPAIRS or self._cluster.is_live(broker)) and not self._is_full(broker, self._brokers[broker])

    def _is_full(self, broker: int, moves: int) -> bool:
        limit = self.limits.repairs if broker == REPAIRS else self.limits.per_broker
        return 0 <= limit <= moves

    def held_by(self, name: TopicPartition, before: Partition, after: Partition) -> int | None:
        """What keeps a partition from getting the value `after`: a broker, `CLUSTER`, or None."""
        if not self._counts:
            return None
        new = weight(self._cluster, name, after)
        if not new.brokers:
            return None
        old = weight(self._cluster, name, before)
        for broker in new.brokers:
            if self._is_full(broker, self._brokers[broker] - (broker in old.brokers)):
                return broker
        others = self._moves - bool(old.brokers)
        if 0 <= self.limits.per_cluster <= others:
            return CLUSTER
        if others and self._sizes_sampled and TopicPartition(*name) not in self._cluster.sizes:
            leader = after.leader
            if self._cluster.is_live(leader):
                self._silent.add(leader)
                return leader
        rest = self._bytes - old.bytes
        if 0 <= self.limits.bytes_in_flight < rest + new.bytes and new.bytes and others:
            return CLUSTER
        return None

    def _put(self, what: Weight, sign: int) -> None:
        if what.brokers:
            self._moves += sign
            self._bytes += sign * what.bytes
            for broker in what.brokers:
                self._brokers[broker] += sign
