"""A plan of any kind as a directory."""

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.pipeline.output_directory import output_directory, require_free
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK, SUMMARY
from kafka_reassign_rpc.pipeline.store_paths import RemotePath, StorePath

MOVES, LEFT_OUT = "moves", "left_out"
AGAIN = "copy the plan or make it again"


class PlanDirectory:
    """Writes under the name `hidden` and renames it at the end; a block that fails leaves nothing."""

    def __init__(self, path: StorePath, moves: pa.Schema, left_out: pa.Schema, at: int) -> None:
        require_free(path)
        self._directory = output_directory(path, last=SUMMARY)
        self.hidden = self._directory.hidden
        for name in (BATCHES, ROLLBACK):
            (self.hidden / name).mkdir()
        self.moves = DirectoryWriter(self.hidden / MOVES, moves, at=at)
        self.left_out = DirectoryWriter(self.hidden / LEFT_OUT, left_out, at=at)

    def write_summary(self, summary: msgspec.Struct) -> None:
        """After all rows: `hidden` is then a complete plan."""
        self.moves.close()
        self.left_out.close()
        _write(self.hidden / SUMMARY, summary)

    def publish(self) -> None:
        if not isinstance(self.hidden, RemotePath):
            os.sync()  # one call for thousands of small files
        self._directory.publish()

    def _write_files(self, number: int, batch: object, rollback: object) -> None:
        _write(self.hidden / BATCHES / f"batch-{number:04d}.json", batch)
        _write(self.hidden / ROLLBACK / f"rollback-{number:04d}.json", rollback)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._directory.is_published:
            self.moves.discard()
            self.left_out.discard()
            self._directory.discard()


def ids_of(topics: Iterable[str], topic_ids: Mapping[str, str]) -> dict[str, str]:
    return {topic: topic_ids[topic] for topic in sorted(set(topics)) if topic in topic_ids}


def _write(file: StorePath, value: object) -> None:
    encoded = msgspec.json.encode(value)
    file.write_bytes(msgspec.json.format(encoded, indent=1 if file.name == SUMMARY else 0) + b"\n")
