"""The moves of a plan for reviewers, without Spark. In the plan's order memory holds one record batch; any other order
holds all moves, some 200 bytes each.
"""

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.plans.plan_directory import MOVES
from kafka_reassign_rpc.pipeline.plans.plan_writer import MOVES_SCHEMA
from kafka_reassign_rpc.pipeline.store_paths import StorePath

_ROWS = 10_000
SORTS: dict[str, list[tuple[str, str]]] = {
    "start": [],
    "topic": [("topic", "ascending"), ("partition", "ascending")],
    "bytes": [("bytes", "descending"), ("topic", "ascending"), ("partition", "ascending")],
    "reason": [("rule", "ascending"), ("reason", "ascending"), ("topic", "ascending"), ("partition", "ascending")],
}
"""Columns of `moves/` by order. The first is start order."""


class ListedMove(NamedTuple):
    """A row of `moves/`."""

    topic: str
    partition: int
    from_replicas: list[int]
    to_replicas: list[int]
    leader: int | None
    bytes: int
    reason: str
    rule: str
    batch: int
    priority: int
    first_leader: int | None = None
    start: int | None = None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def sender(self) -> int | None:
        return self.leader if self.first_leader is None else self.first_leader

    @property
    def gaining(self) -> list[int]:
        return [broker for broker in self.to_replicas if broker not in self.from_replicas]

    @property
    def losing(self) -> list[int]:
        return [broker for broker in self.from_replicas if broker not in self.to_replicas]

    @property
    def concerned(self) -> set[int]:
        """Brokers that gain or lose the replica, that send it, or that begin or cease to be its preferred leader."""
        found = {*self.gaining, *self.losing}
        if self.gaining and self.sender is not None:
            found.add(self.sender)
        if self.from_replicas[:1] != self.to_replicas[:1]:
            found.update(self.from_replicas[:1], self.to_replicas[:1])
        return found


class MoveFilter(msgspec.Struct, frozen=True):
    """Moves must fit every given condition, by any of its values.

    topics     names, or patterns such as orders-*
    brokers    see `ListedMove.concerned`
    reasons    parts of the reason or of the rule
    """

    topics: tuple[str, ...] = ()
    brokers: frozenset[int] = frozenset()
    reasons: tuple[str, ...] = ()
    batches: frozenset[int] = frozenset()

    def has_topic(self, topic: str) -> bool:
        return not self.topics or any(fnmatchcase(topic, one) for one in self.topics)

    def fits(self, move: ListedMove) -> bool:
        return (
            self.has_topic(move.topic)
            and (not self.batches or move.batch in self.batches)
            and (not self.reasons or any(one in move.reason or one in move.rule for one in self.reasons))
            and (not self.brokers or not self.brokers.isdisjoint(move.concerned))
        )


class Found(NamedTuple):
    """`row` counts in `moves/` from 0."""

    row: int
    move: ListedMove


def read_moves(plan: StorePath, wanted: MoveFilter, sort: str = "start", limit: int | None = None) -> Iterator[Found]:
    """`sort`: a key of SORTS. Raises BadInput."""
    rows = _in_order(plan) if not SORTS[sort] else _sorted(plan, SORTS[sort])
    return islice((one for one in rows if wanted.fits(one.move)), limit)


def topic_names(plan: StorePath) -> set[str]:
    """Raises BadInput."""
    names: set[str] = set()
    for batch in parquet_files.record_batches(plan / MOVES, MOVES_SCHEMA):
        names.update(pc.unique(batch.column("topic")).to_pylist())
    return names


def _in_order(plan: StorePath) -> Iterator[Found]:
    row = 0
    for batch in parquet_files.record_batches(plan / MOVES, MOVES_SCHEMA, rows=_ROWS):
        for move in as_moves(batch):
            yield Found(row, move)
            row += 1


def _sorted(plan: StorePath, keys: list[tuple[str, str]]) -> Iterator[Found]:
    table = parquet_files.read(plan / MOVES, MOVES_SCHEMA)
    order = pc.sort_indices(table, sort_keys=keys)
    for first in range(0, len(order), _ROWS):
        rows = order.slice(first, _ROWS)
        yield from map(Found, rows.to_pylist(), as_moves(table.take(rows)))


def as_moves(rows: pa.RecordBatch | pa.Table) -> Iterator[ListedMove]:
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    leader = columns["leader"]
    columns["leader"] = pc.if_else(pc.less(leader, 0), None, leader)  # plans of earlier releases: -1
    return map(ListedMove, *(column.to_pylist() for column in columns.values()))


# -- sums --------------------------------------------------------------------------------------------------------------


class GroupSums(msgspec.Struct):
    moves: int = 0
    bytes: int = 0


class BrokerSums(msgspec.Struct):
    gets: int = 0
    bytes_in: int = 0
    loses: int = 0
    bytes_out: int = 0


GROUPS: dict[str, Callable[[ListedMove], str | int]] = {
    "topic": lambda move: move.topic,
    "reason": lambda move: move.reason,
    "rule": lambda move: move.rule,
    "batch": lambda move: move.batch,
}


def group_sums(moves: Iterable[ListedMove], by: str) -> list[tuple[str | int, GroupSums]]:
    key, sums = GROUPS[by], dict[str | int, GroupSums]()
    for move in moves:
        group = sums.setdefault(key(move), GroupSums())
        group.moves += 1
        group.bytes += move.bytes
    if by == "batch":
        return sorted(sums.items(), key=lambda item: item[0])
    return sorted(sums.items(), key=lambda item: (-item[1].bytes, -item[1].moves, item[0]))


def broker_sums(moves: Iterable[ListedMove]) -> list[tuple[int, BrokerSums]]:
    sums: dict[int, BrokerSums] = {}
    for move in moves:
        gaining = move.gaining
        for place, broker in enumerate(gaining):
            of = sums.setdefault(broker, BrokerSums())
            of.gets += 1
            # `bytes` is that of all copies, which are equally large: what does not divide goes to the first of them
            of.bytes_in += move.bytes // len(gaining) + (place < move.bytes % len(gaining))
        for broker in move.losing:
            sums.setdefault(broker, BrokerSums()).loses += 1
        if gaining and move.sender is not None:
            sums.setdefault(move.sender, BrokerSums()).bytes_out += move.bytes
    return sorted(sums.items())
