"""`/admin/reassignment_requests/request_NNN` (KIP-236), a persistent sequential znode:

    {"version":1,"assignments":{"my-topic":{"0":[1,2,3]},"your-topic":{"3":[4,5,6]}},"legacy":false}

An error is reported for its target alone, as in `reassign_partitions_znode`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, NamedTuple

import msgspec

from kafka_reassign_rpc.core.state.partition import BATCH, REQUEST, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.bounded_text import shortened, shown
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import (
    MAX_INT32,
    BadZnode,
    EntryProblems,
    Id,
    JsonObject,
    Undecodable,
    parse,
    parse_every_field,
    parse_value,
)

VERSION = 1

_Broker = Annotated[int, msgspec.Meta(ge=-(2**31), le=MAX_INT32)]
"""It may be a number that is no broker's id: the decision about the target reports that."""


class ReadRequest(NamedTuple):
    """Moves of a request with `"legacy":true` count as moves of `/admin/reassign_partitions`, so that a cancel of that
    cancels them.
    """

    moves: dict[TopicPartition, MoveTerms]
    problems: list[str]


class _TypedRequest(msgspec.Struct):
    assignments: dict[str, dict[Id, tuple[_Broker, ...]]]
    version: int = VERSION
    legacy: bool = False


_typed = msgspec.json.Decoder(_TypedRequest)
_replicas = msgspec.json.Decoder(tuple[_Broker, ...])


def decode_request(data: bytes, path: str) -> ReadRequest:
    """Of two targets for the same partition the later one counts. Raises BadZnode."""
    try:
        typed = parse(_typed, data)
    except Undecodable:
        return _one_by_one(data, path)
    route = _route(legacy=typed.legacy)
    moves = {
        TopicPartition(topic, index): MoveTerms(replicas, route)
        for topic, partitions in typed.assignments.items()
        for index, replicas in partitions.items()
    }
    if data.count(b"[") != len(moves):  # a name occurs twice: the decoder keeps only the last one
        return _one_by_one(data, path)
    _check(typed.version, path)
    return ReadRequest(moves, [])


def encode_request(targets: Mapping[TopicPartition, tuple[int, ...]], *, legacy: bool = False) -> bytes:
    assignments: dict[str, dict[str, tuple[int, ...]]] = {}
    for (topic, index), replicas in targets.items():
        assignments.setdefault(topic, {})[str(index)] = replicas
    return msgspec.json.encode({"version": VERSION, "assignments": assignments, "legacy": legacy})


def _one_by_one(data: bytes, path: str) -> ReadRequest:
    try:
        found = parse_every_field(data)
    except Undecodable as error:
        raise BadZnode(path, str(error)) from error
    if not isinstance(found, JsonObject):
        raise BadZnode(path, f"not a JSON object: {shown(data)}")
    fields = dict(found.fields)
    _check(fields.get("version", VERSION), path)
    legacy = fields.get("legacy", False)
    if not isinstance(legacy, bool):
        raise BadZnode(path, f"legacy is neither true nor false: {shown(legacy)}")
    if not isinstance(fields.get("assignments"), JsonObject):
        raise BadZnode(path, f"assignments is no object of topics: {shown(data)}")
    problems = EntryProblems(path)
    route = _route(legacy=legacy)
    moves: dict[TopicPartition, MoveTerms] = {}
    for name, replicas in _targets(found.fields, problems):
        if name in moves:
            del moves[name]
            problems.add(f"{shortened(name[0])}-{name[1]} is there twice: the later target counts")
        moves[name] = MoveTerms(replicas, route)
    return ReadRequest(moves, problems.texts())


def _route(*, legacy: bool) -> str:
    return BATCH if legacy else REQUEST


def _targets(
    fields: Iterable[tuple[str, object]], problems: EntryProblems
) -> Iterator[tuple[TopicPartition, tuple[int, ...]]]:
    for field, assignments in fields:
        if field != "assignments" or not isinstance(assignments, JsonObject):
            continue
        for topic, partitions in assignments.fields:
            if not isinstance(partitions, JsonObject):
                problems.add_wrong(f"{shown(topic)}: no object of partitions: {shown(partitions)}")
                continue
            for number, replicas in partitions.fields:
                index = znode_paths.parse_index(number)
                if index is None:
                    problems.add_wrong(f"{shown(topic)}: {shown(number)} is no partition's number")
                    continue
                try:
                    yield TopicPartition(topic, index), parse_value(_replicas, replicas)
                except Undecodable as error:
                    problems.add_wrong(f"{shown(topic)}-{index}: {error}")


def _check(version: object, path: str) -> None:
    if version != VERSION or isinstance(version, bool):
        raise BadZnode(path, f"unknown version {shown(version)}")
