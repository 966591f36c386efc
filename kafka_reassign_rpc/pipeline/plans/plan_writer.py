"""Writes a plan as a directory, which appears once all of it is written.

summary.json                     goal, costs, brokers before and after: `plan_summary.PlanSummary`
moves/                           Parquet, one row for each partition that moves, in the order of the batches
left_out/                        Parquet, one row for each partition that the goal concerns and that cannot move
batches/batch-0001.json          as kafka-reassign-partitions takes it, with "expected_replicas" and "topic_ids"
rollback/rollback-0001.json      undoes batch-0001, in the same form; to undo the whole plan, start with the highest
                                 number
"""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.output_directory import output_directory, require_free
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK, SUMMARY, PlanSummary, read_summary
from kafka_reassign_rpc.pipeline.store_paths import RemotePath, StorePath

MOVES, LEFT_OUT = "moves", "left_out"

_IDS = pa.list_(pa.field("element", pa.int32(), nullable=False))
MOVES_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("from_replicas", _IDS, nullable=False),
        pa.field("to_replicas", _IDS, nullable=False),
        pa.field("leader", pa.int32(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
        pa.field("batch", pa.int32(), nullable=False),
        pa.field("priority", pa.int32(), nullable=False),
        pa.field("first_leader", pa.int32()),
        pa.field("start", pa.int32()),
    ]
)
"""`bytes`: copied over all new replicas.

`rule`: the hard rule or the soft goal that moves the partition. `leader`: in the snapshot, -1 for none. `priority`: 0
starts first. `first_leader`: leads before the copy begins; null: the leader stays. `start`: place in the order in which
moves start, from 1 on, over all batch files.
"""

LEFT_OUT_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("replicas", _IDS, nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)


class PlanWriter:
    """Writes under the name `hidden` and renames it at the end; a block that fails leaves nothing."""

    def __init__(self, path: StorePath) -> None:
        require_free(path)
        self._directory = output_directory(path, last=SUMMARY)
        self.hidden = self._directory.hidden
        for name in (BATCHES, ROLLBACK):
            (self.hidden / name).mkdir()
        self.moves = DirectoryWriter(self.hidden / MOVES, MOVES_SCHEMA)
        self.left_out = DirectoryWriter(self.hidden / LEFT_OUT, LEFT_OUT_SCHEMA)

    def write_batch(
        self,
        number: int,
        moves: list[tuple[str, int, tuple[int, ...], tuple[int, ...], int]],
        topic_ids: Mapping[str, str],
    ) -> None:
        """Write a batch and its rollback. A move is (topic, partition, original replicas, target, first leader)."""
        ids = {topic: topic_ids[topic] for topic in sorted({move[0] for move in moves}) if topic in topic_ids}
        forward = [
            _entry(topic, partition, target, original) | ({"first_leader": first} if first >= 0 else {})
            for topic, partition, original, target, first in moves
        ]
        back = [_entry(topic, partition, original, target) for topic, partition, original, target, _ in reversed(moves)]
        _write(
            self.hidden / BATCHES / f"batch-{number:04d}.json", {"version": 1, "partitions": forward, "topic_ids": ids}
        )
        _write(
            self.hidden / ROLLBACK / f"rollback-{number:04d}.json", {"version": 1, "partitions": back, "topic_ids": ids}
        )

    def write_summary(self, summary: PlanSummary) -> None:
        """Call this when all rows are written: `hidden` is then a complete plan."""
        self.moves.close()
        self.left_out.close()
        _write(self.hidden / SUMMARY, summary)

    def publish(self) -> None:
        if not isinstance(self.hidden, RemotePath):
            os.sync()  # one call for thousands of small files
        self._directory.publish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._directory.is_published:
            self.moves.discard()
            self.left_out.discard()
            self._directory.discard()


def _entry(topic: str, partition: int, replicas: tuple[int, ...], expected: tuple[int, ...]) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "replicas": replicas, "expected_replicas": expected}


def _write(file: StorePath, value: object) -> None:
    encoded = msgspec.json.encode(value)
    file.write_bytes(msgspec.json.format(encoded, indent=1 if file.name == SUMMARY else 0) + b"\n")


def check(path: StorePath) -> PlanSummary:
    """Read the summary and all footers before a job starts. Raises BadInput."""
    summary = read_summary(path)
    parquet_files.check(path / MOVES, MOVES_SCHEMA)
    parquet_files.check(path / LEFT_OUT, LEFT_OUT_SCHEMA)
    return summary
