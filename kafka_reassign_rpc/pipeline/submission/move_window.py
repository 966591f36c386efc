"""Which moves of a plan may be in flight (docs/pipeline.md). Pure.

A move counts for its sender (the partition's leader) and for each broker that it adds. One that copies nothing needs
room only in all. Moves between one pair of brokers first take at most half of a broker's places, and others only if
these are left; with a slow broker, one. In a controller's queue, while other moves need a broker of a pair, the pair
gets one fewer than a broker has places, or one if slow: so the others always find a place.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from statistics import median

from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps, TakenPlaces
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import CLUSTER, Place, receiving, sending
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry

QUEUED_FOR_EACH = 2
"""Moves in the controller's queue for each in flight: one starts as soon as another ends."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class WindowMove:
    """`sender`: the broker that leads the partition, -1: none; `receivers`: those that it adds."""

    entry: PlanEntry
    sender: int
    receivers: tuple[int, ...]

    @classmethod
    def of(cls, entry: PlanEntry, leader: int) -> "WindowMove":
        receivers = tuple(broker for broker in entry.replicas if broker not in entry.expected_replicas)
        sender = entry.first_leader if entry.first_leader >= 0 else leader
        return cls(entry, sender if receivers else -1, receivers)

    @cached_property
    def brokers(self) -> frozenset[int]:
        return frozenset(place.broker for place in self.places if place.broker is not None)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        sends = [sending(self.sender)] if self.sender >= 0 else []
        return (CLUSTER, *map(receiving, self.receivers), *sends)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple((self.sender, receiver) for receiver in self.receivers if self.sender >= 0)


class _Taken:
    def __init__(self, moves: Iterable[WindowMove]) -> None:
        self.places = TakenPlaces()
        self.by_pair = Counter[Pair]()
        for move in moves:
            self.add(move)

    def add(self, move: WindowMove) -> None:
        self.places.take(move.places)
        self.by_pair.update(move.pairs)


@dataclass
class MoveWindow:
    """Waiting moves in the order of the plan, and those in flight. The caller reports what begins and ends.

    has_queue    begun moves join the controller's queue, which lets only `caps` start; here they are in flight
    stuck        moves in flight that wait for a lost broker: they take no places
    """

    caps: PlanCaps
    has_queue: bool = False
    waiting: dict[TopicPartition, WindowMove] = field(default_factory=dict)
    moving: dict[TopicPartition, WindowMove] = field(default_factory=dict)
    stuck: dict[TopicPartition, WindowMove] = field(default_factory=dict)
    slow: frozenset[int] = frozenset()
    _ended: Counter[int] = field(default_factory=Counter)
    _seen: int = 0
    _numbers: dict[TopicPartition, int] = field(default_factory=dict)
    """By move that has not ended: how many came before it."""

    def wait(self, moves: Mapping[TopicPartition, WindowMove]) -> None:
        self.waiting.update(moves)
        self._numbers.update(zip(moves, range(self._seen, self._seen + len(moves)), strict=True))
        self._seen += len(moves)

    def ahead(self, queued: Collection[TopicPartition] = ()) -> int:
        """Moves that came since the first that has not started. `queued`: in flight, but in the controller's queue."""
        first = [*islice(self.waiting, 1), *(queued & self.moving.keys())]
        return self._seen - min((self._numbers[name] for name in first), default=self._seen)

    def begin(self, name: TopicPartition) -> None:
        self.moving[name] = self.waiting.pop(name)

    def drop(self, name: TopicPartition) -> WindowMove:
        del self._numbers[name]
        return self.waiting.pop(name)

    def end(self, name: TopicPartition) -> WindowMove:
        del self._numbers[name]
        if name in self.stuck:
            return self.stuck.pop(name)
        move = self.moving.pop(name)
        self._ended.update(move.brokers)
        return move

    def go_on(self, name: TopicPartition, move: WindowMove) -> None:
        """A move that seemed to have ended is in flight."""
        self.moving[name] = move
        self._numbers[name] = self._seen

    def set_apart(self, stuck: Collection[TopicPartition]) -> None:
        flying = self.moving | self.stuck
        self.stuck = {name: move for name, move in flying.items() if name in stuck}
        self.moving = {name: move for name, move in flying.items() if name not in stuck}

    def next(self) -> list[WindowMove]:
        taken = _Taken(self.moving.values())
        chosen = {name: move for name, move in self.waiting.items() if self._fits(move, taken, self._at_first)}
        at_most = self._beside_others() if self.has_queue else self._all_places
        for name, move in self.waiting.items():
            if taken.places.is_full(CLUSTER, self._in_all):
                break
            if name not in chosen and self._fits(move, taken, at_most):
                chosen[name] = move
        return [move for name, move in self.waiting.items() if name in chosen] if chosen else []

    def _fits(self, move: WindowMove, taken: _Taken, share: Callable[[Pair], int]) -> bool:
        """If so, the move takes its places."""
        in_all, own = self._in_all, self._places
        if any(taken.places.is_full(place, in_all, own) for place in move.places):
            return False
        if any(taken.by_pair[pair] >= share(pair) for pair in move.pairs):
            return False
        taken.add(move)
        return True

    @property
    def _in_all(self) -> InFlightCaps:
        return InFlightCaps(per_cluster=self.caps.in_all)

    @property
    def _places(self) -> int:
        return self.caps.per_broker * (1 + QUEUED_FOR_EACH if self.has_queue else 1)

    def _all_places(self, _: Pair) -> int:
        return self._places

    def _at_first(self, pair: Pair) -> int:
        return (self.caps.per_broker + 1) // 2 if self.slow.isdisjoint(pair) else 1

    def _beside_others(self) -> Callable[[Pair], int]:
        moves = [*self.waiting.values(), *self.moving.values()]
        work = _Taken(moves)
        quick = _Taken(move for move in moves if self.slow.isdisjoint(move.brokers))

        def share(pair: Pair) -> int:
            places = sending(pair[0]), receiving(pair[1])
            if all(work.places.at(place) == work.by_pair[pair] for place in places):
                return self._places
            gives_way = not self.slow.isdisjoint(pair) and any(map(quick.places.at, places))
            return 1 if gives_way else max(1, self.caps.per_broker - 1)

        return share

    def adapt(self) -> None:
        """Slow are brokers of which nothing has ended since the last call, while of half of the busy ones something
        has.
        """
        busy = {broker for move in self.moving.values() for broker in move.brokers}
        ended, self._ended = self._ended, Counter()
        everyone = busy | ended.keys()
        typical = median(ended[broker] for broker in everyone) if everyone else 0
        self.slow = frozenset(broker for broker in busy if not ended[broker]) if typical >= 1 else frozenset()
