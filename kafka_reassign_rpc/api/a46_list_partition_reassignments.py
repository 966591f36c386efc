"""ListPartitionReassignments (key 46), version 0: which partitions are moving (KIP-455).

Behaviour   all of them where topics are null, else those named that do move; topics without any are left out, and
            so is what does not exist. NOT_CONTROLLER at the top level on any other node. Tagged field 240 of a
            partition carries the identity of its move (KIP-240), once its record is durable. A partition whose
            move waits in the queue is listed too, with the replicas that stand, those that the move will bring in
            and those that it will take out; tagged field 241 tells it from the others by "waiting". Fields 242 and
            243 tell by which route a move was asked for, if not by RPC, and the reason that was given, if any.
ACL         DESCRIBE on the cluster.
Speed       what is encoded of a topic is kept until one of its partitions changes, and of the others then still stands;
            so ten thousand partitions take 1 ms where nothing has changed, and a few ms where much has. From
            `IN_THREAD` partitions on that have to be looked at, a thread does the work.
"""

import asyncio
import struct
from collections.abc import Collection, Sequence
from functools import cache
from itertools import repeat
from typing import Any

from kafka_reassign_rpc.api.handler_helpers import active_controller
from kafka_reassign_rpc.api.ports import Api, Encoded, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.reassignment_algebra.assignment import without
from kafka_reassign_rpc.core.state.cluster import RPC, MoveRecord, Partition
from kafka_reassign_rpc.core.state.queue_entries import Waiting
from kafka_reassign_rpc.protocol.flexible_encoding import compact_ids, compact_string, sized, uvarint
from kafka_reassign_rpc.protocol.messages import ListPartitionReassignmentsResponse

IN_THREAD = 5000

_TAG_REASSIGNMENT_ID = b"\xf0\x01\x08"
"""A tagged field: number 240 as a varint, then its size, 8 bytes."""
_HEAD = struct.pack(">ih", 0, 0) + b"\x01"
"""No throttle, no error, and an empty message, as a ZooKeeper-mode controller sends it."""

_WAITING = b"\xf1\x01\x08\x08waiting"
"""A tagged field: number 241, its size, a string of 7 bytes."""

_ROUTE, _REASON = b"\xf2\x01", b"\xf3\x01"
"""The numbers 242 and 243."""

_LONG = struct.Struct(">q")

Listed = Sequence[tuple[int, Partition, Waiting | None]]
Moving = tuple[Sequence[int], Sequence[Partition]]
"""Of a topic: the indexes of those that move, and what they are now."""


def handle(node: Node, request: Any, _ctx: RequestContext) -> Any:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    wanted: dict[str, set[int]] | None = None
    if request.topics is not None:
        wanted = {}
        for topic in request.topics:
            wanted.setdefault(topic.name, set()).update(topic.partition_indexes)
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

    def answer() -> Encoded:
        for name, revision, moving, found in missing:
            listed = [*zip(*moving, repeat(None)), *found]
            parts[name] = _FRAGMENTS.encode(name, listed, revision, complete=complete)
        return Encoded(b"".join([_HEAD, uvarint(len(parts) + 1), *parts.values(), b"\x00"]))

    if sum(len(moving[0]) + len(found) for _, _, moving, found in missing) < IN_THREAD:
        return answer()
    return asyncio.to_thread(answer)


class ListFragments:
    """What is encoded of partitions and of whole topics, each kept as long as what it was made from stands."""

    def __init__(self) -> None:
        self._partitions: dict[str, dict[int, tuple[Partition, Waiting | None, bytes]]] = {}
        self._topics: dict[str, tuple[int, bytes]] = {}

    def of_topic(self, name: str, revision: int) -> bytes | None:
        """All of its partitions that move, where that revision has been encoded."""
        kept = self._topics.get(name)
        return None if kept is None or kept[0] != revision else kept[1]

    def encode(self, name: str, listed: Listed, revision: int | None = None, *, complete: bool = False) -> bytes:
        """An OngoingTopicReassignment.

        complete   nothing else is to be listed of the topic: what was kept of other partitions is not needed any more
        revision   that of the topic, where all of it can be told from that: nothing waits

        Safe in several threads at once: each of them puts complete entries only.
        """
        known = self._partitions.setdefault(name, {})
        parts = [compact_string(name), uvarint(len(listed) + 1)]
        current: dict[int, tuple[Partition, Waiting | None, bytes]] = {}
        for index, partition, waiting in listed:
            entry = known.get(index)
            if entry is None or entry[0] is not partition or entry[1] is not waiting:
                entry = known[index] = (partition, waiting, encode_partition(index, partition, waiting))
            current[index] = entry
            parts.append(entry[2])
        encoded = b"".join([*parts, b"\x00"])
        if complete:
            self._partitions[name] = current
        if revision is not None:
            self._topics[name] = (revision, encoded)
        return encoded

    def keep(self, topics: Collection[str]) -> None:
        """Forget what is about other topics."""
        for kept in (self._partitions, self._topics):
            for name in kept.keys() - topics:
                del kept[name]


_FRAGMENTS = ListFragments()


@cache
def _format(replicas: int, adding: int, removing: int) -> struct.Struct:
    return struct.Struct(f">iB{replicas}iB{adding}iB{removing}i")


def encode_partition(index: int, partition: Partition, waiting: Waiting | None = None) -> bytes:
    """An OngoingPartitionReassignment of version 0. `waiting`: the move that waits, of a partition at rest."""
    replicas, adding, removing = partition.replicas, partition.adding, partition.removing
    move = partition.move
    if waiting is not None:
        adding, removing = without(waiting.target, replicas), without(replicas, waiting.target)
        tags = _tags(_WAITING, waiting)
    elif move is None:
        tags = b"\x00"
    else:
        tags = _tags(b"" if move.id < 0 else _TAG_REASSIGNMENT_ID + _LONG.pack(move.id), move)
    count, joining, leaving = len(replicas), len(adding), len(removing)
    if count < 0x7F and joining < 0x7F and leaving < 0x7F:
        return (
            _format(count, joining, leaving).pack(
                index, count + 1, *replicas, joining + 1, *adding, leaving + 1, *removing
            )
            + tags
        )
    return struct.pack(">i", index) + compact_ids(replicas) + compact_ids(adding) + compact_ids(removing) + tags


def _tags(first: bytes, of: MoveRecord | Waiting) -> bytes:
    """The tagged fields: `first` (one, or none), then the route and the reason where there is something to tell."""
    tags = [first] if first else []
    if of.route != RPC:
        tags.append(_ROUTE + sized(compact_string(of.route)))
    if of.reason:
        tags.append(_REASON + sized(compact_string(of.reason)))
    return b"".join([uvarint(len(tags)), *tags])


def fail(_request: Any, _version: int, error: KafkaError) -> Any:
    return ListPartitionReassignmentsResponse(
        version=0, throttle_time_ms=0, error_code=error.code, error_message=error.message, topics=[]
    )


API = Api(46, "ListPartitionReassignments", 0, 0, handle, fail)
