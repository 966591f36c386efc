"""Rows of a plan and its snapshot, as the verifier's chunks have them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_reassign_rpc.pipeline.planning.verify_chunk import Said, check_chunk, sources_of
from kafka_reassign_rpc.pipeline.planning.verify_facts import PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_sums import CheckedRows

_MOVE = ("from_replicas", "to_replicas", "leader", "bytes", "batch", "priority", "first_leader", "start", "reason")
_ENTRY = ("number", "replicas", "expected", "first_leader", "topic_id", "place")
_LEFT_OUT = ("replicas", "reason", "bytes")


def said(*rows: Mapping[str, Any]) -> Said:
    """A row has the tuples of its tables, and what the snapshot says; `replicas` None: it does not have it."""
    names = {"moves": _MOVE, "left_out": _LEFT_OUT, "forward": _ENTRY, "back": _ENTRY}
    tables: dict[str, list[dict[str, Any]]] = {table: [] for table in Said._fields}
    for row in rows:
        key = {"topic": row["topic"], "partition": row["partition"]}
        for table, columns in names.items():
            usual = key | ({"bytes": row["size"]} if table == "left_out" else {})
            tables[table] += [usual | dict(zip(columns, values, strict=False)) for values in row[table]]
        if (replicas := row["replicas"]) is not None:
            wanted = row.get("destination") or replicas
            tables["partitions"].append(key | {
                "replicas": replicas, "leader": row["leader"], "isr": row["isr"], "bytes": row["size"],
                "adding": [broker for broker in wanted if broker not in replicas],
                "removing": [broker for broker in replicas if broker not in wanted], "waiting": row["in_flight"],
                **{f"{rate}_rate": float(row.get(rate, 0)) for rate in ("produce", "fetch")},
                **{f"{rate}_rate": float(row.get(name, 0)) for rate, name in (("message", "messages"), ("cpu", "cpu"))},
            })  # fmt: skip
    schemas = {name: source.schema for name, source in sources_of(Path(), Path())._asdict().items()}
    return Said(*(_table(tables[name], schemas[name]) for name in Said._fields))


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array([row.get(name) for row in rows], schema.field(name).type) for name in schema.names]
    return pa.table(dict(zip(schema.names, arrays, strict=True)))


def check(facts: PlanFacts, *rows: Mapping[str, Any]) -> CheckedRows:
    ids = {row["topic"]: row["topic_id"] for row in rows if row.get("topic_id")}
    return check_chunk(said(*rows), facts._replace(topic_ids=ids))
