from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator
from itertools import islice

from kafka_reassign_rpc.planner.plan_result import PlannedMove

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
