"""The contents of Kafka's znodes, except those of topics. Formats: kafka.zk.ZkData (Kafka 3.9); failed brokers: KIP-46;
failed log dirs: docs/znodes.md.

A `decode_*` function raises BadZnode with the path, and no other error, for content that Kafka would not have written;
the caller goes on without that znode.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Broker, Endpoint, FailedLogDirs
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.bounded_text import shown, whole_number
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op
from kafka_reassign_rpc.zookeeper.znode_decoder import (
    MAX_EPOCH,
    MAX_INT32,
    MAX_INT64,
    BadZnode,
    Id,
    decode_json,
    decode_number,
)

BROKER_VERSIONS = (1, 2, 3, 4, 5)
CONTROLLER_VERSIONS = (1, 2)
MAX_PORT = 65535
MAX_ENDPOINTS = 100
"""The most endpoints of a broker or controller."""

_json = msgspec.json.Encoder()


# ----------------------------------------------------------------------------------------------------- brokers


LAST_MS = 10**14
"""The year 5138: later times are mistakes."""


class _Failure(msgspec.Struct):
    timestamp: Annotated[int, msgspec.Meta(ge=0, le=LAST_MS)]


_failure = msgspec.json.Decoder(_Failure, strict=False)


def encode_failure(since_ms: int) -> bytes:
    """Since when the controller misses the broker, ms since 1970 (KIP-46)."""
    return f'{{"version":1,"timestamp":{since_ms}}}'.encode()


def decode_failure(data: bytes, path: str) -> int:
    return decode_json(_failure, data, path).timestamp


MOST_LOG_DIRS = 100
LONGEST_PATH = 4096
"""Characters."""


class _LogDirsFailure(msgspec.Struct):
    timestamp: Annotated[int, msgspec.Meta(ge=0, le=LAST_MS)]
    log_dirs: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=LONGEST_PATH)]], msgspec.Meta(max_length=MOST_LOG_DIRS)
    ] = []


_log_dirs_failure = msgspec.json.Decoder(_LogDirsFailure, strict=False)


def encode_failed_log_dirs(failure: FailedLogDirs) -> bytes:
    paths = [path for path in failure.paths if len(path) <= LONGEST_PATH]
    return msgspec.json.encode({"version": 1, "timestamp": failure.since, "log_dirs": paths[:MOST_LOG_DIRS]})


def decode_failed_log_dirs(data: bytes, path: str) -> FailedLogDirs:
    """Raises BadZnode."""
    found = decode_json(_log_dirs_failure, data, path)
    return FailedLogDirs(found.timestamp, tuple(found.log_dirs))


Text = Annotated[str, msgspec.Meta(max_length=8191)]
"""A string that fits into Kafka's protocol with any characters."""


class _Registration(msgspec.Struct):
    version: int
    host: Text | None = None
    port: int = -1
    endpoints: Annotated[list[Text], msgspec.Meta(max_length=MAX_ENDPOINTS)] | None = None
    listener_security_protocol_map: dict[str, str] | None = None
    rack: Text | None = None


_registration = msgspec.json.Decoder(_Registration)


def decode_broker(data: bytes, path: str, epoch: int) -> Broker:
    """`epoch`: the znode's czxid."""
    broker_id = znode_paths.parse_index(path.rpartition("/")[2])
    if broker_id is None:
        raise BadZnode(path, "not a broker id")
    found = decode_json(_registration, data, path)
    if found.version not in BROKER_VERSIONS:
        raise BadZnode(path, f"unknown version {shown(found.version)}")
    if found.version == 1:
        if not found.host or not 0 < found.port <= MAX_PORT:
            raise BadZnode(path, "no host and port")
        endpoints = [Endpoint("PLAINTEXT", "PLAINTEXT", found.host, found.port)]
    else:
        protocols = found.listener_security_protocol_map or {}
        endpoints = [_endpoint(text, protocols, path) for text in found.endpoints or ()]
    if not endpoints:
        raise BadZnode(path, "no endpoints")
    return Broker(broker_id, epoch, tuple(endpoints), found.rack)


def _endpoint(text: str, protocols: Mapping[str, str], path: str) -> Endpoint:
    listener, separator, address = text.partition("://")
    host, colon, digits = address.rpartition(":")
    port = whole_number(digits, 0, MAX_PORT)
    if not separator or not colon or not listener or port is None:
        raise BadZnode(path, f"{shown(text)} is not an endpoint")
    protocol = protocols.get(listener, listener)
    if protocol not in SECURITY_PROTOCOLS:
        raise BadZnode(path, f"{shown(text)}: unknown security protocol {shown(protocol)}")
    return Endpoint(listener, protocol, host.removeprefix("[").removesuffix("]"), port)


