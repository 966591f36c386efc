"""Rows of a plan and its snapshot, as the verifier's chunks have them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_reassign_rpc.pipeline.planning.verify_chunk import Said, check_chunk, sources_of
from kafka_reassign_rpc.pipeline.planning.verify_facts import PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_sums import CheckedRows

_MOVE = (
    "from_replicas",
    "to_replicas",
    "leader",
    "bytes",
    "batch",
    "priority",
    "first_leader",
    "start",
    "reason",
    "rule",
)
_ENTRY = ("number", "replicas", "expected", "first_leader", "topic_id", "place")
_LEFT_OUT = ("replicas", "reason", "bytes")


def row(before: list[int], after: list[int] | None, **others: Any) -> dict[str, Any]:
    """A partition of 10 bytes that the goal concerns; `after`: its target, None: it does not move."""
    live = [broker for broker in before if broker != 9]
    copied = 10 * len({*(after or ())} - {*before})
    priority = others.pop("priority", 2)
    move = {"first": others.pop("first", None), "copied": others.pop("copied", copied), "start": others.pop("start", 1)}
    leader = others.pop("told_leader", live[0] if live else -1)
    moves, forward, back = [], [], []
    if after is not None:
        why = (others.pop("reason", None), others.pop("rule", "drain"))
        moves = [(before, after, leader, move["copied"], 1, priority, move["first"], move["start"], *why)]
        forward, back = [(1, after, before, move["first"], "id", 0)], [(1, before, after, None, "id", 0)]
    return {
        "topic": "t", "partition": 0, "moves": moves, "forward": forward, "back": back, "left_out": [],
        "concerned": True, "replicas": before, "leader": live[0] if live else -1, "isr": live, "in_flight": False,
        "size": 10, "destination": before, "produce": 0, "fetch": 0, "topic_id": "id", **others,
    }  # fmt: skip


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
    """Moves that tell no reason get the one of their goal."""
    ids = {row["topic"]: row["topic_id"] for row in rows if row.get("topic_id")}
    told = [{**row, "moves": [_with_reason(facts, move) for move in row["moves"]]} for row in rows]
    return check_chunk(said(*told), facts._replace(topic_ids=ids))


def _with_reason(facts: PlanFacts, move: Sequence[Any]) -> Sequence[Any]:
    return move if move[-2] is not None else (*move[:-2], *_reason(facts, move[0], move[1]))


def _reason(facts: PlanFacts, before: Sequence[int], after: Sequence[int]) -> tuple[str, str]:
    """In a plan without figures of brokers: broker 9 is lost, single ones are drained or demoted."""
    if facts.demoted:
        return f"broker {min(facts.demoted)} is to lead nothing", "demote"
    if facts.kind == "set-rf":
        return f"replication factor {len(before)} to {facts.factor}", "replication-factor"
    if facts.kind == "racks":
        counts = Counter(facts.racks[broker] for broker in before)
        return (
            f"uneven over racks: {', '.join(f'{count} in {rack}' for rack, count in sorted(counts.items()))}",
            "racks",
        )
    drained = [f"broker {broker} is to be drained" for broker in facts.drained & {*before}]
    lost = ["broker 9 is lost"] if 9 in before and facts.heals else []
    if text := ", ".join([*lost, *drained]):
        goals = [*(["heal"] if lost else []), *(["drain"] if drained else [])]
        goals += ["expand"] if len({*after} - {*before}) > len(lost + drained) else []
        return (f"{', '.join(goals)}: {text}" if facts.kind == "combine" else text), "live-brokers" if lost else "drain"
    return "other moves need it, to even out brokers", "balance"
