"""AlterPartitionReassignments: start, change and cancel moves (KIP-455, KIP-860). docs/apis.md has its tagged fields.

NOT_CONTROLLER is at the top level, without results; otherwise each requested partition has exactly one result with
its own error. A target that the caps on moves in flight do not let start yet is accepted, and queued. With `Queue`
targets join the queue even while reassignments are disabled or brokers dead.

The results of ten thousand partitions are packed in a few ms, without message objects.
"""

import struct
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kafka_reassign_rpc.api.api_definition import (
    ALL_PARTITIONS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Encoded,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import NUMBERS, answer_with, in_pieces, replicas
from kafka_reassign_rpc.api.ports import AlterReassignments, AskedItem, ItemResult, Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError, NotController, RequestTimedOut
from kafka_reassign_rpc.core.settings.broker_settings import MIGRATION
from kafka_reassign_rpc.core.state.partition import QUEUE, RPC, CancelMove, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import ask
from kafka_reassign_rpc.protocol.frame_codec import compact_string, uvarint
from kafka_reassign_rpc.protocol.messages import AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import in_turns, rest


async def check_lease(node: Node, rate: int | None, *, lifts: bool = False) -> None:
    """Which throttle lease a client may ask for, also by a command. `rate`: bytes/s; 0: no lease; None: none is asked
    for. `lifts`: it lifts stricter rates. Raises InvalidRequest, and RequestTimedOut if it is not known in time whether
    brokers migrate to KRaft, which keeps leases.
    """
    if rate is not None and rate < 0:
        raise InvalidRequest(f"A throttle cannot be {rate} bytes/s: give a rate, or 0 for none")
    if lifts and not rate:
        raise InvalidRequest("LiftStricter is for a throttle above 0")
    if rate and await node.unknown_settings([MIGRATION]):
        raise RequestTimedOut(
            "No throttle lease is given: it is not known whether the brokers migrate to KRaft, which would leave it in"
            " place, since most of them have not reported it to this server. Try again, or move without a lease."
        )


_Topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse

REASON_LENGTH = 1000
AS_IT_IS = NO_CAP = -1

_NO_THROTTLE = bytes(4)
_NO_ERROR = b"\0\0\1"
"""Of the whole request: no error code, and an empty message, as a ZooKeeper-mode controller sends it."""
_NO_TAGS = b"\0"
_TAKEN = struct.Struct(">ihBB")
"""The result of an accepted partition: its index, no error, no message, no tags."""
_REFUSED = struct.Struct(">ih")

Targets = dict[int, AskedItem]


async def handle(node: Node, request: AlterPartitionReassignmentsRequest, ctx: RequestContext) -> Encoded:
    if request.throttle != AS_IT_IS:
        ctx.access.check_cluster(AclOperation.ALTER_CONFIGS, API.name)
    required_controller(node)
    reason = request.reason or ""
    if len(reason) > REASON_LENGTH:
        raise InvalidRequest(f"A reason has at most {REASON_LENGTH} characters, this one has {len(reason)}.")
    if request.moves_per_broker != NO_CAP and (request.moves_per_broker < 1 or not request.queue):
        raise InvalidRequest("MovesPerBroker is 1 or more, and only for the queue")
    await check_lease(node, _rate(request), lifts=request.lift_stricter)
    wanted = await _wanted(request, reason)
    controller = required_controller(node)  # since it may have waited
    allow = request.allow_replication_factor_change if ctx.api_version >= 1 else True
    results = await controller.alter_reassignments(
        AlterReassignments(
            topics=await _as_asked(wanted),
            allow_replication_factor_change=allow,
            queue=request.queue,
            timeout_ms=request.timeout_ms,
        ),
        ctx,
    )
    head = _NO_THROTTLE + (bytes((allow,)) if ctx.api_version >= 1 else b"") + _NO_ERROR
    pieces = await _encoded(head, wanted, results)
    await in_turns(emptied(*wanted.values(), wanted, *([results] if isinstance(results, list) else [])))
    return Encoded(pieces)


def _rate(request: AlterPartitionReassignmentsRequest) -> int | None:
    """Bytes/s of the throttle lease; None: it says nothing about one."""
    return None if request.throttle == AS_IT_IS else request.throttle


async def _wanted(request: AlterPartitionReassignmentsRequest, reason: str) -> dict[str, Targets]:
    of_all = MoveTerms(
        target=(),
        route=QUEUE if request.queue else RPC,
        reason=reason,
        throttle=_rate(request),
        lifts=request.lift_stricter,
        moves_per_broker=None if request.moves_per_broker == NO_CAP else request.moves_per_broker,
    )
    wanted: dict[str, Targets] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            index, expected = partition.partition_index, _ids(partition.expected_replicas)
            target = _ids(partition.replicas)
            asked = CancelMove(expected) if target is None else replace(of_all, target=target, expected=expected)
            ask(wanted, topic.name, index, (index, asked))
            await rest()
        await rest()
    return wanted


async def _as_asked(wanted: Mapping[str, Targets]) -> list[tuple[str, list[AskedItem]]]:
    topics = []
    for name, targets in wanted.items():
        topics.append((name, list(targets.values())))
        await rest()
    return topics


async def _encoded(head: bytes, wanted: Mapping[str, Targets], results: Iterable[ItemResult]) -> list[bytes]:
    """The results by topic, in the order of the request."""
    answers: dict[str, list[bytes]] = {name: [] for name in wanted}
    for name, index, error in results:
        answers[name].append(_result(index, error))
        await rest()
    parts = [head, uvarint(len(answers) + 1)]
    pieces: list[bytes] = []
    for name, partitions in answers.items():
        parts += (compact_string(name), uvarint(len(partitions) + 1), *in_pieces(partitions), _NO_TAGS)
        partitions.clear()
        if len(parts) > NUMBERS:
            pieces += in_pieces(parts)
            parts = []
        await rest()
    return [*pieces, *in_pieces([*parts, _NO_TAGS])]


def _ids(asked: list[int] | None) -> tuple[int, ...] | None:
    return None if asked is None else replicas(asked)


def _result(index: int, error: KafkaError | None) -> bytes:
    """A ReassignablePartitionResponse."""
    if error is None:
        return _TAKEN.pack(index, 0, 0, 0)
    return _REFUSED.pack(index, error.code) + compact_string(error.message) + _NO_TAGS


async def fail(request: AlterPartitionReassignmentsRequest, version: int, error: KafkaError) -> Answer:
    """NOT_CONTROLLER is only at the top level, since clients retry only then. Any other error is repeated for each
    partition.
    """
    topics = () if isinstance(error, NotController) else request.topics
    elements = (
        InParts(
            _Topic(version=version, name=topic.name),
            "partitions",
            len(topic.partitions),
            ((p.partition_index, error.code, error.message) for p in topic.partitions),
        )
        for topic in topics
    )
    answer = AlterPartitionReassignmentsResponse(
        version=version,
        throttle_time_ms=0,
        allow_replication_factor_change=request.allow_replication_factor_change if version >= 1 else True,
        error_code=error.code,
        error_message=error.message,
    )
    return await answer_with(answer, "responses", elements, len(topics), sum(len(topic.partitions) for topic in topics))


API = served(
    AlterPartitionReassignmentsRequest,
    Acl(AclOperation.ALTER, AclResource.CLUSTER),
    Acl(AclOperation.ALTER_CONFIGS, AclResource.CLUSTER, "a leased throttle"),
    handle=handle,
    fail=fail,
    max_elements=ALL_PARTITIONS,
    to_controller=True,
    by_brokers=True,
)
