"""DescribeReassignments (KIP-240): moves by their identity.

Null topics ask for all moves. The answer leaves out, without an error, what is not the current move of its partition. A
topic or partition that is named again adds to what is asked for; the order is that of the first mention. The throttles
are those of topic and broker configs for the leader and for each replica of the target, 2^63-1 bytes/s without one.
Progress is that of the last sample (see core.reassignment.progress). Topic and partition are tagged fields: the
proposal leaves both to the client's memory.

Clients can watch ten thousand moves once a second, since descriptions are cached: each by itself, and those of a topic
together unless another move of one of its partitions waits.
"""

import struct
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.api.answer_fields import NO_ERROR, error_alone
from kafka_reassign_rpc.api.api_definition import (
    ALL_PARTITIONS,
    Acl,
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    Encoded,
    RequestContext,
)
from kafka_reassign_rpc.api.large_requests import in_pieces
from kafka_reassign_rpc.api.ports import ControllerPort, Node, required_controller
from kafka_reassign_rpc.core.reassignment.move_progress import MoveProgress
from kafka_reassign_rpc.core.state.partition import RPC, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.protocol.flexible_encoding import compact_ids, compact_string, sized, uvarint
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest, DescribeReassignmentsResponse
from kafka_reassign_rpc.support.turns import Steps

_DESCRIPTION = struct.Struct(">qqiq")
_REPLICA = struct.Struct(">iqB")
_COPYING_REPLICA = struct.Struct(">iqBBBq")
"""A replica with one tagged field: number of fields, field number, size, copied bytes."""
_PARTITION_TAG = struct.Struct(">BBi")
_INT64_TAG = struct.Struct(">BBq")

NO_PROGRESS = MoveProgress()

_AskedTopic = DescribeReassignmentsRequest.DescribeReassignmentsTopic

Asked = dict[str, dict[int, int | set[int]]]
"""The identities that are asked for, by topic and partition, in the order of the request. A set only where a partition
has several: a hundred thousand sets would take long to free."""


def handle(node: Node, request: DescribeReassignmentsRequest, _ctx: RequestContext) -> Steps[Encoded]:
    controller = required_controller(node)
    asked: Asked | None = None
    if request.topic_reassignments is not None:
        asked = yield from _asked(request.topic_reassignments)
    parts: dict[str, Described] = {}
    missing: list[Missing] = []
    for topic, indexes in controller.list_reassignments(asked):
        throttles = _FRAGMENTS.throttles(topic.name, controller.throttles(topic.name))
        cache_key = CacheKey(topic.revision, controller.samples(), throttles)
        waiting = controller.waiting_beside(topic.name, indexes)
        kept = _FRAGMENTS.of_topic(topic.name, cache_key) if asked is None and not waiting else None
        if kept is None:
            ordered = indexes if asked is None else filter(frozenset(indexes).__contains__, asked[topic.name])
            partitions = [(index, topic.partitions[index]) for index in ordered]
            missing.append(Missing(topic.name, cache_key, partitions, waiting, []))
        parts[topic.name] = kept or NOTHING
    yield from _describe(controller, missing, asked)
    for one in missing:
        parts[one.topic] = Described(len(one.found), b"".join(one.found))
        if asked is None and not one.waiting:
            _FRAGMENTS.put_topic(one.topic, one.cache_key, parts[one.topic])
    if asked is None:
        _FRAGMENTS.keep(parts)
    described = parts.values()
    count = sum([one.moves for one in described])
    return Encoded([NO_ERROR + uvarint(count + 1), *in_pieces(one.encoded for one in described), b"\x00"])


def _asked(topics: Sequence[_AskedTopic]) -> Steps[Asked]:
    asked: Asked = {}
    for topic in topics:
        of_topic = asked.setdefault(topic.topic, {})
        for move in topic.reassignments:
            known = of_topic.setdefault(move.partition_id, move.reassignment_id)
            if isinstance(known, set):
                known.add(move.reassignment_id)
            elif known != move.reassignment_id:
                of_topic[move.partition_id] = {known, move.reassignment_id}
            yield
        yield
    return asked


def _is_asked(identities: int | set[int], identity: int | None) -> bool:
    return identity in identities if isinstance(identities, set) else identity == identities


def _describe(controller: ControllerPort, missing: "Sequence[Missing]", asked: Asked | None) -> Steps[None]:
    every = ((one, index, partition) for one in missing for index, partition in one.partitions)
    for one, index, partition in every:
        yield
        move = partition.move
        if move is None or not (move.id is not None if asked is None else _is_asked(asked[one.topic][index], move.id)):
            continue
        figures = controller.progress(one.topic, index) or NO_PROGRESS
        waiting = one.waiting.get(index)
        one.found.append(_FRAGMENTS.description(one.topic, index, partition, one.cache_key.throttles, figures, waiting))


class CacheKey(NamedTuple):
    """The values that a topic's descriptions are made from; `samples` is the number of the last sample."""

    revision: int
    samples: int
    throttles: TopicThrottles


