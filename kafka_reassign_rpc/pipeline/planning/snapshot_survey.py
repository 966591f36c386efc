"""What a chunk of a snapshot tells before the first round, and what moves that it shows have yet to copy to each
broker."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.core.brokers.departure import BrokerFacts, Losses
from kafka_reassign_rpc.pipeline.parquet_files import table_of
from kafka_reassign_rpc.planner.goals_and_options import Goal
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker
from kafka_reassign_rpc.planner.proposals.round_sums import Survey

NAMED_ROWS = 20


class ClusterFacts(NamedTuple):
    """brokers          all that the snapshot lists
    departing        the live ones, if the goal empties brokers
    racks            of all live brokers; None: spreads do not matter
    """

    goal: Goal
    brokers: frozenset[int]
    live: frozenset[int]
    min_isrs: dict[str, int]
    default_min_isr: int
    departing: Mapping[int, BrokerFacts] | None = None
    racks: Mapping[int, str] | None = None


class RowFaults(NamedTuple):
    total: int
    first: tuple[str, ...]

    @classmethod
    def of(cls, named: Collection[str]) -> "RowFaults":
        return cls(len(named), tuple(sorted(named)[:NAMED_ROWS]))

    def merge(self, other: "RowFaults") -> "RowFaults":
        return RowFaults(self.total + other.total, tuple(sorted((*self.first, *other.first))[:NAMED_ROWS]))


class Coming(NamedTuple):
    """A replica that a move adds. `waits`: the snapshot does not list it yet; `bytes`: None if not known."""

    topic: str
    partition: int
    broker: int
    bytes: int | None
    waits: bool


class SnapshotSurvey(NamedTuple):
    """faults      rows that no cluster can show
    unusable    partitions that stay as they are, whatever the goal
    unlisted    brokers that the snapshot does not list, with the first partitions there
    largest     bytes of the largest replica, and its partition (of equal ones the last name); 0 bytes: no size is known
    losses      what would be lost if drained brokers went now; None: none is drained
    unsized     the first partitions without a size
    other_topics, too_small    partitions that the goal leaves as they are: by their topic; of its topics, by their size
    """

    survey: Survey
    faults: RowFaults = RowFaults(0, ())
    unusable: RowFaults = RowFaults(0, ())
    unlisted: Mapping[int, tuple[str, ...]] = MappingProxyType({})
    largest: tuple[int, str] = (0, "")
    losses: Losses | None = None
    unsized: tuple[tuple[str, int], ...] = ()
    coming: tuple[Coming, ...] = ()
    other_topics: int = 0
    too_small: int = 0

    def merge(self, other: "SnapshotSurvey") -> "SnapshotSurvey":
        return SnapshotSurvey(
            self.survey.merge(other.survey),
            self.faults.merge(other.faults),
            self.unusable.merge(other.unusable),
            _merged_names(self.unlisted, other.unlisted),
            max(self.largest, other.largest),
            _merged_losses([one.losses for one in (self, other) if one.losses is not None]),
            tuple(sorted((*self.unsized, *other.unsized))[:NAMED_ROWS]),
            (*self.coming, *other.coming),
            self.other_topics + other.other_topics,
            self.too_small + other.too_small,
        )


def _merged_names(
    one: Mapping[int, tuple[str, ...]], other: Mapping[int, tuple[str, ...]]
) -> dict[int, tuple[str, ...]]:
    merged = dict(one)
    for broker, names in other.items():
        merged[broker] = tuple(sorted((*merged.get(broker, ()), *names))[:NAMED_ROWS])
    return merged


def _merged_losses(found: Iterable[Losses]) -> Losses | None:
    merged = None
    for one in found:
        if merged is None:
            merged = Losses()
        merged.merge(one, NAMED_ROWS)
    return merged


KEY = ["topic", "partition", "broker"]
_WANTED = pa.schema([*zip(KEY, (pa.string(), pa.int32(), pa.int32()), strict=True), ("bytes", pa.int64())])


class Arriving(NamedTuple):
    """Bytes, and replicas of unknown size. `waiting_…`: of waiting moves, whose replicas the snapshot does not list
    yet.
    """

    bytes: int = 0
    unknown: int = 0
    waiting_bytes: int = 0
    waiting_unknown: int = 0


def wanted_replicas(coming: Iterable[Coming]) -> pa.Table:
    """Those of a known size."""
    return table_of([one[:4] for one in coming if one.bytes is not None], _WANTED)


def copied(replicas: pa.Table, wanted: pa.Table) -> dict[int, int]:
    """By broker: bytes of the `wanted` replicas that are there. A replica has the size that DescribeLogDirs tells, at
    most its leader's.
    """
    there = replicas.filter(pc.invert(replicas["future"])).select([*KEY, "bytes"]).rename_columns([*KEY, "held"])
    both = there.join(wanted, KEY, join_type="inner").to_pylist()
    found = dict[int, int]()
    for row in both:
        if row["held"] is not None:
            found[row["broker"]] = found.get(row["broker"], 0) + min(row["held"], row["bytes"])
    return found


def merge_copied(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {broker: one.get(broker, 0) + other.get(broker, 0) for broker in {*one, *other}}


def arriving(coming: Iterable[Coming], done: Mapping[int, int]) -> dict[int, Arriving]:
    found: dict[int, Arriving] = {}
    for _, _, broker, size, waits in coming:
        one = found.get(broker, Arriving())
        if size is None:
            one = one._replace(unknown=one.unknown + 1, waiting_unknown=one.waiting_unknown + waits)
        else:
            one = one._replace(bytes=one.bytes + size, waiting_bytes=one.waiting_bytes + waits * size)
        found[broker] = one
    for broker, size in done.items():
        found[broker] = found[broker]._replace(bytes=found[broker].bytes - size)
    return found


def with_arriving(brokers: Mapping[int, PlannerBroker], found: Mapping[int, Arriving]) -> dict[int, PlannerBroker]:
    return {broker: _with(one, found.get(broker, Arriving())) for broker, one in brokers.items()}


def _with(broker: PlannerBroker, coming: Arriving) -> PlannerBroker:
    """The snapshot's free bytes show what is copied, its replicas what is in flight."""
    only_waiting = broker.free == UNKNOWN
    return msgspec.structs.replace(
        broker,
        arriving=coming.waiting_bytes if only_waiting else coming.bytes,
        arriving_unknown=coming.waiting_unknown if only_waiting else coming.unknown,
    )
