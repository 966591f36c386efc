"""The files and columns of a snapshot; meta.json is written last."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec
import pyarrow as pa

VERSION = 1
LAST_AT = 253_402_300_799_000
"""The end of the year 9999, the last that Python can show, in ms since the epoch."""
META = "meta.json"

_NO_SIZE = "the broker is not live, or one of them does not report its size"
_NO_DIR = "it is offline, or does not report its size"
_BROKER_IDS = pa.list_(pa.field("element", pa.int32(), nullable=False))
_TEXT, _FLAG, _NUMBER, _LONG, _RATE = pa.string(), pa.bool_(), pa.int32(), pa.int64(), pa.float64()


class Column(NamedTuple):
    """docs/snapshots.md is written from them.

    null    what a null means; "": there is none
    added   snapshots of earlier releases lack the column: nulls
    """

    name: str
    kind: pa.DataType
    meaning: str
    unit: str = ""
    null: str = ""
    added: bool = False


COLUMNS: Mapping[str, Sequence[Column]] = {
    "brokers": (
        Column("broker", _NUMBER, "its id"),
        Column("rack", _TEXT, "its rack", null="it has none, or is not live"),
        Column("host", _TEXT, "its address", null="it is not live"),
        Column("port", _NUMBER, "its port", "", "it is not live"),
        Column("capacity_bytes", _LONG, "of the volumes of its online log dirs, each once", "bytes", _NO_SIZE),
        Column("free_bytes", _LONG, "what is free on them", "bytes", _NO_SIZE),
        Column("live", _FLAG, "whether it is live"),
        Column("cordoned", _FLAG, "whether it gets no new replica (KIP-1066)", null="unknown", added=True),
    ),
    "log_dirs": (
        Column("broker", _NUMBER, "the id of its broker"),
        Column("log_dir", _TEXT, "its path"),
        Column("online", _FLAG, "whether it is online"),
        Column(
            "volume", _NUMBER, "log dirs with the same number share a volume, as far as sizes show it", null=_NO_DIR
        ),
        Column("volume_bytes", _LONG, "the size of the volume", "bytes", _NO_DIR),
        Column("free_bytes", _LONG, "what is free on it", "bytes", _NO_DIR),
        Column(
            "cordoned", _FLAG, "whether it gets no new replica, whatever its broker does", null="unknown", added=True
        ),
    ),
    "topics": (
        Column("topic", _TEXT, "its name"),
        Column("topic_id", _TEXT, "as Kafka prints it: a topic that is created again has another", null="unknown"),
    ),
    "partitions": (
        Column("topic", _TEXT, "the name of its topic"),
        Column("partition", _NUMBER, "its number"),
        Column(
            "replicas",
            _BROKER_IDS,
            "as Kafka lists them: during a move the target, then the removing replicas. Where the move waits, the"
            " present ones",
        ),
        Column("leader", _NUMBER, "its leader; of earlier releases -1: none", "", "it has none"),
        Column("isr", _BROKER_IDS, "the replicas in sync"),
        Column("adding", _BROKER_IDS, "the replicas that the move adds, or will add"),
        Column("removing", _BROKER_IDS, "the replicas that the move removes, or will remove"),
        Column("bytes", _LONG, "the size of the leader's replica", "bytes", "unknown"),
        Column("produce_rate", _RATE, "what clients produce", "bytes/s", "unknown"),
        Column("fetch_rate", _RATE, "what clients fetch", "bytes/s", "unknown"),
        Column("waiting", _FLAG, "whether the move waits in the queue of a server", null="unknown", added=True),
        Column("message_rate", _RATE, "what clients produce", "messages/s", "unknown", added=True),
        Column("cpu_rate", _RATE, "the leader's CPU for the partition", "µs/s", "unknown", added=True),
    ),
    "replicas": (
        Column("topic", _TEXT, "the name of the topic"),
        Column("partition", _NUMBER, "the number of the partition"),
        Column("broker", _NUMBER, "the broker that holds it"),
        Column("bytes", _LONG, "its size", "bytes", "unknown"),
        Column("log_dir", _TEXT, "where it lies", null="unknown"),
        Column("future", _FLAG, "whether it is a log that the broker copies to another of its log dirs"),
    ),
    "configs": (
        Column("resource_type", _TEXT, "`topic` or `broker`"),
        Column("resource", _TEXT, "the topic, or the id of the broker; empty: all brokers"),
        Column("name", _TEXT, "the name of the config"),
        Column("value", _TEXT, "its value", null="it is secret"),
        Column("source", _NUMBER, "the number of Kafka's ConfigSource", null="unknown", added=True),
    ),
}
ADDED = {table: tuple(column.name for column in columns if column.added) for table, columns in COLUMNS.items()}


def _schema(columns: Iterable[Column]) -> pa.Schema:
    return pa.schema([pa.field(column.name, column.kind, nullable=bool(column.null)) for column in columns])


TABLES = {table: _schema(columns) for table, columns in COLUMNS.items()}
IN_EVERY_SNAPSHOT = {
    table: _schema(column for column in columns if not column.added) for table, columns in COLUMNS.items()
}
BROKERS, LOG_DIRS, TOPICS = TABLES["brokers"], TABLES["log_dirs"], TABLES["topics"]
PARTITIONS, REPLICAS, CONFIGS = TABLES["partitions"], TABLES["replicas"], TABLES["configs"]

RATES = ("produce_rate", "fetch_rate", "message_rate", "cpu_rate")
"""Columns of `partitions`: the rates of a partition."""
MOST_RATE = float(1 << 40)
"""No partition gets or sends so much; sums of larger ones would not fit into columns."""
OF_BROKER, OF_ALL_BROKERS, STATIC = 2, 3, 4
"""Sources: a broker's own dynamic configs, those of all brokers, and a broker's static ones."""

ROWS = {
    "brokers": "a row for each broker that is live or has a replica assigned",
    "log_dirs": "a row for each log dir of a live broker that answers",
    "topics": "a row for each topic",
    "partitions": "a row for each partition, with its move in flight or in the queue",
    "replicas": "a row for each replica that a broker says it holds (DescribeLogDirs)",
    "configs": "a row for each config of a topic or broker that is set",
}
FILES = {
    "brokers": "brokers.parquet",
    "log_dirs": "log_dirs.parquet",
    "topics": "topics.parquet",
    "partitions": "partitions",
    "replicas": "replicas",
    "configs": "configs.parquet",
}
OPTIONAL = frozenset({"log_dirs", "topics"})
"""A snapshot may lack these."""


class SnapshotMeta(msgspec.Struct, frozen=True):
    """at       when the export began: ms since the epoch (UTC)
    source   the bootstrap servers of the export
    server   the kind of controller that answered: "kafka-reassign-rpc" or "kafka"
    rows     by table, so that a lost file is noticed; empty: a snapshot of an earlier release, or of another program
    """

    cluster_id: str
    at: Annotated[int, msgspec.Meta(ge=0, le=LAST_AT)]
    source: str = ""
    server: str = "kafka"
    version: int = VERSION
    rows: dict[str, int] = {}
