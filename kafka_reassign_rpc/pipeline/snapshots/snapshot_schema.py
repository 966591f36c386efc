"""Which files and columns a snapshot has.

    brokers.parquet     one row for each broker that is live or has a replica assigned
    log_dirs.parquet    one row for each log dir of a live broker that answers; absent in snapshots of 0.1.0
    topics.parquet      one row for each topic; absent in snapshots of 0.1.0
    partitions/         one row for each partition, with its move in flight or in the queue
    replicas/           one row for each replica that a broker holds (DescribeLogDirs)
    configs.parquet     topic and broker configs that were set
    meta.json           which cluster, when, from where; written last

A null means "not known": the size of a partition whose leader did not answer, a rate that was not measured.
"""

from typing import Annotated

import msgspec
import pyarrow as pa

VERSION = 1
LAST_AT = 253_402_300_799_000
"""The end of the year 9999, the last that Python can show, in ms since the epoch."""
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
"""`port` is -1 and `host` null for a broker that is not live. Both sizes are sums over the volumes of the log dirs that
are online, each volume once; they are null where one of these does not tell its size."""

LOG_DIRS = pa.schema(
    [
        _field("broker", pa.int32()),
        _field("log_dir", pa.string()),
        _field("online", pa.bool_()),
        pa.field("volume", pa.int32()),
        pa.field("volume_bytes", pa.int64()),
        pa.field("free_bytes", pa.int64()),
    ]
)
"""`volume` numbers the volumes of a broker: log dirs with the same number share one, as far as their sizes show it (see
`planner/log_dir_volumes.py`). It is null for a log dir that is offline or does not tell its size."""

TOPICS = pa.schema([_field("topic", pa.string()), pa.field("topic_id", pa.string())])
"""`topic_id` as Kafka prints it. A topic that is deleted and made again has another one."""

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
        pa.field("waiting", pa.bool_()),
    ]
)
"""`replicas` as Kafka lists them: while a partition moves, the target first, then the removing replicas. `waiting`: its
move waits in the queue of a kafka-reassign-rpc server; `replicas` are the present ones then, `adding` and `removing`
those that the move will add and remove. `leader` is -1 for none. `bytes` is the size of the leader's replica; rates are
bytes per second."""

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
"""`future`: a future log, which the broker copies to another of its log dirs."""

CONFIGS = pa.schema(
    [
        _field("resource_type", pa.string()),
        _field("resource", pa.string()),
        _field("name", pa.string()),
        pa.field("value", pa.string()),
        pa.field("source", pa.int32()),
    ]
)
"""`resource_type` is "topic" or "broker"; a broker "" stands for all; `value` is null for a secret. `source` is Kafka's
ConfigSource: where the value comes from."""
OF_BROKER, STATIC = 2, 4
"""Sources: a broker's own dynamic configs, and what it was started with."""

TABLES = {
    "brokers": BROKERS,
    "log_dirs": LOG_DIRS,
    "topics": TOPICS,
    "partitions": PARTITIONS,
    "replicas": REPLICAS,
    "configs": CONFIGS,
}
ADDED = ("waiting", "source")
"""Columns that older snapshots do not have: all of their rows have a null there."""
IN_EVERY_SNAPSHOT = {
    name: pa.schema([field for field in schema if field.name not in ADDED]) for name, schema in TABLES.items()
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
"""Tables that a snapshot may lack: it has no rows of them then."""


class SnapshotMeta(msgspec.Struct, frozen=True):
    """meta.json: which cluster the snapshot shows, and when.

    at       when the export began: ms since the epoch (UTC)
    source   the bootstrap servers of the export
    server   the kind of controller that answered: "kafka-reassign-rpc" or "kafka"
    """

    cluster_id: str
    at: Annotated[int, msgspec.Meta(ge=0, le=LAST_AT)]
    source: str = ""
    server: str = "kafka"
    version: int = VERSION
