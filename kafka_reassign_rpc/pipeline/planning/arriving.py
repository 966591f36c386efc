"""What moves that a snapshot shows have yet to copy to each broker."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.planning.snapshot_survey import Coming
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker

KEY = ["topic", "partition", "broker"]


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
    rows = [(one.topic, one.partition, one.broker, one.bytes) for one in coming if one.bytes is not None]
    types = (pa.string(), pa.int32(), pa.int32(), pa.int64())
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], [*KEY, "bytes"])


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
