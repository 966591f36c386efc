"""The configuration of a fleet."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from kafka_reassign_rpc.support.human_units import parse_size
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.zookeeper.zookeeper_client import SESSION_TIMEOUT_MS

MAX_REPLICAS_OF_A_TOPIC = 1_000_000


class SeedTopic(msgspec.Struct, frozen=True):
    """The fleet creates it at its start. Each replica has `size` bytes."""

    name: str
    partitions: int
    replication_factor: int
    size: int


class FleetConfig(msgspec.Struct, frozen=True, kw_only=True):
    """racks       by broker id; other brokers have none
    bandwidth   bytes/s that each broker can send, and that each can receive; None for no limit
    data_dir    where sizes of logs survive the end of the process; None keeps nothing
    ports       by broker id; other brokers get one from the system
    configs     what all brokers are also started with, by Kafka's names: DescribeConfigs shows it
    disk        bytes that all log dirs of a broker can hold together; further bytes are not copied; None for no limit
    """

    zookeeper_connect: str
    broker_ids: Sequence[int]
    racks: Mapping[int, str] = {}
    bandwidth: float | None = 100_000_000
    topics: Sequence[SeedTopic] = ()
    data_dir: Path | None = None
    host: str = "127.0.0.1"
    ports: Mapping[int, int] = {}
    replica_lag_time_max_ms: int = 30_000
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    log_dirs: int = 1
    disk: int | None = None
    configs: Mapping[str, str] = {}


def parse_topic(text: str) -> SeedTopic:
    """`NAME:PARTITIONS:RF:BYTES`. Raises ValueError with a message of one line."""
    parts = text.rsplit(":", 3)
    if len(parts) != 4 or not parts[0]:
        raise ValueError(f"{told(text)} is not NAME:PARTITIONS:RF:BYTES")
    try:
        topic = SeedTopic(parts[0], int(parts[1]), int(parts[2]), parse_bytes(parts[3]))
    except ValueError as error:
        raise ValueError(f"{told(text)} is not NAME:PARTITIONS:RF:BYTES: {error}") from error
    if topic.partitions < 1 or topic.replication_factor < 1:
        raise ValueError(f"{told(text)}: a topic has at least one partition and one replica")
    if topic.partitions * topic.replication_factor > MAX_REPLICAS_OF_A_TOPIC:
        raise ValueError(f"{told(text)}: more than {MAX_REPLICAS_OF_A_TOPIC} replicas")
    return topic


def parse_bytes(text: str) -> int:
    """`1500`, `50MB`, `500MiB`; also `64K`, `10M`, `2G`, `1T` for KiB to TiB. Raises ValueError."""
    found = parse_size(f"{text}iB" if text[-1:].upper() in ("K", "M", "G", "T") else text)
    if found is None or found < 0:
        raise ValueError(f"{told(text)} is not a number of bytes; with a unit: 50MB, 500MiB")
    return found
