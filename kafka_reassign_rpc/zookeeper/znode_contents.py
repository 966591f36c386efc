"""The contents of znodes: a pair of functions for each kind, from bytes to values and back.

A `decode_*` function raises BadZnode with the path, and no other error, for any content that Kafka would not have
written. The caller reports it and goes on without that znode. Formats: kafka.zk.ZkData (Kafka 3.9); failed brokers:
KIP-46. The other `*_znode(s)` modules have the formats of KIP-236's znodes, of configs and of throttle leases.
"""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.cluster import SECURITY_PROTOCOLS, Broker, Endpoint
from kafka_reassign_rpc.core.topic_ids import topic_id_text
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.support.bounded_text import shown, whole_number
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, Undecodable, decode_json, decode_number, parse

T = TypeVar("T")
Raw = dict[str, msgspec.Raw]

TOPIC_VERSIONS = (1, 2, 3)
BROKER_VERSIONS = (1, 2, 3, 4, 5)
CONTROLLER_VERSIONS = (1, 2)
NO_REPLICAS: Final[tuple[int, ...]] = ()
MISSING_REPLICAS = "missing_replicas"
MAX_MISSING = 2**15 - 1
"""Kafka's replication factor is an INT16."""
ACCEPTED_DELETION: Final = b'{"version":1,"accepted":true}'
"""The content of a mark in `/admin/delete_topics` that a controller has written for a DeleteTopics that it accepted.
The marks of Kafka and of its tools are empty, and only this product reads their content."""

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1
MAX_PORT = 65535
MAX_ENDPOINTS = 100
"""The most endpoints of a broker or controller."""

Id = Annotated[int, msgspec.Meta(ge=0, le=MAX_INT32)]
"""A broker id or a partition's number; checked during parsing."""

MAX_EPOCH = 2**30
"""The largest epoch of a leader or a controller. The next ones have to fit into an INT32 too, or no request can be
written. So many elections never come: a larger number is a mistake."""
Epoch = Annotated[int, msgspec.Meta(ge=0, le=MAX_EPOCH)]

_json = msgspec.json.Encoder()


# ------------------------------------------------------------------------------------------------------ topics