def encode_broker(endpoints: Sequence[Endpoint], now_ms: int, rack: str | None = None) -> bytes:
    """As a Kafka 3.9 broker writes its own."""
    plain = next((one for one in endpoints if one.security_protocol == "PLAINTEXT"), None)
    fields: dict[str, Any] = {
        "version": 5,
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "endpoints": [f"{one.listener}://{Address(one.host, one.port)}" for one in endpoints],
        "jmx_port": -1,
        "timestamp": str(now_ms),
        "listener_security_protocol_map": {one.listener: one.security_protocol for one in endpoints},
        "features": {},
    }
    if rack is not None:
        fields["rack"] = rack
    return _json.encode(fields)


# -------------------------------------------------------------------------------------------------- controller


MIGRATION_VERSION = 0
NO_DATA = "it has no data"
"""An empty znode: zookeeper-security-migration.sh makes some if they do not exist."""


class Controller(msgspec.Struct, frozen=True):
    """`listeners`: the addresses for clients of a server of this product (Kafka ignores that field). `kraft_epoch`: of
    the KRaft controller that controls the brokers during a migration, or -1.
    """

    version: int
    brokerid: Id
    timestamp: str = ""
    listeners: Annotated[tuple[Text, ...], msgspec.Meta(max_length=MAX_ENDPOINTS)] = ()
    kraft_epoch: Annotated[int, msgspec.Meta(ge=-1, le=MAX_INT32)] = msgspec.field(
        default=-1, name="kraftControllerEpoch"
    )


_controller = msgspec.json.Decoder(Controller)


def decode_controller(data: bytes, path: str = znode_paths.CONTROLLER) -> Controller:
    if not data:
        raise BadZnode(path, NO_DATA)
    found = decode_json(_controller, data, path)
    if found.version not in CONTROLLER_VERSIONS:
        raise BadZnode(path, f"unknown version {shown(found.version)}")
    return found


def encode_controller(broker_id: int, now_ms: int, listeners: Sequence[str] = ()) -> bytes:
    fields: dict[str, Any] = {
        "version": 2,
        "brokerid": broker_id,
        "timestamp": str(now_ms),
        "kraftControllerEpoch": -1,
    }
    if listeners:
        fields["listeners"] = list(listeners)
    return _json.encode(fields)


def decode_controller_epoch(data: bytes, path: str = znode_paths.CONTROLLER_EPOCH) -> int:
    if not data:
        raise BadZnode(path, NO_DATA)
    return decode_number(data, MAX_EPOCH, path)


class _Migration(msgspec.Struct):
    version: int
    kraft_controller_id: int
    kraft_controller_epoch: int
    kraft_metadata_offset: int
    kraft_metadata_epoch: int


_migration = msgspec.json.Decoder(_Migration)


def has_migrated(data: bytes, path: str = znode_paths.MIGRATION) -> bool:
    """A KRaft controller has copied the metadata (ZkMigrationLeadershipState.initialZkMigrationComplete). A quorum that
    only waits for brokers writes an offset of -1. Raises BadZnode.
    """
    found = decode_json(_migration, data, path)
    if found.version != MIGRATION_VERSION:
        raise BadZnode(path, f"unknown version {shown(found.version)}")
    return found.kraft_metadata_offset >= 0


def encode_controller_epoch(epoch: int) -> bytes:
    return b"%d" % epoch


# ----------------------------------------------------------------------------------------------------- configs


class _Config(msgspec.Struct):
    version: int
    config: dict[str, str]


class _ConfigChange(msgspec.Struct):
    version: int
    entity_path: str | None = None
    entity_type: str | None = None
    entity_name: str | None = None


_config = msgspec.json.Decoder(_Config)
_config_change = msgspec.json.Decoder(_ConfigChange)


def decode_config(data: bytes, path: str) -> dict[str, str]:
    if not data:
        return {}
    found = decode_json(_config, data, path)
    if found.version != 1:
        raise BadZnode(path, f"unknown version {shown(found.version)}")
    return found.config


def encode_config(config: Mapping[str, str]) -> bytes:
    return _json.encode({"version": 1, "config": config})


