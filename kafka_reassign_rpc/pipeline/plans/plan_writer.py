"""The files and columns of a plan; docs/pipeline.md and docs/plans.md describe them."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.parquet_files import required
from kafka_reassign_rpc.pipeline.plans.plan_directory import AGAIN, LEFT_OUT, MOVES, PlanDirectory, ids_of
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary, read_summary
from kafka_reassign_rpc.pipeline.store_paths import StorePath

_IDS = pa.list_(pa.field("element", pa.int32(), nullable=False))
MOVES_SCHEMA = pa.schema(
    [
        *required(("topic", pa.string()), ("partition", pa.int32()), ("from_replicas", _IDS), ("to_replicas", _IDS)),
        ("leader", pa.int32()),
        *required(("bytes", pa.int64()), ("reason", pa.string()), ("rule", pa.string()), ("batch", pa.int32())),
        *required(("priority", pa.int32())),
        ("first_leader", pa.int32()),
        ("start", pa.int32()),
    ]
)
"""`leader`: in the snapshot; null: none. `start`: over all batch files."""

LEFT_OUT_SCHEMA = pa.schema(
    [
        *required(("topic", pa.string()), ("partition", pa.int32()), ("replicas", _IDS), ("reason", pa.string())),
        ("bytes", pa.int64()),
    ]
)
"""`bytes`: of one replica; null: unknown."""
_LEFT_OUT_ADDED = ("bytes",)
"""Plans of earlier releases lack them."""
_LEFT_OUT_OF_ALL = pa.schema([field for field in LEFT_OUT_SCHEMA if field.name not in _LEFT_OUT_ADDED])


class PlanWriter(PlanDirectory):
    def __init__(self, path: StorePath, at: int) -> None:
        super().__init__(path, MOVES_SCHEMA, LEFT_OUT_SCHEMA, at)

    def write_batch(
        self,
        number: int,
        moves: list[tuple[str, int, tuple[int, ...], tuple[int, ...], int]],
        topic_ids: Mapping[str, str],
    ) -> None:
        """With its rollback. A move is (topic, partition, original replicas, target, first leader)."""
        ids = ids_of((move[0] for move in moves), topic_ids)
        forward = [
            _entry(topic, partition, target, original) | ({"first_leader": first} if first >= 0 else {})
            for topic, partition, original, target, first in moves
        ]
        back = [_entry(topic, partition, original, target) for topic, partition, original, target, _ in reversed(moves)]
        batch, rollback = ({"version": 1, "partitions": some, "topic_ids": ids} for some in (forward, back))
        self._write_files(number, batch, rollback)


def _entry(topic: str, partition: int, replicas: tuple[int, ...], expected: tuple[int, ...]) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "replicas": replicas, "expected_replicas": expected}


def check(path: StorePath) -> PlanSummary:
    """Reads the summary and all footers before a job starts. Raises BadInput."""
    summary = read_summary(path)
    parquet_files.check(path / MOVES, MOVES_SCHEMA)
    parquet_files.check(path / LEFT_OUT, _LEFT_OUT_OF_ALL)
    return summary


def require_all_moves(path: StorePath) -> None:
    """Raises BadInput."""
    parquet_files.require_rows(path / MOVES, MOVES_SCHEMA, read_summary(path).moves, AGAIN)


def require_all_left_out(path: StorePath, partitions: int) -> None:
    """Raises BadInput."""
    parquet_files.require_rows(path / LEFT_OUT, _LEFT_OUT_OF_ALL, partitions, AGAIN)


def read_left_out(path: StorePath) -> pa.Table:
    """Raises BadInput."""
    return parquet_files.read(path / LEFT_OUT, LEFT_OUT_SCHEMA, added=_LEFT_OUT_ADDED)
