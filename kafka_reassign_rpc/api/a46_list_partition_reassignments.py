"""ListPartitionReassignments (KIP-455): the partitions that move. docs/apis.md has its tagged fields.

A partition whose move waits in the queue is listed too, not while another move of it is in flight, as a client expects
one move of a partition (the document `in_flight` has both).

Encoded bytes are cached, by topic and by partition: ten thousand partitions take 1 ms if nothing has changed, a few ms
if much has.
"""

import struct
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import repeat

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Encoded,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import answer_with, existing, in_pieces, items_of
from kafka_reassign_rpc.api.ports import ControllerPort, Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.reassignment.move_sums import why_not_started
from kafka_reassign_rpc.core.reassignment_algebra import Replicas, without
from kafka_reassign_rpc.core.state.partition import RPC, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.protocol.frame_codec import compact_ids, compact_string, sized, uvarint
from kafka_reassign_rpc.protocol.messages import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.turns import Steps, in_turns

_TAG_REASSIGNMENT_ID = b"\xf0\x01\x08"
"""A tagged field: number 240 as a varint, then its size, 8 bytes."""
_HEAD = struct.pack(">ih", 0, 0) + b"\x01"
"""No throttle, no error, and an empty message, as a ZooKeeper-mode controller sends it."""

_NO_TAGS = b"\x00"

_WAITING = b"\xf1\x01\x08\x08waiting"
"""A tagged field: number 241, its size, a string of 7 bytes."""

_ROUTE, _REASON, _HELD = b"\xf2\x01", b"\xf3\x01", b"\xf4\x01"
"""The numbers 242 to 244."""

_LONG = struct.Struct(">q")

_Topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment

Listed = Sequence[tuple[int, Partition, WaitingMove | None]]
Moving = tuple[Sequence[int], Sequence[Partition]]
"""The partitions of a topic that move: their indexes, and their current values."""


async def handle(node: Node, request: ListPartitionReassignmentsRequest, _ctx: RequestContext) -> Answer:
    controller = required_controller(node)
    wanted = None
    if request.topics is not None:
        wanted = await existing(node, ((topic.name, topic.partition_indexes) for topic in request.topics))
    parts, missing = _found(controller, wanted)
    for name, revision, moving, found in missing:
        listed = [*zip(*moving, repeat(None)), *found]
        parts[name] = await in_turns(_FRAGMENTS.encode(name, listed, revision, complete=wanted is None))
    return _encoded(parts)


def _found(
    controller: ControllerPort, wanted: Mapping[str, Collection[int]] | None
) -> tuple[dict[str, bytes], list[tuple[str, int | None, Moving, Listed]]]:
    """Takes all values from the controller before the next commit changes them. Returns what is encoded, and what is
    not yet.
    """
    waiting = dict(controller.waiting_reassignments(wanted))
    parts: dict[str, bytes] = {}
    complete = wanted is None
    missing: list[tuple[str, int | None, Moving, Listed]] = []
    for topic, indexes in controller.list_reassignments(wanted):
        revision = topic.revision if complete and topic.name not in waiting else None
        kept = None if revision is None else _FRAGMENTS.of_topic(topic.name, revision)
        if kept is None:
            moving = tuple(indexes)
            values = tuple(map(topic.partitions.__getitem__, moving))
            missing.append((topic.name, revision, (moving, values), waiting.pop(topic.name, ())))
        parts[topic.name] = kept or b""
    for name, found in waiting.items():
        parts[name] = b""
        missing.append((name, None, ((), ()), found))
    if complete:
        _FRAGMENTS.keep(parts)
    return parts, missing


def _encoded(parts: Mapping[str, bytes]) -> Encoded:
    head = _HEAD + uvarint(len(parts) + 1)
    return Encoded([head, *in_pieces(parts.values()), _NO_TAGS] if parts else head + _NO_TAGS)


