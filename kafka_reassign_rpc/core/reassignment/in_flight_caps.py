"""Caps on moves in flight: per broker, per cluster, and on the bytes to be copied (KIP-236). They only delay a start.

A move counts for each broker that it adds and for its leader, which sends. It never counts or waits if it adds no
replica, or if all brokers that it waits for are dead: it copies nothing, and must not delay others.

An unknown size counts as 0; but if brokers are asked for sizes, a move waits for its leader's answer. A move that is
larger than the whole cap, or of unknown size, starts when nothing else is in flight. A queued move may have its own cap
on the moves that each of its brokers receives, and on those that its leader sends, whichever route these took.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from kafka_reassign_rpc.core.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import NO_CAP

CLUSTER = -2
"""In place of a broker: the move waits for a cap of the whole cluster."""

REPAIRS = -5
"""In place of a broker, in every move of a repair: the cap on moves of repairs (KIP-46)."""

WINDOW = -6
"""In place of a broker: the move waits for a window."""

_SENDERS = -10


AHEAD = 1000
"""Waiting moves whose sizes are measured."""


class Weight(NamedTuple):
    """What a move counts for: brokers (or `CLUSTER`, `REPAIRS`), bytes, and the broker that sends, or -1."""

    brokers: tuple[int, ...] = ()
    bytes: int = 0
    sender: int = -1


NOTHING = Weight()


def sending(broker: int) -> int:
    """This broker, where a move with its own cap waits until it may send more."""
    return _SENDERS - broker


def broker_of(place: int) -> int:
    """The inverse of `sending`; keeps other places."""
    return _SENDERS - place if place <= _SENDERS else place


def weight(cluster: Cluster, name: TopicPartition, value: Partition) -> Weight:
    if not value.adding:
        return NOTHING
    missing = [broker for broker in value.adding if broker not in value.isr]
    if missing and not any(cluster.is_online(replica, value) for replica in missing):
        return NOTHING
    brokers, sender = value.adding, -1
    if value.leader >= 0 and value.leader not in brokers:
        brokers, sender = (*brokers, value.leader), value.leader
    if value.move is not None and value.move.terms.route == HEAL:
        brokers = (*brokers, REPAIRS)
    return Weight(brokers, cluster.soft.sizes.get(name, 0) * len(value.adding), sender)


def makes_room(before: Partition, after: Partition) -> bool:
    """Whether a change may let waiting moves start."""
    return bool(before.adding) and (before.adding, before.leader, before.offline) != (
        after.adding,
        after.leader,
        after.offline,
    )


def partitions_to_measure(cluster: Cluster) -> list[TopicPartition]:
    """The next waiting moves: a cap on bytes needs their sizes, and operators want to see them."""
    batch: Iterable[TopicPartition] = (
        () if cluster.batch is None or not cluster.batch.waiting else cluster.batch.entries
    )
    return [TopicPartition(*name) for name in islice(chain(cluster.queue.names.values(), batch), AHEAD)]


def _copies_more(before: Partition, after: Partition) -> bool:
    is_repair = after.move is not None and after.move.terms.route == HEAL
    return not is_repair and not set(after.adding) <= set(before.adding)


class MovesInFlight:
    def __init__(self, cluster: Cluster, caps: InFlightCaps) -> None:
        self._cluster = cluster
        self.caps = caps
        self._sizes_sampled = cluster.soft.started_with.sizes_sampled and caps.bytes_in_flight >= 0
        self._silent: set[int] = set()
        """Leaders that have not reported the size of a partition whose move waits for it."""
        self._counts = not self.unlimited or cluster.queue.routes[HEAL] > 0 or cluster.queue.capped > 0
        self._brokers: Counter[int] = Counter()
        self._sent: Counter[int] = Counter()
        self._moves = 0
        self._bytes = 0

    def count(self, view: RoundView) -> Iterator[None]:
        if not self._counts:
            return
        for topic, indexes in self._cluster.moving.items():
            for index in indexes:
                value = view.get(topic, index)
                if value is not None:
                    self._add(weight(self._cluster, TopicPartition(topic, index), value), 1)
                yield
        for name in view.partitions:
            if name[1] not in self._cluster.moving.get(name[0], ()):
                value = view.get(*name)
                if value is not None:
                    self._add(weight(self._cluster, name, value), 1)

    def replace(self, name: TopicPartition, before: Partition, after: Partition) -> None:
        if self._counts:
            self._add(weight(self._cluster, name, before), -1)
            self._add(weight(self._cluster, name, after), 1)

    @property
    def unlimited(self) -> bool:
        """Whether no cap delays a client's move."""
        caps = self.caps
        return not caps.closed and caps.per_broker < 0 and caps.per_cluster < 0 and caps.bytes_in_flight < 0

    @property
    def is_full(self) -> bool:
        return 0 <= self.caps.per_cluster <= self._moves

    @property
    def repairs_held_back(self) -> bool:
        """The brake of self-healing: no waiting repair starts or takes over another move."""
        return self.caps.repairs == 0

    def has_room(self, place: int, own: int = NO_CAP) -> bool:
        """Whether the caps of a place (see `waits_for`) let another move start. `own`: that move's own cap."""
        broker = broker_of(place)
        if broker == WINDOW:
            return not self.caps.closed
        if broker in self._silent:
            return False
        is_there = broker == REPAIRS or self._cluster.is_live(broker)
        return is_there and not self._is_full(place, own)

    def _is_full(self, place: int, own: int, old: Weight = NOTHING) -> bool:
        broker = broker_of(place)
        moves = self._brokers[broker] - (broker in old.brokers)
        if broker == REPAIRS:
            return 0 <= self.caps.repairs <= moves
        sent = self._sent[broker] - (broker == old.sender)
        return 0 <= self.caps.per_broker <= moves or 0 <= own <= (moves - sent if place == broker else sent)

    def waits_for(self, name: TopicPartition, before: Partition, after: Partition, own: int = NO_CAP) -> int | None:
        """The place that must have room before a partition may become `after`: a broker, `CLUSTER`, `WINDOW`, or
        None; for the leader of a move with its `own` cap, what `sending` gives.
        """
        if self.caps.closed and _copies_more(before, after):
            return WINDOW
        if not self._counts:
            return None
        new = weight(self._cluster, name, after)
        if not new.brokers:
            return None
        old = weight(self._cluster, name, before)
        for broker in new.brokers:
            place = sending(broker) if own != NO_CAP and broker == new.sender else broker
            if self._is_full(place, own, old):
                return place
        others = self._moves - bool(old.brokers)
        if 0 <= self.caps.per_cluster <= others:
            return CLUSTER
        if others and self._sizes_sampled and TopicPartition(*name) not in self._cluster.soft.sizes:
            leader = after.leader
            if self._cluster.is_live(leader):
                self._silent.add(leader)
                return leader
        rest = self._bytes - old.bytes
        if 0 <= self.caps.bytes_in_flight < rest + new.bytes and new.bytes and others:
            return CLUSTER
        return None

    def _add(self, weight: Weight, sign: int) -> None:
        if weight.brokers:
            self._moves += sign
            self._bytes += sign * weight.bytes
            self._sent[weight.sender] += sign
            for broker in weight.brokers:
                self._brokers[broker] += sign
