"""A snapshot: what a cluster looked like at one time, as a directory of Parquet files.

    brokers.parquet     one row for each broker that is alive or that a replica is assigned to
    partitions/         one row for each partition
    replicas/           one row for each replica that a broker says it holds (DescribeLogDirs)
    configs.parquet     topic and broker configs that somebody has set
    meta.json           which cluster, when, from where; written last

A directory without meta.json is no snapshot. A null is "not known": the size of a partition whose leader did not
answer, a rate that nobody has measured.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec
import pyarrow as pa

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter, TableWriter
from kafka_reassign_rpc.support.atomic_files import AtomicDirectory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERSION = 1
META = "meta.json"

_BROKER_IDS = pa.list_(pa.field("element", pa.int32(), nullable=False))


def _field(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


BROKERS = pa.schema(
    [
        _field("broker", pa.int32()),
        pa.field("rack", pa.string()),
        pa.field("host", pa.string()),
        _field("port", pa.int32()),
        pa.field("capacity_bytes", pa.int64()),
        pa.field("free_bytes", pa.int64()),
        _field("live", pa.bool_()),
    ]
)
"""`port` is -1 and `host` null for a broker that is not there; capacities are the sums over its log dirs."""

PARTITIONS = pa.schema(
    [
        _field("topic", pa.string()),
        _field("partition", pa.int32()),
        _field("replicas", _BROKER_IDS),
        _field("leader", pa.int32()),
        _field("isr", _BROKER_IDS),
        _field("adding", _BROKER_IDS),
        _field("removing", _BROKER_IDS),
        pa.field("bytes", pa.int64()),
        pa.field("produce_rate", pa.float64()),
        pa.field("fetch_rate", pa.float64()),
    ]
)
"""`replicas` as Kafka lists them: while a partition moves, its target, then what is to be removed. `leader` is -1 for
none. `bytes` is the size of the leader's replica; rates are bytes per second."""

REPLICAS = pa.schema(
    [
        _field("topic", pa.string()),
        _field("partition", pa.int32()),
        _field("broker", pa.int32()),
        pa.field("bytes", pa.int64()),
        pa.field("log_dir", pa.string()),
        _field("future", pa.bool_()),
    ]
)
"""`future`: a copy that is on its way to another log dir of the same broker."""

CONFIGS = pa.schema(
    [
        _field("resource_type", pa.string()),
        _field("resource", pa.string()),
        _field("name", pa.string()),
        pa.field("value", pa.string()),
    ]
)
"""`resource_type` is "topic" or "broker"; `value` is null for what is secret."""

TABLES = {"brokers": BROKERS, "partitions": PARTITIONS, "replicas": REPLICAS, "configs": CONFIGS}
_PLACES = {
    "brokers": "brokers.parquet",
    "partitions": "partitions",
    "replicas": "replicas",
    "configs": "configs.parquet",
}


class Meta(msgspec.Struct, frozen=True):
    """What a snapshot is of.

    at       milliseconds since 1970 began (UTC), when the export began
    source   the bootstrap servers that were given
    server   what kind of controller answered: "kafka-reassign-rpc" or "kafka"
    """

    cluster_id: str
    at: int
    source: str = ""
    server: str = "kafka"
    version: int = VERSION


class SnapshotWriter:
    """Writes a snapshot beside its place and moves it there at the end; a block that fails leaves nothing.

        with SnapshotWriter(Path("out")) as writer:
            writer.brokers.add((1, "a", "localhost", 9092, None, None, True))
            writer.partitions.extend(…)
            writer.finish(Meta(cluster_id="…", at=…))

    Rows are tuples in the order of the schemas above. Raises BadInput where something stands in the way.
    """

    def __init__(self, path: Path) -> None:
        require_free(path)
        self._directory = AtomicDirectory(path)
        self._hidden = self._directory.hidden
        self.brokers = TableWriter(self._hidden / _PLACES["brokers"], BROKERS)
        self.partitions = DirectoryWriter(self._hidden / _PLACES["partitions"], PARTITIONS)
        self.replicas = DirectoryWriter(self._hidden / _PLACES["replicas"], REPLICAS)
        self.configs = TableWriter(self._hidden / _PLACES["configs"], CONFIGS)

    def finish(self, meta: Meta) -> None:
        """Everything is there: make it a snapshot."""
        for writer in (self.brokers, self.partitions, self.replicas, self.configs):
            writer.close()
        with (self._hidden / META).open("wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._directory.publish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._directory.is_published:
            for writer in (self.brokers, self.partitions, self.replicas, self.configs):
                writer.discard()
            self._directory.discard()


def require_free(path: Path) -> None:
    """Raises BadInput where a snapshot would overwrite something."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BadInput(f"{path}: is there already; give a directory that does not exist or is empty")


def read_meta(path: Path) -> Meta:
    """What the snapshot at `path` is of. Raises BadInput."""
    file = path / META
    try:
        meta = msgspec.json.decode(file.read_bytes(), type=Meta)
    except FileNotFoundError:
        if not path.is_dir():
            raise BadInput(f"{path}: no such directory") from None
        raise BadInput(f"{path}: no snapshot ({META} is missing: empty, or an export that was cut short)") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(f"{file}: {error}") from None
    if meta.version != VERSION:
        raise BadInput(f"{file}: version {meta.version}; this release reads version {VERSION}")
    return meta


def place(path: Path, table: str) -> Path:
    """The file or directory of one of TABLES."""
    return path / _PLACES[table]


def check(path: Path) -> Meta:
    """Look at every file's footer, so that a job does not find out half way. Raises BadInput."""
    meta = read_meta(path)
    for name, schema in TABLES.items():
        if not place(path, name).exists():
            raise BadInput(f"{place(path, name)}: is missing")
        parquet_files.check(place(path, name), schema)
    return meta


def read(path: Path, table: str) -> pa.Table:
    """One table, whole, in memory."""
    return parquet_files.read(place(path, table), TABLES[table])


def batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    """One table, piece by piece."""
    return parquet_files.batches(place(path, table), TABLES[table])


def frame(spark: "SparkSession", path: Path, table: str) -> "DataFrame":
    """One table for Spark. Call `check` before: Spark finds a bad file late and says so at length."""
    return spark.read.schema(parquet_files.spark_schema(TABLES[table])).parquet(str(place(path, table)))