class Described(NamedTuple):
    """The encoded descriptions of a topic's moves, one after the other, and their number."""

    moves: int
    encoded: bytes


class Missing(NamedTuple):
    """The moves of a topic that are not in the cache. Their descriptions go into `found`; `waiting` has moves of the
    same partitions in the queue.
    """

    topic: str
    cache_key: CacheKey
    partitions: list[tuple[int, Partition]]
    waiting: Mapping[int, WaitingMove]
    found: list[bytes]


NOTHING = Described(0, b"")


class DescriptionFragments:
    """Of moves and of topics. An entry is valid while the values that it was made from are unchanged."""

    def __init__(self) -> None:
        self._moves: dict[
            str, tuple[TopicThrottles, dict[int, tuple[Partition, MoveProgress, WaitingMove | None, bytes]]]
        ] = {}
        self._topics: dict[str, tuple[CacheKey, Described]] = {}

    def of_topic(self, topic: str, cache_key: CacheKey) -> Described | None:
        kept = self._topics.get(topic)
        return None if kept is None or kept[0] != cache_key else kept[1]

    def put_topic(self, topic: str, cache_key: CacheKey, described: Described) -> None:
        self._topics[topic] = (cache_key, described)

    def description(
        self,
        topic: str,
        index: int,
        partition: Partition,
        throttles: TopicThrottles,
        figures: MoveProgress,
        waiting: WaitingMove | None = None,
    ) -> bytes:
        known = self._moves.get(topic)
        if known is None or (known[0] is not throttles and not known[0].is_same(throttles)):
            known = self._moves[topic] = (throttles, {})
        entry = known[1].get(index)
        if entry is None or entry[0] is not partition or entry[1] is not figures or entry[2] is not waiting:
            encoded = encode_description(topic, index, partition, throttles, figures, waiting)
            entry = known[1][index] = (partition, figures, waiting, encoded)
        return entry[3]

    def throttles(self, topic: str, now: TopicThrottles) -> TopicThrottles:
        """Those with which the topic's descriptions were made, if they equal `now`; else `now`."""
        known = self._moves.get(topic)
        return known[0] if known is not None and known[0].is_same(now) else now

    def keep(self, topics: Collection[str]) -> None:
        for kept in (self._moves, self._topics):
            for name in kept.keys() - topics:
                del kept[name]


_FRAGMENTS = DescriptionFragments()


def encode_description(
    topic: str,
    index: int,
    partition: Partition,
    throttles: TopicThrottles,
    figures: MoveProgress,
    waiting: WaitingMove | None = None,
) -> bytes:
    """A ReassignmentDescription of version 0. `waiting` is another move of the partition in the queue."""
    move = partition.move
    assert move is not None
    assert move.id is not None
    copied = figures.copied
    replicas = [
        _COPYING_REPLICA.pack(broker, throttles.follower(index, broker), 1, 2, 8, copied[broker])
        if broker in copied
        else _REPLICA.pack(broker, throttles.follower(index, broker), 0)
        for broker in move.terms.target
    ]
    tags = [b"\x00", sized(compact_string(topic)), _PARTITION_TAG.pack(1, 4, index)]
    count = 2
    if figures.total is not None:
        tags.append(_INT64_TAG.pack(2, 8, figures.total))
        count += 1
    if figures.remaining_ms is not None:
        tags.append(_INT64_TAG.pack(3, 8, figures.remaining_ms))
        count += 1
    if figures.stalled is not None:
        tags += (b"\x04", sized(compact_string(figures.stalled)))
        count += 1
    if figures.rate is not None:
        tags.append(_INT64_TAG.pack(5, 8, figures.rate))
        count += 1
    if move.terms.route != RPC:
        tags += (b"\x06", sized(compact_string(move.terms.route)))
        count += 1
    if move.terms.reason:
        tags += (b"\x07", sized(compact_string(move.terms.reason)))
        count += 1
    if waiting is not None:
        tags += (b"\x08", sized(compact_ids(waiting.terms.target)))
        count += 1
        if waiting.terms.route != RPC:
            tags += (b"\x09", sized(compact_string(waiting.terms.route)))
            count += 1
        if waiting.terms.reason:
            tags += (b"\x0a", sized(compact_string(waiting.terms.reason)))
            count += 1
    joining = figures.waits_to_join(partition.isr)
    if joining:
        tags += (b"\x0b", sized(compact_ids(joining)))
        count += 1
    if figures.waits_for is not None:
        tags += (b"\x0c", sized(compact_string(figures.waits_for)))
        count += 1
    leader = partition.leader
    head = _DESCRIPTION.pack(
        move.id, -1 if move.started is None else move.started, leader, throttles.leader(index, leader)
    )
    return b"".join([head, uvarint(len(replicas) + 1), *replicas, uvarint(count), *tags])


API = Api(
    key=32241,
    name="DescribeReassignments",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(DescribeReassignmentsResponse),
    max_elements=ALL_PARTITIONS,
)
