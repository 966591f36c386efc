"""Which files and columns a snapshot has. A null means "unknown".

brokers.parquet     one row for each broker that is live or has a replica assigned
log_dirs.parquet    one row for each log dir of a live broker that answers; absent in snapshots of 0.1.0
topics.parquet      one row for each topic; absent in snapshots of 0.1.0
partitions/         one row for each partition, with its move in flight or in the queue
replicas/           one row for each replica that a broker holds (DescribeLogDirs)
configs.parquet     topic and broker configs that were set
meta.json           which cluster, when, from where; written last
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
        pa.field("cordoned", pa.bool_()),
    ]
)
"""`port` is -1 and `host` null for a broker that is not live. `cordoned`: it gets no new replica (KIP-1066).

Sizes are sums over the volumes of the online log dirs, each volume once; null if one of these does not report its size.
"""

LOG_DIRS = pa.schema(
    [
        _field("broker", pa.int32()),
        _field("log_dir", pa.string()),
        _field("online", pa.bool_()),
        pa.field("volume", pa.int32()),
        pa.field("volume_bytes", pa.int64()),
        pa.field("free_bytes", pa.int64()),
        pa.field("cordoned", pa.bool_()),
    ]
)
"""Log dirs with the same `volume` share one, as far as their sizes show it (`planner/log_dir_volumes.py`).

It is null if the log dir is offline or does not report its size. `cordoned`: the log dir itself gets no new replica
(KIP-1066), whatever its broker is.
"""

TOPICS = pa.schema([_field("topic", pa.string()), pa.field("topic_id", pa.string())])
"""`topic_id` as Kafka prints it: a topic that is created again has another one."""

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
        pa.field("message_rate", pa.float64()),
        pa.field("cpu_rate", pa.float64()),
    ]
)
"""`replicas` as Kafka lists them: during a move the target, then the removing replicas.

`waiting`: the move waits in a server's queue; then `replicas` are the present ones, `adding` and `removing` those that
the move will add and remove. `leader` is -1 for none. `bytes` is the size of the leader's replica; rates are bytes per
second, `message_rate` messages per second, `cpu_rate` microseconds of the leader's CPU per second.
"""
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
"""`future`: a log that the broker copies to another of its log dirs."""

CONFIGS = pa.schema(
    [
        _field("resource_type", pa.string()),
        _field("resource", pa.string()),
        _field("name", pa.string()),
        pa.field("value", pa.string()),
        pa.field("source", pa.int32()),
    ]
)
"""`resource_type` is "topic" or "broker"; a broker "" stands for all; `value` is null for a secret; `source` is Kafka's
ConfigSource.
"""
OF_BROKER, OF_ALL_BROKERS, STATIC = 2, 3, 4
"""Sources: a broker's own dynamic configs, those of all brokers, and a broker's static ones."""

TABLES = {
    "brokers": BROKERS,
    "log_dirs": LOG_DIRS,
    "topics": TOPICS,
    "partitions": PARTITIONS,
    "replicas": REPLICAS,
    "configs": CONFIGS,
}
ADDED = ("waiting", "source", "cordoned", "message_rate", "cpu_rate")
"""Older snapshots lack these columns: nulls."""
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
"""Tables that a snapshot may lack."""


class SnapshotMeta(msgspec.Struct, frozen=True):
    """meta.json.

    at       when the export began: ms since the epoch (UTC)
    source   the bootstrap servers of the export
    server   the kind of controller that answered: "kafka-reassign-rpc" or "kafka"
    """

    cluster_id: str
    at: Annotated[int, msgspec.Meta(ge=0, le=LAST_AT)]
    source: str = ""
    server: str = "kafka"
    version: int = VERSION
