"""DescribeReassignments (vendor key 32241), version 0: what is known of moves named by their identity (KIP-240).

Behaviour   all of them where the topics are null, else those named. A move that is not (any more) the current one of
            its partition is left out, without an error. The throttles are those that topic and broker configs put on
            the leader and on each replica of the target, 2^63-1 bytes/s where none applies. NOT_CONTROLLER on any
            other node. Tagged fields name the topic and the partition, which the proposal leaves to the client's
            memory, tell how far the move is, as of the last sample of brokers' log dirs (see
            core.reassignment.progress), by which
            route it was asked for, and why.
            Asked for no moves, it says why no new one may start (KIP-236's guard), if that is so.
ACL         DESCRIBE on the cluster.
Speed       the descriptions of a topic are kept until one of its partitions, a throttle or the sample changes, and
            each description as long as the values that it was made from stand: ten thousand moves can be watched once
            a second.
"""

import struct
from collections.abc import Collection
from typing import Any, NamedTuple

from kafka_reassign_rpc.api.handler_helpers import active_controller, in_turns
from kafka_reassign_rpc.api.ports import Api, ControllerPort, Encoded, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.reassignment.progress import MoveProgress
from kafka_reassign_rpc.core.state.cluster import RPC, Partition
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.protocol.flexible_encoding import compact_string, sized, uvarint
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsResponse
from kafka_reassign_rpc.protocol.versions import ApiKey

_HEAD = struct.pack(">ih", 0, 0) + b"\x00"
"""No throttle, no error, no message."""
_DESCRIPTION = struct.Struct(">qqiq")
_REPLICA = struct.Struct(">iqB")
_COPYING_REPLICA = struct.Struct(">iqBBBq")
"""The second with one tagged field: how many, its number, its size, the bytes that are copied."""
_PARTITION_TAG = struct.Struct(">BBi")
_INT64_TAG = struct.Struct(">BBq")

NO_FIGURES = MoveProgress()


async def handle(node: Node, request: Any, _ctx: RequestContext) -> Any:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    asked: dict[str, dict[int, int]] | None = None
    if request.topic_reassignments is not None:
        if not request.topic_reassignments:
            return await _whether_closed(controller)
        asked = {
            topic.topic: {move.partition_id: move.reassignment_id for move in topic.reassignments}
            for topic in request.topic_reassignments
        }
    parts: dict[str, Described] = {}
    missing: list[Missing] = []
    for topic, indexes in controller.list_reassignments(asked):
        throttles = _FRAGMENTS.throttles(topic.name, controller.throttles(topic.name))
        made_of = MadeOf(topic.revision, controller.samples(), throttles)
        kept = _FRAGMENTS.of_topic(topic.name, made_of) if asked is None else None
        if kept is None:
            missing.append(Missing(topic.name, made_of, [(index, topic.partitions[index]) for index in indexes], []))
        parts[topic.name] = kept or NOTHING
    every = ((one, index, partition) for one in missing for index, partition in one.partitions)
    async for some in in_turns(every):
        for one, index, partition in some:
            move = partition.move
            if move is None or (move.id < 0 if asked is None else move.id != asked[one.topic][index]):
                continue
            figures = controller.progress(one.topic, index) or NO_FIGURES
            one.found.append(_FRAGMENTS.description(one.topic, index, partition, one.made_of.throttles, figures))
    for one in missing:
        parts[one.topic] = Described(len(one.found), b"".join(one.found))
        if asked is None:
            _FRAGMENTS.put_topic(one.topic, one.made_of, parts[one.topic])
    if asked is None:
        _FRAGMENTS.keep(parts)
    described = parts.values()
    count = sum([one.moves for one in described])
    return Encoded(b"".join([_HEAD, uvarint(count + 1), *[one.encoded for one in described], b"\x00"]))


async def _whether_closed(controller: ControllerPort) -> Any:
    closed = await controller.closed()
    return DescribeReassignmentsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        descriptions=[],
        closed=None if closed is None else closed.message,
    )


class MadeOf(NamedTuple):
    """What a topic's descriptions are made of: its revision, the number of the last sample, its throttles."""

    revision: int
    samples: int
    throttles: TopicThrottles


