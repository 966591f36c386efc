"""The audit job: tables from snapshots taken over time, made of what their chunks show (`audit_chunk`).

Configs in a snapshot at which brokers end when they start, or that they cannot apply.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.core.configs.config_layers import TIERED_STORAGE, ConfigLayers, Configs
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.restarts.ending_values import topic_trouble, troubles
from kafka_reassign_rpc.pipeline.auditing.audit_chunk import (
    Audited,
    AuditFacts,
    audited,
    merged_factors,
    summed,
)
from kafka_reassign_rpc.pipeline.auditing.load_spread import RATE_MEASURES
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.parquet_files import table_in
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows
from kafka_reassign_rpc.pipeline.snapshots.possible_figures import MOST_BYTES
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import FoundSnapshot
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import OF_BROKER, STATIC, TABLES
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.topic_pieces import PieceCaller, Source

ALL_BROKERS = "<default>"
"""As in Kafka's znodes."""
ENDING_CONFIGS = pa.schema([(name, pa.string()) for name in ("resource_type", "resource", "reason")])

OfBrokers = Mapping[str, Sequence[Any]]
"""Rows by broker; "" for all brokers."""


def ending_configs(path: StorePath, brokers: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A row for each fault of a topic or of the cluster-wide configs. `brokers`: rows of the snapshot."""
    configs = snapshot_files.read(path, "configs")
    told = {resource: list(rows) for resource, rows in _by_resource(configs, "broker")}
    defaults = told.pop("", [])
    live = {str(row["broker"]) for row in brokers if row["live"]}
    found = [("broker", ALL_BROKERS, reason) for reason in _of_defaults(_values(defaults), told)]
    tiered = _tiered_storage(live, told)
    for topic, rows in _by_resource(configs, "topic"):
        trouble = topic_trouble(_values(rows), tiered)
        if trouble is not None:
            found.append(("topic", topic, trouble.why))
    return pa.Table.from_pylist([dict(zip(ENDING_CONFIGS.names, row, strict=True)) for row in found], ENDING_CONFIGS)


def _by_resource(configs: pa.Table, kind: str) -> Iterator[tuple[str, Iterator[Any]]]:
    rows = configs.filter(pc.equal(configs["resource_type"], kind)).sort_by("resource")
    each = (row for batch in rows.to_batches(10_000) for row in batch.to_pylist())
    return groupby(each, key=itemgetter("resource"))


def _of_defaults(defaults: Configs, told: OfBrokers) -> Iterator[str]:
    """A broker that tells a value without its source is not judged: the cluster-wide one may or may not replace it."""
    layers = {
        int(broker): ConfigLayers(
            own=_values(row for row in rows if row["source"] == OF_BROKER),
            static=_values(row for row in rows if row["source"] == STATIC),
        )
        for broker, rows in told.items()
        if all(row["source"] is not None for row in rows)
    }
    for names, harm in troubles(defaults, layers):
        yield f"{', '.join(names)}: {harm}"


def _tiered_storage(live: set[str], told: OfBrokers) -> bool | None:
    """None unless the configs of all live brokers are known."""
    if not live <= told.keys():
        return None
    return all(_values(told[broker]).get(TIERED_STORAGE) == "true" for broker in live)


def _values(rows: Any) -> dict[str, str]:
    return {row["name"]: row["value"] for row in rows if row["value"] is not None}


_AT = pa.field("at", pa.int64())
_TARGET_EVENTS = pa.array([catalogue.MOVE_STARTED, catalogue.MOVE_RETARGETED])
BROKERS = pa.schema([
    _AT, ("broker", pa.int32()), ("rack", pa.string()), ("live", pa.bool_()),
    *((name, pa.int64()) for name in ("bytes", "replicas", "leaders", "unknown", "capacity", "holdable")),
    *((name, pa.float64()) for name in RATE_MEASURES),
])  # fmt: skip


def audit_tables(call: PieceCaller, found: Sequence[FoundSnapshot], events: StorePath | None) -> dict[str, pa.Table]:
    """Raises BadInput for unreadable events, and for a partition that stands twice in a snapshot: it would count
    twice.
    """
    last = found[-1]
    brokers = {one.meta.at: read_broker_rows(one.path) for one in found}
    if events is not None:
        event_files.check(events)
    sources = [*(_of_all(found, table) for table in ("partitions", "replicas")), _requests(events)]
    parts = call(sources, audited, _facts(last.meta.at, brokers[last.meta.at]))
    _require_once(parts, found)
    together = {name: pa.concat_tables([getattr(one, name) for one in parts]) for name in Audited._fields[1:]}
    factors = merged_factors(together["factors"])
    mixed = factors.filter(pc.not_equal(factors["least"], factors["most"]))
    partition = ("topic", "partition")
    return {
        "brokers": _brokers(brokers, summed(together["loads"])),
        "drift": _sorted(together["drift"], "seen", *partition),
        "mixed": _sorted(mixed, "topic"),
        "rack_violations": _sorted(together["rack_violations"], *partition),
        "under_replicated": _sorted(together["under_replicated"], *partition),
        "ending_configs": ending_configs(last.path, brokers[last.meta.at]),
    }


def _sorted(table: pa.Table, *names: str) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in names])


def _of_all(found: Sequence[FoundSnapshot], table: str) -> Source:
    """With the time of each row's snapshot; all are in one directory."""
    places = [snapshot_files.table_path(one.path, table) for one in found]
    times = {one.path.name: one.meta.at for one in found}

    def read(file: str, content: bytes) -> pa.Table:
        rows = table_in(file, content, TABLES[table])
        return rows.append_column(_AT, pa.array([times[file.split("/")[-3]]] * len(rows), _AT.type))

    return Source(places, TABLES[table].append(_AT), [read])


def _requests(events: StorePath | None) -> Source:
    """Moves to another replication factor."""
    return Source([] if events is None else [events], event_files.EVENTS, [_requests_in])


def _requests_in(file: str, content: bytes) -> pa.Table:
    rows = table_in(file, content, event_files.EVENTS)
    target, original = (pc.list_value_length(rows[name]) for name in ("target", "original"))
    rows = rows.filter(pc.and_(pc.is_in(rows["event"], _TARGET_EVENTS), pc.not_equal(target, original)))
    return rows.filter(pc.and_(pc.is_valid(rows["topic"]), pc.is_valid(rows["partition"])))


def _facts(last: int, brokers: Sequence[Mapping[str, Any]]) -> AuditFacts:
    racks = {row["broker"]: row["rack"] for row in brokers if row["rack"] is not None}
    live = Counter(row["rack"] for row in brokers if row["live"] and row["rack"] is not None)
    most = range(1, max(live.values(), default=1) + 1)
    return AuditFacts(last, racks, len(live), [sum(min(size, each) for size in live.values()) for each in most])


def _require_once(parts: Sequence[Audited], found: Sequence[FoundSnapshot]) -> None:
    for at, topic, partition in sorted(one for part in parts for one in part.twice)[:1]:
        [path] = (one.path for one in found if one.meta.at == at)
        table = snapshot_files.table_path(path, "partitions")
        raise BadInput(f"{table}: {topic}-{partition} occurs twice: export the snapshot again")


def _brokers(listed: Mapping[int, Sequence[Mapping[str, Any]]], loads: pa.Table) -> pa.Table:
    by_broker = {(row["at"], row["broker"]): row for row in loads.to_pylist()}
    rows = [
        _broker(at, row, by_broker.get((at, row["broker"]), {}))
        for at in sorted(listed)
        for row in sorted(listed[at], key=lambda row: row["broker"])
    ]
    return pa.Table.from_pylist(rows, BROKERS)


def _broker(at: int, row: Mapping[str, Any], load: Mapping[str, Any]) -> dict[str, Any]:
    capacity, free, held = row["capacity_bytes"], row["free_bytes"], load.get("bytes", 0)
    if any(size is not None and size < 0 for size in (capacity, free)) or (
        None not in (capacity, free) and free > capacity
    ):
        capacity = holdable = None
    elif free is None:
        holdable = capacity
    else:  # a network file system tells almost 2**63: sums would not fit
        holdable = held - load.get("comes", 0) + min(free, 4 * MOST_BYTES)
    rates = {name: None if (rate := load.get(name)) is None else float(rate) for name in RATE_MEASURES}
    counts = {name: load.get(name, 0) for name in ("bytes", "replicas", "leaders", "unknown")}
    of_row = {"broker": row["broker"], "rack": row["rack"], "live": row["live"]}
    return {"at": at, **of_row, **counts, "capacity": capacity, "holdable": holdable, **rates}