class ListFragments:
    """An entry is valid while the values that it was made from are unchanged."""

    def __init__(self) -> None:
        self._partitions: dict[str, dict[int, tuple[Partition, WaitingMove | None, bytes]]] = {}
        self._topics: dict[str, tuple[int, bytes]] = {}

    def of_topic(self, name: str, revision: int) -> bytes | None:
        kept = self._topics.get(name)
        return None if kept is None or kept[0] != revision else kept[1]

    def encode(self, name: str, listed: Listed, revision: int | None = None, *, complete: bool = False) -> Steps[bytes]:
        """An OngoingTopicReassignment. Several may be under way at once: each stores only complete entries.

        complete   `listed` is all that moves in the topic: entries of its other partitions are dropped
        revision   the topic's revision, if only it decides the answer: no move of the topic waits
        """
        known = self._partitions.setdefault(name, {})
        parts = [compact_string(name), uvarint(len(listed) + 1)]
        current: dict[int, tuple[Partition, WaitingMove | None, bytes]] = {}
        for index, partition, waiting in listed:
            entry = known.get(index)
            if entry is None or entry[0] is not partition or entry[1] is not waiting:
                entry = known[index] = (partition, waiting, encode_partition(index, partition, waiting))
            current[index] = entry
            parts.append(entry[2])
            yield
        encoded = b"".join([*parts, b"\x00"])
        if complete:
            self._partitions[name] = current
        if revision is not None:
            self._topics[name] = (revision, encoded)
        return encoded

    def keep(self, topics: Collection[str]) -> None:
        for kept in (self._partitions, self._topics):
            for name in kept.keys() - topics:
                del kept[name]


_FRAGMENTS = ListFragments()


@cache
def _format(replicas: int, adding: int, removing: int) -> struct.Struct:
    return struct.Struct(f">iB{replicas}iB{adding}iB{removing}i")


def encode_partition(index: int, partition: Partition, waiting: WaitingMove | None = None) -> bytes:
    """An OngoingPartitionReassignment of version 0. `waiting` is the move in the queue of a partition that has none in
    flight.
    """
    replicas, adding, removing = partition.replicas, partition.adding, partition.removing
    move = partition.move
    if waiting is not None:
        adding, removing = _of_waiting(replicas, waiting.terms.target)
        tags = _tags(_WAITING, waiting.terms, why_not_started(waiting))
    elif move is None:
        tags = b"\x00"
    else:
        tags = _tags(b"" if move.id is None else _TAG_REASSIGNMENT_ID + _LONG.pack(move.id), move.terms)
    count, joining, leaving = len(replicas), len(adding), len(removing)
    if count < 0x7F and joining < 0x7F and leaving < 0x7F:
        return (
            _format(count, joining, leaving).pack(
                index, count + 1, *replicas, joining + 1, *adding, leaving + 1, *removing
            )
            + tags
        )
    return struct.pack(">i", index) + compact_ids(replicas) + compact_ids(adding) + compact_ids(removing) + tags


def _of_waiting(replicas: Replicas, target: Replicas) -> tuple[Replicas, Replicas]:
    """What the move will add and remove. Of another order of the same replicas all: `kafka-reassign-partitions.sh
    --cancel` leaves out what neither adds nor removes.
    """
    adding, removing = without(target, replicas), without(replicas, target)
    return (adding, removing) if adding or removing else (target, replicas)


def _tags(first: bytes, terms: MoveTerms, held: str | None = None) -> bytes:
    """Route and reason only if they are not the default."""
    tags = [first] if first else []
    if terms.route != RPC:
        tags.append(_ROUTE + sized(compact_string(terms.route)))
    if terms.reason:
        tags.append(_REASON + sized(compact_string(terms.reason)))
    if held is not None:
        tags.append(_HELD + sized(compact_string(held)))
    return b"".join([uvarint(len(tags)), *tags])


async def fail(request: ListPartitionReassignmentsRequest, _version: int, error: KafkaError) -> Answer:
    """NOT_CONTROLLER comes without partitions. Any other error comes with the requested partitions, without replicas,
    as in Kafka's ListPartitionReassignmentsRequest.getErrorResponse.
    """
    topics = () if isinstance(error, NotController) else request.topics or ()
    elements = (
        InParts(
            _Topic(version=0, name=topic.name),
            "partitions",
            len(topic.partition_indexes),
            ((index, (), (), ()) for index in topic.partition_indexes),
        )
        for topic in topics
    )
    answer = ListPartitionReassignmentsResponse(
        version=0, throttle_time_ms=0, error_code=error.code, error_message=error.message
    )
    return await answer_with(
        answer, "topics", elements, len(topics), items_of(len(t.partition_indexes) for t in topics)
    )


API = served(
    ListPartitionReassignmentsRequest,
    Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
    to_controller=True,
)