class Described(NamedTuple):
    """A topic's descriptions, one after the other."""

    moves: int
    encoded: bytes


class Missing(NamedTuple):
    """A topic's moves that are to be described, and what is `found` so far."""

    topic: str
    made_of: MadeOf
    partitions: list[tuple[int, Partition]]
    found: list[bytes]


NOTHING = Described(0, b"")


class DescriptionFragments:
    """Descriptions of moves and of topics, each kept as long as what it was made from is what stands."""

    def __init__(self) -> None:
        self._moves: dict[str, tuple[TopicThrottles, dict[int, tuple[Partition, MoveProgress, bytes]]]] = {}
        self._topics: dict[str, tuple[MadeOf, Described]] = {}

    def of_topic(self, topic: str, made_of: MadeOf) -> Described | None:
        """All moves of the topic, where they have been described as they are."""
        kept = self._topics.get(topic)
        return None if kept is None or kept[0] != made_of else kept[1]

    def put_topic(self, topic: str, made_of: MadeOf, described: Described) -> None:
        self._topics[topic] = (made_of, described)

    def description(
        self, topic: str, index: int, partition: Partition, throttles: TopicThrottles, figures: MoveProgress
    ) -> bytes:
        known = self._moves.get(topic)
        if known is None or (known[0] is not throttles and not known[0].is_same(throttles)):
            known = self._moves[topic] = (throttles, {})
        entry = known[1].get(index)
        if entry is None or entry[0] is not partition or entry[1] is not figures:
            encoded = encode_description(topic, index, partition, throttles, figures)
            entry = known[1][index] = (partition, figures, encoded)
        return entry[2]

    def throttles(self, topic: str, now: TopicThrottles) -> TopicThrottles:
        """Those that the topic's descriptions were made with, where they are the same."""
        known = self._moves.get(topic)
        return known[0] if known is not None and known[0].is_same(now) else now

    def keep(self, topics: Collection[str]) -> None:
        """Forget what is about other topics."""
        for kept in (self._moves, self._topics):
            for name in kept.keys() - topics:
                del kept[name]


_FRAGMENTS = DescriptionFragments()


def encode_description(
    topic: str, index: int, partition: Partition, throttles: TopicThrottles, figures: MoveProgress
) -> bytes:
    """A ReassignmentDescription of version 0."""
    move = partition.move
    assert move is not None
    copied = figures.copied
    replicas = [
        _COPYING_REPLICA.pack(broker, throttles.follower(index, broker), 1, 2, 8, copied[broker])
        if broker in copied
        else _REPLICA.pack(broker, throttles.follower(index, broker), 0)
        for broker in move.target
    ]
    tags = [b"\x00", sized(compact_string(topic)), _PARTITION_TAG.pack(1, 4, index)]
    count = 2
    if figures.total >= 0:
        tags.append(_INT64_TAG.pack(2, 8, figures.total))
        count += 1
    if figures.remaining_ms >= 0:
        tags.append(_INT64_TAG.pack(3, 8, figures.remaining_ms))
        count += 1
    if figures.stalled is not None:
        tags += (b"\x04", sized(compact_string(figures.stalled)))
        count += 1
    if figures.rate >= 0:
        tags.append(_INT64_TAG.pack(5, 8, figures.rate))
        count += 1
    if move.route != RPC:
        tags += (b"\x06", sized(compact_string(move.route)))
        count += 1
    if move.reason:
        tags += (b"\x07", sized(compact_string(move.reason)))
        count += 1
    leader = partition.leader
    head = _DESCRIPTION.pack(move.id, move.started, leader, throttles.leader(index, leader))
    return b"".join([head, uvarint(len(replicas) + 1), *replicas, uvarint(count), *tags])


def fail(_request: Any, _version: int, error: KafkaError) -> Any:
    return DescribeReassignmentsResponse(
        version=0, throttle_time_ms=0, error_code=error.code, error_message=error.message, descriptions=[]
    )


API = Api(ApiKey.DESCRIBE_REASSIGNMENTS, "DescribeReassignments", 0, 0, handle, fail)
