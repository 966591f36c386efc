"""Which moves of a plan may be in flight: at most so many for each broker, and so many in all. Pure.

A move counts for its sender (the partition's leader) and for each broker that it adds. A broker has places for what it
sends, and as many for what it receives: so that it does both at once. Moves begin in the order of the plan; one that
has no room lets those behind it pass which have room. A move that copies nothing needs room in all only.

No broker waits for a slow one, as long as others have work for it: of the places of a broker, moves from it to one
other broker take half at first, or those from another one to it. Only what is left then goes to moves of such a pair.
With a broker of which nothing ends while moves of others do, each other broker shares one place in the first go.

A controller with a queue gets more moves than may start, and starts them in their order. Of a pair it gets one fewer
than a broker has places, or one move where a broker of the pair is slow, as long as other moves need one of the two
brokers: so these always find a place.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry


class WindowCaps(NamedTuple):
    """Moves in flight at the most: that one broker sends, and as many that it receives; in all."""

    per_broker: int
    in_all: int


QUEUED_FOR_EACH = 2
"""Where the controller has a queue: as many moves wait in it for each that is in flight, so one starts as soon as
another ends."""

Link = tuple[int, bool]
"""What a move takes a place of: a broker, and whether that sends."""

Pair = tuple[int, int]
"""The sender and a receiver of a move."""


@dataclass(frozen=True)
class WindowMove:
    """A move of the plan. sender: the broker that leads the partition, -1: none; receivers: those that it adds."""

    entry: PlanEntry
    sender: int
    receivers: tuple[int, ...]

    @classmethod
    def of(cls, entry: PlanEntry, leader: int) -> "WindowMove":
        """A move from the expected replicas, or from a new order of them."""
        receivers = tuple(broker for broker in entry.replicas if broker not in entry.expected_replicas)
        sender = entry.first_leader if entry.first_leader >= 0 else leader
        return cls(entry, sender if receivers else -1, receivers)

    @cached_property
    def brokers(self) -> frozenset[int]:
        """The brokers for which it counts."""
        return frozenset(broker for broker, _ in self.links)

    @cached_property
    def links(self) -> frozenset[Link]:
        """What it takes a place of."""
        sends = [(self.sender, True)] if self.sender >= 0 else []
        return frozenset([*((broker, False) for broker in self.receivers), *sends])

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """One for each of its copies."""
        return tuple((self.sender, receiver) for receiver in self.receivers if self.sender >= 0)


class _Taken:
    """The places that moves take."""

    def __init__(self, moves: Iterable[WindowMove]) -> None:
        self.in_all = 0
        self.by_link = Counter[Link]()
        self.by_pair = Counter[Pair]()
        for move in moves:
            self.add(move)

    def add(self, move: WindowMove) -> None:
        self.in_all += 1
        self.by_link.update(move.links)
        self.by_pair.update(move.pairs)


@dataclass
class MoveWindow:
    """The moves of a plan that wait, in its order, and those in flight. The caller tells what begins and ends.

    has_queue    moves that begin join the controller's queue, which itself lets no more than `caps` start; here they
                 count as in flight
    """

    caps: WindowCaps
    has_queue: bool = False
    waiting: dict[TopicPartition, WindowMove] = field(default_factory=dict)
    moving: dict[TopicPartition, WindowMove] = field(default_factory=dict)
    slow: frozenset[int] = frozenset()
    _ended: Counter[int] = field(default_factory=Counter)

    def wait(self, moves: Mapping[TopicPartition, WindowMove]) -> None:
        """These moves of the plan come next."""
        self.waiting.update(moves)

    def begin(self, name: TopicPartition) -> None:
        """A waiting move is in flight."""
        self.moving[name] = self.waiting.pop(name)

    def end(self, name: TopicPartition) -> WindowMove:
        """A move is in flight no more."""
        move = self.moving.pop(name)
        self._ended.update(move.brokers)
        return move

    def next(self) -> list[WindowMove]:
        """The moves that may begin now, in their order."""
        taken = _Taken(self.moving.values())
        chosen = {name: move for name, move in self.waiting.items() if self._fits(move, taken, self._at_first)}
        at_most = self._beside_others() if self.has_queue else self._all_places
        for name, move in self.waiting.items():
            if taken.in_all >= self.caps.in_all:
                break
            if name not in chosen and self._fits(move, taken, at_most):
                chosen[name] = move
        return [move for name, move in self.waiting.items() if name in chosen] if chosen else []

    def _fits(self, move: WindowMove, taken: _Taken, share: Callable[[Pair], int]) -> bool:
        """Whether there is room, and each of its pairs has taken less than its share; then the move takes it."""
        if taken.in_all >= self.caps.in_all:
            return False
        if any(taken.by_link[link] >= self._places for link in move.links):
            return False
        if any(taken.by_pair[pair] >= share(pair) for pair in move.pairs):
            return False
        taken.add(move)
        return True

    @property
    def _places(self) -> int:
        """Of a broker, for what it sends, and as many for what it receives."""
        return self.caps.per_broker * (1 + QUEUED_FOR_EACH if self.has_queue else 1)

    def _all_places(self, _: Pair) -> int:
        return self._places

    def _at_first(self, pair: Pair) -> int:
        """The places of a sender and of a receiver that moves from the one to the other take at first."""
        return (self.caps.per_broker + 1) // 2 if self.slow.isdisjoint(pair) else 1

    def _beside_others(self) -> Callable[[Pair], int]:
        """The places of each pair in a controller with a queue: less than would keep other moves from starting, as long
        as there are any."""
        moves = [*self.waiting.values(), *self.moving.values()]
        work = _Taken(moves)
        quick = _Taken(move for move in moves if self.slow.isdisjoint(move.brokers))

        def share(pair: Pair) -> int:
            links = (pair[0], True), (pair[1], False)
            if all(work.by_link[link] == work.by_pair[pair] for link in links):
                return self._places
            gives_way = not self.slow.isdisjoint(pair) and any(quick.by_link[link] for link in links)
            return 1 if gives_way else max(1, self.caps.per_broker - 1)

        return share

    def adapt(self) -> None:
        """Find the slow brokers, by what has ended since the last call: those of which nothing has, while of half of
        the busy brokers something has."""
        busy = {broker for move in self.moving.values() for broker in move.brokers}
        ended, self._ended = self._ended, Counter()
        everyone = busy | ended.keys()
        typical = median(ended[broker] for broker in everyone) if everyone else 0
        self.slow = frozenset(broker for broker in busy if not ended[broker]) if typical >= 1 else frozenset()
