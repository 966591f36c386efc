"""Refuses rows that no cluster can show, before planner or verifier read them: a size below 0, also -1 where another
program means an unknown one (that is null), a broker without an id, sums that are wrong or too large. Reads some
columns, a batch at a time, and imports no planner and no PySpark.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import MOST_RATE, RATES
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import first_of

MOST_BYTES = 1 << 60
"""1 EiB. No cluster holds more, in all its replicas."""
_NAMED = 20
_BROKERS = {"partitions": ("replicas", "isr", "adding", "removing"), "replicas": ()}
"""Lists of broker ids."""
_FIGURES = {"partitions": ("bytes", *RATES, *_BROKERS["partitions"]), "replicas": ("bytes",)}
_NAMES = {"partitions": ("topic", "partition"), "replicas": ("topic", "partition", "broker")}


def require_possible_figures(path: StorePath) -> None:
    """No size, rate and broker is below 0, a rate is below `MOST_RATE`, lists have a broker in each place, and all
    replicas have `MOST_BYTES` at most. Raises BadInput, which names rows.
    """
    for table in _FIGURES:
        if not _are_possible(path, table):
            raise BadInput(f"{snapshot_files.table_path(path, table)}: {_what_is_odd(path, table)}")


def _are_possible(path: StorePath, table: str) -> bool:
    """The names of rows take most time to read: they are not needed here."""
    held = 0.0
    for batch in snapshot_files.record_batches(path, table, _FIGURES[table]):
        size = np.asarray(pc.fill_null(batch["bytes"], 0)).astype(np.float64)
        held += float((size * _copies(batch)).sum())
        rates = [np.asarray(pc.fill_null(batch[name], 0.0)) for name in RATES if name in batch.schema.names]
        if (size < 0).any() or not all(((rate >= 0) & (rate < MOST_RATE)).all() for rate in rates):
            return False
        if not all(_are_brokers(batch[name]) for name in _BROKERS[table]):
            return False
    return held <= MOST_BYTES


def _what_is_odd(path: StorePath, table: str) -> str:
    """Exact, and slow."""
    held, largest, wrong = 0, (-1, ""), list[str]()
    count = 0
    for batch in snapshot_files.record_batches(path, table, (*_NAMES[table], *_FIGURES[table])):
        for row, copies in zip(batch.to_pylist(), _copies(batch).tolist(), strict=True):
            size, name = row["bytes"] or 0, _name(row)
            held, largest = held + size * copies, max(largest, (size, name))
            rates = [row.get(rate) for rate in RATES]
            fault = ""
            if size < 0:
                fault = f"has {size} bytes"
            elif odd := next((name for name in _BROKERS[table] if not _are_ids(row[name])), ""):
                has_null = row[odd] is None or None in row[odd]
                fault = f"has a null in {odd}: {row[odd]}" if has_null else f"has a broker below 0 in {row[odd]}"
            elif not all(rate is None or 0 <= rate < MOST_RATE for rate in rates):
                fault = "has a rate that is negative, no number or too large"
            count += bool(fault)
            if fault and len(wrong) < _NAMED:
                wrong.append(f"{name} {fault}")
    if wrong:
        return first_of(wrong, _NAMED, of=count, between="; ")
    size, name = largest
    return too_many_bytes(held, name, size)


def too_many_bytes(held: int, largest: str, size: int) -> str:
    """The largest replica may be the odd one."""
    return f"all replicas have {held} bytes, which no cluster holds; the largest is {largest}: {size}"


def _are_brokers(lists: pa.Array) -> bool:
    ids = pc.list_flatten(lists)
    return not lists.null_count and not ids.null_count and (pc.min(ids).as_py() or 0) >= 0


def _are_ids(brokers: list[int | None] | None) -> bool:
    return brokers is not None and all(broker is not None and broker >= 0 for broker in brokers)


def _copies(batch: pa.RecordBatch) -> Any:
    if "replicas" in batch.schema.names:
        return np.asarray(pc.fill_null(pc.list_value_length(batch["replicas"]), 0))
    return np.ones(len(batch), np.int64)


def _name(row: dict[str, Any]) -> str:
    name = f"{row['topic']}-{row['partition']}"
    return f"{name} of broker {row['broker']}" if "broker" in row else name
