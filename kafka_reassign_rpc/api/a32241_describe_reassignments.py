"""DescribeReassignments (KIP-240): moves by their identity, with the proposal's fields. It is a view of the document
`in_flight` of AskDocument, which has all else of a move.

Null topics ask for all moves. The answer leaves out, without an error, what is not the current move of its partition. A
topic or partition that is named again adds to what is asked for; the order is that of the first mention. The throttles
are those of topic and broker configs for the leader and for each replica of the target, 2^63-1 bytes/s without one.
Topic and partition are tagged fields: the proposal leaves both to the client's memory.
"""

import struct
from collections.abc import Sequence

from kafka_reassign_rpc.api.answer_fields import NO_ERROR
from kafka_reassign_rpc.api.api_definition import (
    ALL_PARTITIONS,
    Acl,
    AclOperation,
    AclResource,
    ApiGroup,
    Encoded,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import in_pieces
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.status.documents import Move
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.protocol.frame_codec import compact_string, sized, uvarint
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import in_turns, rest

_DESCRIPTION = struct.Struct(">qqiq")
_REPLICA = struct.Struct(">iqB")
_PARTITION_TAG = struct.Struct(">BBi")

_AskedTopic = DescribeReassignmentsRequest.DescribeReassignmentsTopic

Asked = dict[str, dict[int, int | set[int]]]
"""The identities that are asked for, by topic and partition, in the order of the request. A set only where a partition
has several: a hundred thousand sets would take long to free."""


async def handle(node: Node, request: DescribeReassignmentsRequest, _ctx: RequestContext) -> Encoded:
    asked: Asked | None = None
    if request.topic_reassignments is not None:
        asked = await _asked(request.topic_reassignments)
    controller = required_controller(node)
    throttles: tuple[str, TopicThrottles] | None = None
    found: list[bytes] = []
    for move in controller.moves_in_flight(asked):
        await rest()
        if (
            move is None
            or move.id is None
            or (asked is not None and not _is_asked(asked[move.topic][move.partition], move.id))
        ):
            continue
        if throttles is None or throttles[0] != move.topic:
            throttles = move.topic, controller.throttles(move.topic)
        found.append(encode_description(move, throttles[1]))
    if asked is not None:
        await in_turns(emptied(*asked.values(), asked))
    return Encoded([NO_ERROR + uvarint(len(found) + 1), *in_pieces(found), b"\x00"])


async def _asked(topics: Sequence[_AskedTopic]) -> Asked:
    asked: Asked = {}
    for topic in topics:
        of_topic = asked.setdefault(topic.topic, {})
        for move in topic.reassignments:
            known = of_topic.setdefault(move.partition_id, move.reassignment_id)
            if isinstance(known, set):
                known.add(move.reassignment_id)
            elif known != move.reassignment_id:
                of_topic[move.partition_id] = {known, move.reassignment_id}
            await rest()
        await rest()
    return asked


def _is_asked(identities: int | set[int], identity: int) -> bool:
    return identity in identities if isinstance(identities, set) else identity == identities


def encode_description(move: Move, throttles: TopicThrottles) -> bytes:
    """A ReassignmentDescription of version 0. On the wire -1 is what is not known, and no leader."""
    index = move.partition
    started, leader = -1 if move.since is None else move.since, NO_LEADER if move.leader is None else move.leader
    return b"".join(
        [
            _DESCRIPTION.pack(move.id, started, leader, throttles.leader(index, leader)),
            uvarint(len(move.target) + 1),
            *[_REPLICA.pack(broker, throttles.follower(index, broker), 0) for broker in move.target],
            b"\x02\x00",
            sized(compact_string(move.topic)),
            _PARTITION_TAG.pack(1, 4, index),
        ]
    )


API = served(
    DescribeReassignmentsRequest,
    Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),
    handle=handle,
    group=ApiGroup.VENDOR,
    max_elements=ALL_PARTITIONS,
)