def decode_config_change(data: bytes, path: str) -> str:
    """The entity path (`topics/x`), of versions 1 and 2."""
    found = decode_json(_config_change, data, path)
    if found.version == 1 and found.entity_type in ("topics", "clients") and found.entity_name:
        return f"{found.entity_type}/{found.entity_name}"
    if found.version != 2 or not found.entity_path or "/" not in found.entity_path:
        raise BadZnode(path, f"not a config change: {shown(data)}")
    return found.entity_path


def encode_config_change(entity_path: str) -> bytes:
    return _json.encode({"version": 2, "entity_path": entity_path})


# ---------------------------------------------------------------------------------------------------- the rest


class _Block(msgspec.Struct):
    version: int
    broker: int
    block_start: str
    block_end: str


class _ClusterId(msgspec.Struct):
    version: str
    id: Text


_block = msgspec.json.Decoder(_Block)
_cluster_id = msgspec.json.Decoder(_ClusterId)


def decode_producer_id_block(data: bytes | None, path: str = znode_paths.PRODUCER_ID_BLOCK) -> int | None:
    """The last allocated producer id. None before the first: then the znode has no data, not empty data."""
    if data is None:
        return None
    if not data:
        raise BadZnode(path, "empty, where Kafka wants no data or a block of producer ids")
    found = decode_json(_block, data, path)
    end = whole_number(found.block_end, 0, MAX_INT64)
    if found.version != 1 or end is None:
        raise BadZnode(path, f"not a block of producer ids: {shown(data)}")
    return end


def encode_producer_id_block(broker_id: int, first: int, last: int) -> bytes:
    return _json.encode({"version": 1, "broker": broker_id, "block_start": str(first), "block_end": str(last)})


def decode_cluster_id(data: bytes, path: str = znode_paths.CLUSTER_ID) -> str:
    return decode_json(_cluster_id, data, path).id


def encode_cluster_id(cluster_id: str) -> bytes:
    return _json.encode({"version": "1", "id": cluster_id})


# ------------------------------------------------------------------------------------------- delegation tokens


# KIP-48; brokers create and renew them. Source: DelegationTokenManagerZk.fromBytes.
#     /delegation_token/tokens/$token_id                   {"version":3,"expiryTimestamp":1,"maxTimestamp":2,…}
#     /delegation_token/token_changes/token_change_…       the id of a token that has changed


class _Token(msgspec.Struct, rename="camel"):
    version: Annotated[int, msgspec.Meta(ge=1, le=3)]
    expiry_timestamp: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)]
    max_timestamp: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)]


_token = msgspec.json.Decoder(_Token)


def decode_token_end(data: bytes, path: str) -> int:
    """When a token ends, in ms since 1970: its expiry, or the end of its longest life. Raises BadZnode."""
    found = decode_json(_token, data, path)
    return min(found.expiry_timestamp, found.max_timestamp)


def token_removal(token_id: str, version: int) -> tuple[Op, ...]:
    """Deletes the token if its znode has this version; every broker then forgets it."""
    return (
        Delete(znode_paths.delegation_token(token_id), version),
        Create(znode_paths.DELEGATION_TOKEN_CHANGE_PREFIX, token_id.encode(), sequence=True),
    )


# ----------------------------------------------------------------------------------------------- notifications


# Of brokers and of Kafka 2.x's election tool; the controller deletes them once it is done. No other field counts.
#     /log_dir_event_notification/log_dir_event_…   {"version":1,"broker":1,"event":1}              a log dir failed
#     /isr_change_notification/isr_change_…         {"version":1,"partitions":[{"topic":"t","partition":0}]}
#     /admin/preferred_replica_election             the same


class _LogDirEvent(msgspec.Struct):
    broker: Id


class _Partition(msgspec.Struct, gc=False):
    topic: str
    partition: Id


class _Partitions(msgspec.Struct):
    partitions: list[_Partition]


_log_dir_event = msgspec.json.Decoder(_LogDirEvent)
_partitions = msgspec.json.Decoder(_Partitions)


def decode_log_dir_event(data: bytes, path: str) -> int:
    """The broker. Raises BadZnode."""
    return decode_json(_log_dir_event, data, path).broker


def encode_log_dir_event(broker: int) -> bytes:
    return msgspec.json.encode({"version": 1, "broker": broker, "event": 1})


def decode_partitions(data: bytes, path: str) -> dict[TopicPartition, None]:
    """The partitions of a notification, each once, in their order. Raises BadZnode."""
    found = decode_json(_partitions, data, path).partitions
    return dict.fromkeys(TopicPartition(one.topic, one.partition) for one in found)
