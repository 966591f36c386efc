"""Writes plans on disk, as `plan` does, with moves that a test chooses."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanRequest, PlanSummary
from kafka_reassign_rpc.pipeline.plans.plan_writer import PlanWriter
from kafka_reassign_rpc.planner.plan_result import PlannedMove

Replicas = Sequence[int]
Moves = Mapping[tuple[str, int], tuple[Replicas, Replicas]]
"""By partition: the target, and the replicas expected before."""


def write_plan(
    path: Path,
    cluster_id: str,
    *batches: Moves,
    kind: str = "rebalance",
    moves_per_broker: int = 10,
    first_leaders: Mapping[Any, int] | None = None,
    topic_ids: Mapping[str, str] | None = None,
    requested: Mapping[str, Any] | None = None,
) -> Path:
    for folder in ("batches", "rollback"):
        (path / folder).mkdir(parents=True)
    asked = msgspec.structs.replace(SUMMARY.requested, moves_per_broker=moves_per_broker, **(requested or {}))
    summary = msgspec.structs.replace(SUMMARY, kind=kind, cluster_id=cluster_id, at=5, requested=asked)
    (path / "summary.json").write_bytes(msgspec.json.encode(summary))
    first = first_leaders or {}
    for number, batch in enumerate(batches, 1):
        entries = [
            {"topic": topic, "partition": index, "replicas": list(target), "expected_replicas": list(expected)}
            | ({"first_leader": first[topic, index]} if (topic, index) in first else {})
            for (topic, index), (target, expected) in batch.items()
        ]
        batch_file = {"version": 1, "partitions": entries, "topic_ids": dict(topic_ids or {})}
        (path / "batches" / f"batch-{number:04d}.json").write_text(json.dumps(batch_file))
        back = [
            {"topic": topic, "partition": index, "replicas": list(expected), "expected_replicas": list(target)}
            for (topic, index), (target, expected) in reversed(list(batch.items()))
        ]
        rollback_file = {"version": 1, "partitions": back, "topic_ids": dict(topic_ids or {})}
        (path / "rollback" / f"rollback-{number:04d}.json").write_text(json.dumps(rollback_file))
    return path


SUMMARY = PlanSummary(
    kind="rebalance",
    cluster_id="4L6g3nShT-eMCtK--X86sw",
    at=1_763_700_000_000,
    requested=PlanRequest([], [], None, 0, 0.1, 0.05, -1, {}, 10, -1, -1, 1000),
    partitions=100,
    moves=0,
    bytes=0,
    lower_bound=0,
    unknown_sizes=0,
    imbalance_before={},
    imbalance_after={},
    brokers=[],
    racks=[],
    batches=[],
    left_out=[],
    notes=[],
    bandwidth=100_000_000,
    expected_seconds=0.0,
)


def write_full_plan(
    path: Path, *batches: Sequence[PlannedMove], topic_ids: Mapping[str, str] | None = None, **figures: Any
) -> Path:
    """A plan with all of its files but the page; figures: fields of the summary that differ."""
    start = 0
    with PlanWriter(path, SUMMARY.at) as writer:
        for number, batch in enumerate(batches, 1):
            writer.write_batch(number, [(*move[:4], move.first_leader) for move in batch], topic_ids or {})
            for move in batch:
                start += 1
                first = None if move.first_leader < 0 else move.first_leader
                why = (move.reason, move.rule, number, move.priority, first, start)
                writer.moves.add((*move[:4], move.leader, move.bytes, *why))
        copied = sum(move.bytes for batch in batches for move in batch)
        writer.write_summary(msgspec.structs.replace(SUMMARY, **{"moves": start, "bytes": copied, **figures}))
        writer.publish()
    return path