class Assignment(NamedTuple):
    """A partition's assignment in the topic znode. `adding` and `removing` are empty unless the partition moves."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = NO_REPLICAS
    removing: tuple[int, ...] = NO_REPLICAS


class TopicZnode(NamedTuple):
    """`/brokers/topics/$topic`.

    extra     unknown fields, which every rewrite keeps
    missing   field `missing_replicas`, which only this program knows: how many replicas a partition has too few
              (see `core.topics.missing_replicas`)
    """

    id: UUID | None
    partitions: dict[int, Assignment]
    extra: dict[str, msgspec.Raw]
    missing: dict[int, int]


_topic_fields = msgspec.json.Decoder(Raw)
_replica_sets = msgspec.json.Decoder(dict[Id, tuple[Id, ...]])
_missing_replicas = msgspec.json.Decoder(dict[Id, Annotated[int, msgspec.Meta(ge=1, le=MAX_MISSING)]])
_int = msgspec.json.Decoder(int)
_text_or_null = msgspec.json.Decoder(str | None)


def decode_topic(data: bytes, path: str) -> TopicZnode:
    """Takes versions 1 to 3, with Kafka's names of adding and removing replicas or KIP-455's. The path must end in a
    valid topic name: many versions of the protocol have no room for a longer one."""
    if not is_valid_name(path.rpartition("/")[2]):
        raise BadZnode(path, "no topic can have this name")
    fields = decode_json(_topic_fields, data, path)
    _version(fields.pop("version", None), TOPIC_VERSIONS, path)
    raw = fields.pop("partitions", None)
    if raw is None:
        raise BadZnode(path, "no partitions")
    adding = _moving(fields, ("adding_replicas", "addingReplicas"), path)
    removing = _moving(fields, ("removing_replicas", "removingReplicas"), path)
    topic_id = fields.pop("topic_id", None)
    missing = _missing(fields)
    none = NO_REPLICAS
    partitions = {
        index: Assignment(replicas, adding.get(index, none), removing.get(index, none))
        for index, replicas in _replicas(raw, path).items()
    }
    return TopicZnode(
        None if topic_id is None else _decode_topic_id(topic_id, path),
        partitions,
        # A Raw is a view of its packet: values that live long are copied out.
        {name: value.copy() for name, value in fields.items()},
        {index: count for index, count in missing.items() if index in partitions},
    )


def _missing(fields: Raw) -> dict[int, int]:
    """A field of this name that is not ours has no effect, and stays as an unknown field."""
    try:
        found = parse(_missing_replicas, fields.get(MISSING_REPLICAS, b"{}"))
    except Undecodable:
        return {}
    fields.pop(MISSING_REPLICAS, None)
    return found


def _moving(fields: Raw, names: Sequence[str], path: str) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for name in names:
        raw = fields.pop(name, None)
        if raw is not None and bytes(raw) != b"null":
            found |= _replicas(raw, path)
    return found


def _replicas(raw: msgspec.Raw, path: str) -> dict[int, tuple[int, ...]]:
    sets = decode_json(_replica_sets, bytes(raw), path)
    for index, replicas in sets.items():
        if len(set(replicas)) != len(replicas):
            raise BadZnode(path, f"partition {index} has a replica twice: {shown(replicas)}")
    return sets


def encode_topic(
    topic_id: UUID | None,
    partitions: Mapping[int, Sequence[tuple[int, ...]]],
    extra: Mapping[str, msgspec.Raw] | None = None,
    missing: Mapping[int, int] | None = None,
) -> bytes:
    """Writes as Kafka 3.9: version 3, adding and removing replicas only of the partitions that have some.

    `missing_replicas` is there only if a partition has some.
    """
    fields: dict[str, Any] = dict(extra or {})
    fields["partitions"] = {index: replicas for index, (replicas, _, _) in partitions.items()}
    if topic_id is not None:
        fields["topic_id"] = topic_id_text(topic_id)
    fields["adding_replicas"] = {index: adding for index, (_, adding, _) in partitions.items() if adding}
    fields["removing_replicas"] = {index: removing for index, (_, _, removing) in partitions.items() if removing}
    if missing:
        fields[MISSING_REPLICAS] = missing
    fields["version"] = 3
    return _json.encode(fields)


def _decode_topic_id(raw: msgspec.Raw, path: str) -> UUID | None:
    text = decode_json(_text_or_null, bytes(raw), path)
    if text is None:
        return None
    try:
        return UUID(bytes=urlsafe_b64decode(text + "=="))
    except (ValueError, UnicodeEncodeError) as error:
        raise BadZnode(path, f"{shown(text)} is not a topic id") from error


def _version(raw: msgspec.Raw | None, known: Sequence[int], path: str) -> int:
    if raw is None:
        raise BadZnode(path, "no version")
    version = decode_json(_int, bytes(raw), path)
    if version not in known:
        raise BadZnode(path, f"unknown version {shown(version)}")
    return version


# -------------------------------------------------------------------------------------------------- partitions


class PartitionState(msgspec.Struct, frozen=True, gc=False):
    """`/brokers/topics/$topic/partitions/$index/state`; the partition epoch is the znode's version."""

    leader: Annotated[int, msgspec.Meta(ge=-2, le=MAX_INT32)]
    leader_epoch: Epoch
    isr: tuple[Id, ...]
    controller_epoch: Epoch
    leader_recovery_state: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    version: int = 1


_state = msgspec.json.Decoder(PartitionState)


def decode_state(data: bytes, path: str) -> PartitionState:
    state = decode_json(_state, data, path)
    if state.version != 1:
        raise BadZnode(path, f"unknown version {shown(state.version)}")
    if len(set(state.isr)) != len(state.isr):
        raise BadZnode(path, f"the ISR has a replica twice: {shown(state.isr)}")
    return state


class _WrittenState(msgspec.Struct, omit_defaults=True, gc=False):
    controller_epoch: int
    leader: int
    version: int
    leader_epoch: int
    isr: Sequence[int]
    leader_recovery_state: int = 0


