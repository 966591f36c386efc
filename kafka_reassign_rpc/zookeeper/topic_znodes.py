"""`/brokers/topics/$topic`, and the state of each partition below it.

Formats: kafka.zk.ZkData (Kafka 3.9). A `decode_*` function raises BadZnode with the path, and no other error.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.partition import topic_id_of, topic_id_text
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.zookeeper.znode_decoder import MAX_INT32, BadZnode, Epoch, Id, Undecodable, decode_json, parse

Raw = dict[str, msgspec.Raw]

TOPIC_VERSIONS = (1, 2, 3)
NO_REPLICAS: Final[tuple[int, ...]] = ()
MISSING_REPLICAS = "missing_replicas"
MAX_MISSING = 2**15 - 1
"""Kafka's replication factor is an INT16."""
ACCEPTED_DELETION: Final = b'{"version":1,"accepted":true}'
"""The content of a mark in `/admin/delete_topics` that a controller has written for a DeleteTopics that it accepted.
The marks of Kafka and of its tools are empty, and only this product reads their content."""


_json = msgspec.json.Encoder()


class Assignment(NamedTuple):
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = NO_REPLICAS
    removing: tuple[int, ...] = NO_REPLICAS


class TopicZnode(NamedTuple):
    """extra     unknown fields, which every rewrite keeps
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
    """With Kafka's names of adding and removing replicas or KIP-455's. The path must end in a valid topic name: many
    versions of the protocol have no room for a longer one.
    """
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
    """As Kafka 3.9: version 3, adding and removing replicas only of the partitions that have some. So too
    `missing_replicas`.
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
        return topic_id_of(text)
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
    """Kafka's text. `leader_recovery_state` (1 after an unclean election) is there only if it is not 0."""
    return _json.encode(_WrittenState(controller_epoch, leader, 1, leader_epoch, isr, leader_recovery_state))
