"""Writes, checks and reads snapshots: directories of Parquet files (`snapshot_schema`), complete with meta.json.

Snapshots that were taken over time, in one directory. Does not import PySpark, which takes seconds.
"""

from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.reassignment_algebra import MIN_INSYNC_REPLICAS
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.output_directory import output_directory, require_free
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter, TableWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import (
    ADDED,
    BROKERS,
    CONFIGS,
    FILES,
    IN_EVERY_SNAPSHOT,
    LOG_DIRS,
    META,
    OPTIONAL,
    PARTITIONS,
    REPLICAS,
    TABLES,
    TOPICS,
    VERSION,
    SnapshotMeta,
)
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath, write_file
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.secrecy import told_path

_AGAIN = f"copy or export the snapshot again (who changes a table on purpose takes its rows out of {META})"


class SnapshotWriter:
    """Writes under a hidden name and renames it at the end; a block that fails leaves nothing.

        with SnapshotWriter(Path("out")) as writer:
            writer.brokers.add((1, "a", "localhost", 9092, None, None, True))
            writer.partitions.extend(…)
            writer.finish(SnapshotMeta(cluster_id="…", at=…))

    Rows are tuples in the order of `snapshot_schema`. `at`: when it is taken. Raises BadInput if `path` is taken.
    """

    def __init__(self, path: StorePath, at: int | None = None) -> None:
        require_free(path)
        self._directory = output_directory(path, last=META)
        self._hidden = self._directory.hidden
        self.brokers = TableWriter(self._hidden / FILES["brokers"], BROKERS, at=at)
        self.log_dirs = TableWriter(self._hidden / FILES["log_dirs"], LOG_DIRS, at=at)
        self.topics = TableWriter(self._hidden / FILES["topics"], TOPICS, at=at)
        self.partitions = DirectoryWriter(self._hidden / FILES["partitions"], PARTITIONS, at=at)
        self.replicas = DirectoryWriter(self._hidden / FILES["replicas"], REPLICAS, at=at)
        self.configs = TableWriter(self._hidden / FILES["configs"], CONFIGS, at=at)

    def finish(self, meta: SnapshotMeta) -> None:
        for writer in self._writers().values():
            writer.close()
        meta = msgspec.structs.replace(meta, rows={table: writer.rows for table, writer in self._writers().items()})
        write_file(self._hidden / META, msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n", sync=True)
        self._directory.publish()

    def _writers(self) -> Mapping[str, TableWriter | DirectoryWriter]:
        return {
            "brokers": self.brokers,
            "log_dirs": self.log_dirs,
            "topics": self.topics,
            "partitions": self.partitions,
            "replicas": self.replicas,
            "configs": self.configs,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._directory.is_published:
            for writer in self._writers().values():
                writer.discard()
            self._directory.discard()


def read_meta(path: StorePath) -> SnapshotMeta:
    """Raises BadInput."""
    file = path / META
    try:
        meta = msgspec.json.decode(file.read_bytes(), type=SnapshotMeta)
    except FileNotFoundError:
        if not path.is_dir():
            raise BadInput(f"{told_path(str(path))}: no such directory") from None
        raise BadInput(f"{path}: no snapshot ({META} is missing: empty, or an export that was cut short)") from None
    except (OSError, *NO_JSON) as error:
        raise BadInput(f"{file}: {error}") from None
    if meta.version != VERSION:
        raise BadInput(f"{file}: version {meta.version}; this release reads version {VERSION}")
    return meta


def table_path(path: StorePath, table: str) -> StorePath:
    return path / FILES[table]


def check(path: StorePath) -> SnapshotMeta:
    """Reads the footer of every file, so that a job does not fail half way. Raises BadInput."""
    meta = read_meta(path)
    for name, schema in IN_EVERY_SNAPSHOT.items():
        if not table_path(path, name).exists():
            if name in OPTIONAL and name not in meta.rows:
                continue
            raise BadInput(f"{table_path(path, name)}: is missing")
        if name in meta.rows:
            parquet_files.require_rows(table_path(path, name), schema, meta.rows[name], _AGAIN)
        else:
            parquet_files.check(table_path(path, name), schema)
    return meta


def count_partitions(path: StorePath) -> int:
    """By the footers. Raises BadInput."""
    return parquet_files.check(table_path(path, "partitions"), IN_EVERY_SNAPSHOT["partitions"])


def read(path: StorePath, table: str) -> pa.Table:
    """A whole small table; empty if the snapshot lacks an optional one."""
    if table in OPTIONAL and not table_path(path, table).exists():
        return TABLES[table].empty_table()
    return parquet_files.read(table_path(path, table), TABLES[table], added=ADDED[table])


def topic_ids(path: StorePath) -> dict[str, str]:
    """Without unknown ids."""
    table = read(path, "topics")
    pairs = zip(table["topic"].to_pylist(), table["topic_id"].to_pylist(), strict=True)
    return {topic: topic_id for topic, topic_id in pairs if topic_id}


def min_isrs(path: StorePath) -> tuple[dict[str, int], int]:
    """Of the topics that set it, and the cluster's default."""
    own: dict[str, int] = {}
    default = 1
    for row in rows(path, "configs"):
        number = whole_number(row["value"] or "", 0, INT32) if row["name"] == MIN_INSYNC_REPLICAS else None
        if number is not None:
            if row["resource_type"] == "topic":
                own[row["resource"]] = number
            elif row["resource"] == "":
                default = number
    return own, default


def topic_names(path: StorePath) -> set[str]:
    """A snapshot of an earlier release names topics by their partitions alone."""
    names = set(read(path, "topics")["topic"].to_pylist())
    for batch in () if names else record_batches(path, "partitions", ["topic"]):
        names.update(batch.column("topic").unique().to_pylist())
    return names


def topics_with_partitions(path: StorePath, topics: Collection[str]) -> set[str]:
    """Reads one column of all partitions."""
    wanted, found = pa.array(sorted(topics), pa.string()), set[str]()
    for batch in record_batches(path, "partitions", ["topic"]):
        names = batch.column("topic")
        found.update(names.filter(pc.is_in(names, wanted)).unique().to_pylist())
    return found


def record_batches(path: StorePath, table: str, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
    """`columns`: None: all. Those that earlier snapshots lack are null there."""
    schema = TABLES[table] if columns is None else pa.schema([TABLES[table].field(name) for name in columns])
    added = [name for name in ADDED[table] if name in schema.names]
    return parquet_files.record_batches(table_path(path, table), schema, added=added)


def rows(path: StorePath, table: str) -> Iterator[dict[str, Any]]:
    for batch in record_batches(path, table):
        yield from batch.to_pylist()


class FoundSnapshot(NamedTuple):
    path: StorePath
    meta: SnapshotMeta


def find_snapshots(directory: StorePath) -> list[FoundSnapshot]:
    """The oldest comes first; the directory itself may be one. Raises BadInput if there is none, one is unreadable, or
    they are of several clusters.
    """
    if not directory.is_dir():
        raise BadInput(f"{told_path(str(directory))}: no such directory")
    paths = [directory] if (directory / META).exists() else _directories_inside(directory)
    if not paths:
        raise BadInput(f"{directory}: no snapshots there; `kafka-reassign-rpc export` writes them")
    found = sorted((_checked(path, len(paths) > 1) for path in paths), key=lambda one: (one.meta.at, one.path))
    first = found[0]
    for one in found:
        if one.meta.cluster_id != first.meta.cluster_id:
            raise BadInput(
                f"{directory}: snapshots of different clusters: {first.path.name} is of {first.meta.cluster_id}, "
                f"{one.path.name} of {one.meta.cluster_id}"
            )
        if one is not first and one.meta.at == first.meta.at:
            raise BadInput(f"{directory}: {first.path.name} and {one.path.name} were taken at the same time")
        first = one
    return found


def _checked(path: StorePath, is_one_of_several: bool) -> FoundSnapshot:
    try:
        return FoundSnapshot(path, check(path))
    except BadInput as error:
        if not is_one_of_several:
            raise
        raise BadInput(f"{error}; or move {path.name} out of {path.parent}, to do without it") from None


def _directories_inside(directory: StorePath) -> list[StorePath]:
    """A hidden directory belongs to an unfinished export."""
    inside = [path for path in directory.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return [path for path in inside if (path / META).exists() or (path / "partitions").exists()]
