"""In which order moves should start where only so many may be under way at a time."""

from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice

from kafka_reassign_rpc.planner.values import PlannedMove

CANDIDATES = 8
"""So many leaders are compared before one of them sends."""


class Turns:
    """By priority, and within one: what brings each broker its first replica, then its second one, and so on. Which one
    of a broker's moves that is goes by its leader: whoever has sent least sends next.

    So the moves that are under way, of which there may be few, keep all brokers equally busy, on both sides.
    """

    def __init__(self) -> None:
        self._given: Counter[tuple[int, int]] = Counter()
        self._pools: dict[int, dict[int, dict[int, deque[PlannedMove]]]] = {}
        """By priority, by the broker that gets a replica, by the leader that it is copied from."""

    def add(self, move: PlannedMove, priority: int, leader: int) -> None:
        """`leader`: the partition's, as things stand now."""
        newcomers = [broker for broker in move.target if broker not in move.origin]
        busiest = max(newcomers, key=lambda broker: self._given[priority, broker], default=leader)
        self._given.update((priority, broker) for broker in newcomers)
        pool = self._pools.setdefault(priority, {}).setdefault(busiest, {})
        pool.setdefault(leader, deque()).append(move)

    def moves(self) -> Iterator[PlannedMove]:
        """All that were added, once; of those that are as good in their turn the first one."""
        for priority in sorted(self._pools):
            sent: Counter[int] = Counter()
            pools = list(self._pools.pop(priority).values())
            while pools:
                for pool in pools:
                    leader = min(islice(pool, CANDIDATES), key=sent.__getitem__)
                    sent[leader] += 1
                    moves = pool.pop(leader)
                    yield moves.popleft()
                    if moves:
                        pool[leader] = moves
                pools = [pool for pool in pools if pool]
