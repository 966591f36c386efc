"""Caps on moves in flight: per broker, per cluster, and on the bytes to be copied (KIP-236). They only delay a start.
`TakenPlaces` counts for the controller, and for the commands that submit plans.

A move counts for each broker that it adds and for its leader, which sends. It never counts or waits if it adds no
replica, or if all brokers that it waits for are dead: it copies nothing, and must not delay others.

An unknown size counts as 0; but if brokers are asked for sizes, a move waits for its leader's answer. A move that is
larger than the whole cap, or of unknown size, starts when nothing else is in flight. A queued move may have its own cap
on the moves that each of its brokers receives, and on those that its leader sends, whichever route these took.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import (
    CLUSTER,
    NO_CAP,
    REPAIRS,
    WINDOW,
    Place,
    PlaceKind,
    receiving,
    sending,
)

AHEAD = 1000
"""Waiting moves whose sizes are measured."""


class Weight(NamedTuple):
    """What a move counts for."""

    places: tuple[Place, ...] = ()
    bytes: int = 0


NOTHING = Weight()

_OTHER_WAY = {PlaceKind.RECEIVER: PlaceKind.SENDER, PlaceKind.SENDER: PlaceKind.RECEIVER}


class PlanCaps(NamedTuple):
    """The most moves of a plan in flight, -1: any number. `per_broker` limits those that copy to one broker, and as
    many that copy from it.
    """

    per_broker: int = 10
    in_all: int = -1


class TakenPlaces:
    """How many moves in flight take each place."""

    def __init__(self, moves: Iterable[Iterable[Place]] = ()) -> None:
        self._moves: Counter[Place] = Counter()
        for places in moves:
            self.take(places)

    def take(self, places: Iterable[Place]) -> None:
        self._moves.update(places)

    def give_back(self, places: Iterable[Place]) -> None:
        self._moves.subtract(places)

    def at(self, place: Place, old: Collection[Place] = ()) -> int:
        """Without the move that takes the places `old`."""
        return self._moves[place] - (place in old)

    def is_full(self, place: Place, caps: InFlightCaps, own: int = NO_CAP, old: Collection[Place] = ()) -> bool:
        """Whether no further move may take this place. `own`: that move's own cap, which counts what a broker receives
        and what it sends each for itself; `caps` count both together. `old`: see `at`.
        """
        taken = self.at(place, old)
        match place.kind:
            case PlaceKind.RECEIVER | PlaceKind.SENDER:
                both = taken + self.at(Place(_OTHER_WAY[place.kind], place.broker), old)
                return 0 <= own <= taken or 0 <= caps.per_broker <= both
            case PlaceKind.CLUSTER:
                return 0 <= caps.per_cluster <= taken
            case PlaceKind.REPAIRS:
                return 0 <= caps.repairs <= taken
            case PlaceKind.WINDOW:
                return caps.closed
            case _:
                return False


def weight(cluster: Cluster, name: TopicPartition, value: Partition) -> Weight:
    if not value.adding:
        return NOTHING
    missing = [broker for broker in value.adding if broker not in value.isr]
    if missing and not any(cluster.is_online(replica, value) for replica in missing):
        return NOTHING
    places = [receiving(broker) for broker in value.adding]
    if value.leader >= 0 and value.leader not in value.adding:
        places.append(sending(value.leader))
    if _is_repair(value):
        places.append(REPAIRS)
    return Weight((*places, CLUSTER), cluster.soft.sizes.get(name, 0) * len(value.adding))


def _is_repair(value: Partition) -> bool:
    return value.move is not None and value.move.terms.route == HEAL


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
    return not _is_repair(after) and not set(after.adding) <= set(before.adding)


class MovesInFlight:
    def __init__(self, cluster: Cluster, caps: InFlightCaps) -> None:
        self._cluster = cluster
        self.caps = caps
        self._sizes_sampled = cluster.soft.started_with.sizes_sampled and caps.bytes_in_flight >= 0
        self._silent: set[int] = set()
        """Leaders that have not reported the size of a partition whose move waits for it."""
        self._counts = not self.unlimited or cluster.queue.routes[HEAL] > 0 or cluster.queue.capped > 0
        self._taken = TakenPlaces()
        self._bytes = 0

    def count(self, view: RoundView) -> Iterator[None]:
        if not self._counts:
            return
        for topic, indexes in self._cluster.moving.items():
            for index in indexes:
                value = view.get(topic, index)
                if value is not None:
                    self._begin(weight(self._cluster, TopicPartition(topic, index), value))
                yield
        for name in view.partitions:
            if name[1] not in self._cluster.moving.get(name[0], ()):
                value = view.get(*name)
                if value is not None:
                    self._begin(weight(self._cluster, name, value))

    def replace(self, name: TopicPartition, before: Partition, after: Partition) -> None:
        if self._counts:
            old = weight(self._cluster, name, before)
            self._taken.give_back(old.places)
            self._bytes -= old.bytes
            self._begin(weight(self._cluster, name, after))

    @property
    def unlimited(self) -> bool:
        """Whether no cap delays a client's move."""
        caps = self.caps
        return not caps.closed and caps.per_broker < 0 and caps.per_cluster < 0 and caps.bytes_in_flight < 0

    @property
    def is_full(self) -> bool:
        return self._taken.is_full(CLUSTER, self.caps)

    @property
    def repairs_held_back(self) -> bool:
        """The brake of self-healing: no waiting repair starts or takes over another move."""
        return self.caps.repairs == 0

    def has_room(self, place: Place, own: int = NO_CAP) -> bool:
        """Whether the caps of a place (see `waits_for`) let another move start. `own`: that move's own cap."""
        if place.broker is not None and (place.broker in self._silent or not self._cluster.is_live(place.broker)):
            return False
        return not self._taken.is_full(place, self.caps, own)

    def waits_for(self, name: TopicPartition, before: Partition, after: Partition, own: int = NO_CAP) -> Place | None:
        """The place that must have room before a partition may become `after`; None: it may."""
        if self.caps.closed and _copies_more(before, after):
            return WINDOW
        if not self._counts:
            return None
        new = weight(self._cluster, name, after)
        if not new.places:
            return None
        old = weight(self._cluster, name, before)
        for place in new.places:
            if self._taken.is_full(place, self.caps, own, old.places):
                return place
        others = self._taken.at(CLUSTER, old.places)
        if others and self._sizes_sampled and TopicPartition(*name) not in self._cluster.soft.sizes:
            leader = after.leader
            if self._cluster.is_live(leader):
                self._silent.add(leader)
                return sending(leader)
        rest = self._bytes - old.bytes
        if 0 <= self.caps.bytes_in_flight < rest + new.bytes and new.bytes and others:
            return CLUSTER
        return None

    def _begin(self, weight: Weight) -> None:
        self._taken.take(weight.places)
        self._bytes += weight.bytes