def encode_state(
    leader: int, leader_epoch: int, isr: Sequence[int], controller_epoch: int, leader_recovery_state: int = 0
) -> bytes:
    """Writes Kafka's text. `leader_recovery_state` (1 after an unclean election) is there only if it is not 0."""
    return _json.encode(_WrittenState(controller_epoch, leader, 1, leader_epoch, isr, leader_recovery_state))


# ----------------------------------------------------------------------------------------------------- brokers


LAST_MS = 10**14
"""The year 5138: later times are mistakes."""


class _Failure(msgspec.Struct):
    timestamp: Annotated[int, msgspec.Meta(ge=0, le=LAST_MS)]


_failure = msgspec.json.Decoder(_Failure, strict=False)


def encode_failure(since_ms: int) -> bytes:
    """`/admin/failed_brokers/$id`: when the controller first missed the broker, ms since 1970 (KIP-46)."""
    return f'{{"version":1,"timestamp":{since_ms}}}'.encode()


def decode_failure(data: bytes, path: str) -> int:
    return decode_json(_failure, data, path).timestamp


Text = Annotated[str, msgspec.Meta(max_length=8191)]
"""A string that fits into Kafka's protocol, whatever its characters."""


class _Registration(msgspec.Struct):
    version: int
    host: Text | None = None
    port: int = -1
    endpoints: Annotated[list[Text], msgspec.Meta(max_length=MAX_ENDPOINTS)] | None = None
    listener_security_protocol_map: dict[str, str] | None = None
    rack: Text | None = None


_registration = msgspec.json.Decoder(_Registration)


def decode_broker(data: bytes, path: str, epoch: int) -> Broker:
    """`/brokers/ids/$id`, versions 1 to 5. `epoch` is the znode's czxid."""
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
    """Returns a registration of version 5, as a Kafka 3.9 broker writes its own."""
    plain = next((one for one in endpoints if one.security_protocol == "PLAINTEXT"), None)
    fields: dict[str, Any] = {
        "version": 5,
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "endpoints": [
            f"{one.listener}://[{one.host}]:{one.port}"
            if ":" in one.host
            else f"{one.listener}://{one.host}:{one.port}"
            for one in endpoints
        ],
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
    """`/controller`. `listeners` are the addresses for clients if it is a server of this product (Kafka ignores that
    field). `kraft_epoch` is that of the KRaft controller that controls the brokers during a migration, or -1."""

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
    return decode_number(data, 0, MAX_EPOCH, path)


class _Migration(msgspec.Struct):
    version: int
    kraft_controller_id: int
    kraft_controller_epoch: int
    kraft_metadata_offset: int
    kraft_metadata_epoch: int


_migration = msgspec.json.Decoder(_Migration)


def has_migrated(data: bytes, path: str = znode_paths.MIGRATION) -> bool:
    """Whether a KRaft controller has copied the metadata (ZkMigrationLeadershipState.initialZkMigrationComplete).

    A quorum that only waits for brokers writes an offset of -1. Raises BadZnode if this is no state of a migration.
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
    """`/config/$type/$name`; empty if the znode has no data."""
    if not data:
        return {}
    found = decode_json(_config, data, path)
    if found.version != 1:
        raise BadZnode(path, f"unknown version {shown(found.version)}")
    return found.config


def encode_config(config: Mapping[str, str]) -> bytes:
    return _json.encode({"version": 1, "config": config})


def decode_config_change(data: bytes, path: str) -> str:
    """Returns the entity path (`topics/x`) of `/config/changes/config_change_…`, versions 1 and 2."""
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


def decode_producer_id_block(data: bytes, path: str = znode_paths.PRODUCER_ID_BLOCK) -> int | None:
    """Returns the last allocated producer id, None before the first."""
    if not data:
        return None
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


def decode_many(
    decode: Callable[[bytes, str], T], found: Iterable[tuple[str, tuple[bytes, Stat] | None]]
) -> tuple[dict[str, T], list[BadZnode]]:
    """Returns `decode(data, path)` of every znode that exists, by path, and the malformed ones."""
    good: dict[str, T] = {}
    bad: list[BadZnode] = []
    for path, read in found:
        if read is None:
            continue
        try:
            good[path] = decode(read[0], path)
        except BadZnode as error:
            bad.append(error)
    return good, bad
