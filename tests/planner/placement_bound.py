"""What the most loaded broker gets and sends: in a plan, and at least in any placement, by linear programming.

In bytes, or in seconds where brokers are given their bandwidth in bytes/s; a broker without one counts as 1 byte/s.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from scipy.optimize import linprog
from scipy.sparse import coo_matrix, vstack

from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster

EVEN: Mapping[int, int] = {}


def received_most(moves: Iterable[PlannedMove], bandwidth: Mapping[int, int] = EVEN) -> float:
    """The bytes, or seconds, of the broker that receives most."""
    received: Counter[int] = Counter()
    for move in moves:
        copies = set(move.target) - set(move.original)
        for broker in copies:
            received[broker] += move.bytes // len(copies)
    return _longest(received, bandwidth)


def sent_most(moves: Iterable[PlannedMove], bandwidth: Mapping[int, int] = EVEN) -> float:
    """The bytes, or seconds, of the broker that sends most."""
    sent: Counter[int] = Counter()
    for move in moves:
        sent[move.sender] += move.bytes
    return _longest(sent, bandwidth)


def _longest(queues: Mapping[int, int], bandwidth: Mapping[int, int]) -> float:
    return max((size / bandwidth.get(broker, 1) for broker, size in queues.items()), default=0)


def least_received(
    cluster: PlannerCluster, moves: Iterable[PlannedMove], places: Iterable[int], bandwidth: Mapping[int, int] = EVEN
) -> float:
    """The least that `received_most` can be, wherever the copies of these moves go.

    The same partitions get as many new replicas beside those that stay. Each copy may be divided over brokers of
    `places`: copies go to one rack each that the partition has not, where there are enough. A copy takes at least its
    size.
    """
    listed, racks = list(places), {one.id: one.rack for one in cluster.brokers}
    work = _Assignment(bandwidth)
    for move in moves:
        kept, copies = set(move.target) & set(move.original), len(set(move.target) - set(move.original))
        if copies:
            free = {racks[broker] for broker in listed} - {racks[broker] for broker in kept}
            gaining = [broker for broker in listed if racks[broker] in free]
            if gains := min(len(free), copies):
                work.add(move.bytes // copies, gains, gaining, racks)
            if copies > gains:
                others = [broker for broker in listed if broker not in kept]
                work.add(move.bytes // copies, copies - gains, others, {})
    return work.least()


def least_received_for_balance(moves: Iterable[PlannedMove]) -> int:
    """The least that `received_most` can be where each broker holds as many bytes afterwards: it gets what it gains."""
    gained = Counter[int]()
    largest = 0
    for move in moves:
        copies = set(move.target) - set(move.original)
        each = move.bytes // max(1, len(copies))
        largest = max(largest, each)
        gained.update(dict.fromkeys(copies, each))
        gained.subtract(dict.fromkeys(set(move.original) - set(move.target), each))
    return max(largest, *gained.values())


def least_sent(cluster: PlannerCluster, moves: Iterable[PlannedMove], bandwidth: Mapping[int, int] = EVEN) -> float:
    """The least that `sent_most` can be, whichever live replicas in sync send what these moves copy."""
    held = {(one.name, part.index): part for one in cluster.topics for part in one.partitions}
    live = {one.id for one in cluster.brokers if one.live}
    work = _Assignment(bandwidth)
    for move in moves:
        if move.bytes:
            work.add(move.bytes, 1, [b for b in held[move.topic, move.partition].isr if b in live], {})
    return work.least()


class _Assignment:
    """Pieces of work, each in parts, divided over some brokers; no broker, and no rack, gets more than one part."""

    def __init__(self, bandwidth: Mapping[int, int]) -> None:
        self._bandwidth = bandwidth
        self._pieces: list[tuple[int, int, list[int], Mapping[int, str | None]]] = []

    def add(self, size: int, parts: int, brokers: list[int], racks: Mapping[int, str | None]) -> None:
        """racks: by broker; empty where several parts may go to one rack."""
        self._pieces.append((size, parts, brokers, racks))

    def least(self) -> float:
        """The least that the broker with most work has."""
        if not self._pieces:
            return 0.0
        brokers = sorted({broker for _, _, allowed, _ in self._pieces for broker in allowed})
        row = {broker: place for place, broker in enumerate(brokers)}
        rate = {broker: self._bandwidth.get(broker, 1) for broker in brokers}
        unit = max(size / max(rate[one] for one in allowed) for size, _, allowed, _ in self._pieces) or 1
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        owner: list[int] = []
        groups: dict[tuple[int, str | None], list[int]] = {}
        for piece, (size, _, allowed, racks) in enumerate(self._pieces):
            for broker in allowed:
                if racks:
                    groups.setdefault((piece, racks[broker]), []).append(len(owner))
                rows.append(row[broker])
                columns.append(len(owner))
                values.append(size / rate[broker] / unit)
                owner.append(piece)
        count = len(owner)
        load = coo_matrix(
            (values + [-1.0] * len(brokers), (rows + list(range(len(brokers))), columns + [count] * len(brokers))),
            shape=(len(brokers), count + 1),
        )
        once = [(turn, column) for turn, held in enumerate(groups.values()) for column in held]
        in_rack = coo_matrix(
            ([1.0] * len(once), ([turn for turn, _ in once], [column for _, column in once])),
            shape=(len(groups), count + 1),
        )
        whole = coo_matrix(([1.0] * count, (owner, range(count))), shape=(len(self._pieces), count + 1))
        found = linprog(
            [0.0] * count + [1.0],
            A_ub=vstack([load, in_rack]).tocsr(),
            b_ub=[0.0] * len(brokers) + [1.0] * len(groups),
            A_eq=whole.tocsr(),
            b_eq=[parts for _, parts, _, _ in self._pieces],
            bounds=[(0, 1)] * count + [(0, None)],
        )
        assert found.success, found.message
        return max(float(found.fun) * unit, self._longest_piece(rate))

    def _longest_piece(self, rate: Mapping[int, int]) -> float:
        """No piece can be divided: where it is done soonest, behind the pieces that only this broker can do."""
        alone = Counter[int]()
        for size, _, allowed, _ in self._pieces:
            if len(allowed) == 1:
                alone[allowed[0]] += size
        return max(
            min((size + alone[one] * (len(allowed) > 1)) / rate[one] for one in allowed)
            for size, _, allowed, _ in self._pieces
        )
