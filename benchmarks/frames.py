"""Encodes requests before the clock starts, and reads answers after it has stopped.

Topics of a benchmark are alike: partition p of any of them has its replicas on three neighbours in the ring of brokers,
the leader first. A move replaces the last replica by the next neighbour; the move back restores it.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from kafka_reassign_rpc.core.status.documents import MovesInFlight
from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    AskDocumentRequest,
    AskDocumentResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    MetadataResponse,
)

BROKERS = (1, 2, 3, 4, 5, 6)
CORRELATION_ID = 7
CLIENT_ID = "benchmark"
_TIMEOUT_MS = 3_600_000


def _frame(body: Any, version: int) -> bytes:
    return encode_request(body, version=version, correlation_id=CORRELATION_ID, client_id=CLIENT_ID)


LIST_NOTHING = _frame(ListPartitionReassignmentsRequest(version=0, timeout_ms=_TIMEOUT_MS, topics=[]), 0)
LIST_ALL = _frame(ListPartitionReassignmentsRequest(version=0, timeout_ms=_TIMEOUT_MS, topics=None), 0)


MOVES_IN_FLIGHT = _frame(AskDocumentRequest(version=0, document="in_flight", body=b""), 0)


def home(partition: int, replicas: int) -> list[int]:
    """The replicas of a partition before a move."""
    return [BROKERS[(partition + i) % len(BROKERS)] for i in range(replicas)]


def away(partition: int, replicas: int) -> list[int]:
    """The target of a move: one replica is replaced."""
    return [*home(partition, replicas)[:-1], BROKERS[(partition + replicas) % len(BROKERS)]]


def create(topic: str, partitions: int, replicas: int, place: Callable[[int, int], list[int]] = home) -> bytes:
    assignments = [(index, place(index, replicas)) for index in range(partitions)]
    body = CreateTopicsRequest(
        version=4, topics=[(topic, -1, -1, assignments, [])], timeout_ms=_TIMEOUT_MS, validate_only=False
    )
    return _frame(body, 4)


def created(answer: bytes) -> list[tuple[str, int]]:
    """(topic, error) of each topic that CreateTopics refused."""
    _, body = decode_response(CreateTopicsResponse, answer, version=4)
    return [(topic.name, topic.error_code) for topic in body.topics if topic.error_code]


def alter(topics: Mapping[str, int], replicas: int, *, back: bool = False) -> bytes:
    """One Alter of every partition of these topics (name -> partitions)."""
    place = home if back else away
    return alter_to(topics, lambda index: place(index, replicas))


def cancel(topics: Mapping[str, int]) -> bytes:
    """One Alter that cancels the move of every partition of these topics."""
    return alter_to(topics, lambda _: None)


def alter_to(topics: Mapping[str, int], target: Callable[[int], list[int] | None], *, queue: bool = False) -> bytes:
    """One Alter of every partition of these topics; `target`: the replicas by partition, None to cancel. `queue`: only
    this product has one.
    """
    body = AlterPartitionReassignmentsRequest(
        version=0,
        queue=queue,
        timeout_ms=_TIMEOUT_MS,
        topics=[
            AlterPartitionReassignmentsRequest.ReassignableTopic(
                version=0,
                name=name,
                partitions=[
                    AlterPartitionReassignmentsRequest.ReassignableTopic.ReassignablePartition(
                        version=0, partition_index=index, replicas=target(index)
                    )
                    for index in range(count)
                ],
            )
            for name, count in topics.items()
        ],
    )
    return _frame(body, 0)


def accepted(answer: bytes) -> int:
    """The number of partitions that an Alter accepted. Raises RuntimeError at the first refusal."""
    _, body = decode_response(AlterPartitionReassignmentsResponse, answer, version=0)
    if body.error_code:
        raise RuntimeError(f"Alter refused: {body.error_code} {body.error_message}")
    count = 0
    for topic in body.responses:
        for partition in topic.partitions:
            if partition.error_code:
                raise RuntimeError(f"{topic.name}-{partition.partition_index}: {partition.error_message}")
            count += 1
    return count


def list_error(answer: bytes) -> int:
    """The error code of a List (after correlation id, header tags and throttle time)."""
    (code,) = struct.unpack_from(">h", answer, 4 + 1 + 4)
    return int(code)


def with_figures(answer: bytes) -> int:
    """The number of moves in flight for which the document has a size."""
    _, found = decode_response(AskDocumentResponse, answer, version=0)
    return sum(one.bytes_total is not None for one in msgspec.json.decode(found.body, type=MovesInFlight).moves)


def nothing_moves(answer: bytes) -> bool:
    """Whether a List of everything names no partition."""
    return len(answer) < 64 and list_error(answer) == 0


def metadata(topics: Sequence[str]) -> bytes:
    return _frame(MetadataRequest(version=1, topics=[(topic,) for topic in topics]), 1)


def led(answer: bytes) -> int:
    """The number of partitions with a leader in a Metadata answer."""
    _, body = decode_response(MetadataResponse, answer, version=1)
    return sum(partition.leader_id >= 0 for topic in body.topics for partition in topic.partitions)
