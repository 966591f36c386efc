"""The start order of a plan, from sums by broker: no process needs all moves to find it.

What each broker has to send is a queue, and what it has to receive another. Next comes the move in the queue with the
longest rest; within a queue, larger moves first. So the brokers that need longest are never idle, and only small moves
are left at the end (list scheduling by longest remaining processing time; Graham, Bounds on Multiprocessing Timing
Anomalies, 1969). The rest of a queue is what it has left when a move starts, while others share its network: the few
small moves behind a large one do not wait for its end.
"""

from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import islice
from math import log2

from kafka_reassign_rpc.planner.deterministic_random import partition_key, random_bits
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove, sender_and_receivers

_CLASSES_PER_DOUBLING = 16
_CHANCES = 2**63
_AT_A_TIME = 3
"""Moves of a queue that share its network. Plans that are hard to carry out have about so many."""

Queue = tuple[int, int, bool]
"""Priority, broker, whether it sends."""


class QueueSums:
    """By queue and class of sizes: bytes and moves. Sums of parts of a plan add up."""

    def __init__(self) -> None:
        self.by_queue: dict[Queue, dict[int, tuple[int, int]]] = {}

    def add(self, move: PlannedMove) -> None:
        sender, receivers, each = sender_and_receivers(move)
        if each > 0:
            size = _size_class(each)
            for queue, amount in _queues(move.priority, sender, receivers, each):
                self._add(queue, size, amount, 1)

    def merge(self, other: "QueueSums") -> "QueueSums":
        for queue, theirs in other.by_queue.items():
            for size, (amount, moves) in theirs.items():
                self._add(queue, size, amount, moves)
        return self

    def _add(self, queue: Queue, size: int, amount: int, moves: int) -> None:
        classes = self.by_queue.setdefault(queue, {})
        held = classes.get(size, (0, 0))
        classes[size] = held[0] + amount, held[1] + moves


class StartKeys:
    """Within one priority the higher key starts first."""

    def __init__(self, sums: QueueSums, network: NetworkLimits) -> None:
        self._rests: Mapping[Queue, Mapping[int, tuple[float, float]]] = {
            queue: _rests(classes, network.rate(queue[1])) for queue, classes in sums.by_queue.items()
        }

    def start_key(self, move: PlannedMove, chance: int) -> float:
        """The seconds that the longest of its queues takes from this move on, and half of what its others take: among
        equals, the move goes first that keeps more brokers busy. 0 if it copies nothing. `chance` is its place
        among moves of about the same size.
        """
        sender, receivers, each = sender_and_receivers(move)
        if each <= 0:
            return 0.0
        size, longest, whole, share = _size_class(each), 0.0, 0.0, chance / _CHANCES
        for queue, _ in _queues(move.priority, sender, receivers, each):
            rest, others = self._rests[queue][size]
            longest = max(longest, rest - share * others)
            whole += rest - share * others
        return longest + (whole - longest) / 2


def start_chance(move: PlannedMove) -> int:
    """It decides among equal moves, and fits into a signed column of 64 bits."""
    return random_bits(partition_key(move.topic, move.partition), 1) >> 1


def in_start_order(moves: Iterable[PlannedMove], network: NetworkLimits) -> list[PlannedMove]:
    found, sums = list(moves), QueueSums()
    for move in found:
        sums.add(move)
    keys = StartKeys(sums, network)

    def place(move: PlannedMove) -> tuple[int, float, int, str, int]:
        chance = start_chance(move)
        return move.priority, -keys.start_key(move, chance), chance, move.topic, move.partition

    return sorted(found, key=place)


def _queues(priority: int, sender: int, receivers: Iterable[int], each: int) -> Iterator[tuple[Queue, int]]:
    sent = 0
    for broker in receivers:
        yield (priority, broker, False), each
        sent += each
    if sender >= 0:
        yield (priority, sender, True), sent


def _size_class(size: int) -> int:
    return int(_CLASSES_PER_DOUBLING * log2(size))


def _rests(classes: Mapping[int, tuple[int, int]], rate: int) -> dict[int, tuple[float, float]]:
    """By class: the seconds that the queue still takes when its first move starts, and how many fewer when its last
    does. `_AT_A_TIME` moves share the rate, the largest start first.
    """
    left = float(sum(amount for amount, _ in classes.values()))
    shared, ends, found = 0.0, list[float](), dict[int, tuple[float, float]]()
    for size in sorted(classes, reverse=True):
        amount, moves = classes[size]
        first = None
        for _ in range(moves):
            if len(ends) == _AT_A_TIME:
                over = heappop(ends)
                left -= (over - shared) * _AT_A_TIME
                shared = over
            heappush(ends, shared + amount / moves)
            first = left if first is None else first
        assert first is not None
        found[size] = first / rate, (first - left) / rate
    return found


_LEADERS_COMPARED = 8


def start_priority(isr: Iterable[int], min_isr: int, live: Container[int]) -> int:
    """0, which starts first: fewer live in-sync replicas than min.insync.replicas; 1: one is left."""
    alive = sum([broker in live for broker in isr])
    if alive < min_isr:
        return 0
    return 1 if alive == 1 else 2


class StartOrder:
    """For few moves in flight: by priority; within it every broker gets its first replica, then its second, and so on.
    Among the moves to one broker, the one goes first whose leader has sent least: so all senders and receivers are
    kept equally busy.
    """

    def __init__(self) -> None:
        self._given: Counter[tuple[int, int]] = Counter()
        self._pools: dict[int, dict[int, dict[int, deque[PlannedMove]]]] = {}
        """By priority, receiver, sender."""

    def add(self, move: PlannedMove, priority: int, leader: int) -> None:
        """`leader` is the partition's leader now."""
        receivers = [broker for broker in move.target if broker not in move.original]
        busiest = max(receivers, key=lambda broker: self._given[priority, broker], default=leader)
        self._given.update((priority, broker) for broker in receivers)
        pool = self._pools.setdefault(priority, {}).setdefault(busiest, {})
        pool.setdefault(leader, deque()).append(move)

    def moves(self) -> Iterator[PlannedMove]:
        """Among equals the one that was added first."""
        for priority in sorted(self._pools):
            sent: Counter[int] = Counter()
            pools = list(self._pools.pop(priority).values())
            while pools:
                for pool in pools:
                    leader = min(islice(pool, _LEADERS_COMPARED), key=sent.__getitem__)
                    sent[leader] += 1
                    moves = pool.pop(leader)
                    yield moves.popleft()
                    if moves:
                        pool[leader] = moves
                pools = [pool for pool in pools if pool]
