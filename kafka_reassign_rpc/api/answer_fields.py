"""What many answers have in common: values of fields, and the topics that clients see, whatever their rights.

None in deletion is seen. A partition as Metadata and DescribeTopicPartitions show it (Kafka:
ZkMetadataCache.getPartitionMetadata) is made of immutable `Partition`s: so a large answer can be built in slices while
the controller goes on.
"""

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    KafkaError,
    LeaderNotAvailable,
    ReplicaNotAvailable,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
    TopicAuthorizationFailed,
)
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition, Topic

ZERO_UUID = UUID(int=0)
"""Means "no topic id"."""

_WITHOUT_MESSAGE = (ClusterAuthorizationFailed, RequestTimedOut, ThrottlingQuotaExceeded, TopicAuthorizationFailed)


def controller_of(node: Node) -> int:
    """As Metadata and DescribeCluster name it: -1 while none is known."""
    controller = node.controller_id()
    return -1 if controller is None else controller


def code_of(error: KafkaError | None) -> int:
    return 0 if error is None else error.code


def message_of(error: KafkaError | None) -> str | None:
    """None also if the error says no more than the code of one of `_WITHOUT_MESSAGE` (Kafka's `new ApiError(error,
    null)`, and ApiError.fromThrowable).
    """
    if error is None or (isinstance(error, _WITHOUT_MESSAGE) and error.message == error.default_message):
        return None
    return error.message


NO_ERROR = struct.pack(">ih", 0, 0) + b"\x00"
"""How a flexible answer begins: no throttle, no error, no message."""

NOT_REQUESTED = -(1 << 31)
"""Authorized operations that the request did not ask for, or that the caller may not learn."""


CONSUMER_OFFSETS, TRANSACTION_STATE = "__consumer_offsets", "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})


def is_visible(topic: Topic | None) -> bool:
    return topic is not None and not topic.deleting


async def known_topics(node: Node, names: Iterable[str] | None) -> Mapping[str, Topic]:
    """The topics that the node knows, else it fetches these, or all (None). Only then does it go through `names`."""
    known = node.topics_now()
    return known if known is not None else await node.topics(None if names is None else {*names})


class PartitionMetadata(NamedTuple):
    """The fields of Metadata's newest version, in their order."""

    error: int
    partition: int
    leader: int
    leader_epoch: int
    replicas: Sequence[int]
    isr: Sequence[int]
    offline: Sequence[int]


def partition_metadata(
    index: int, partition: Partition, alive: Collection[int], *, hide_dead: bool
) -> PartitionMetadata:
    """For a client that can reach the brokers `alive`. `hide_dead` (Metadata version 0) leaves unreachable replicas out
    and sets REPLICA_NOT_AVAILABLE.
    """
    replicas: Sequence[int] = partition.replicas
    isr: Sequence[int] = partition.isr
    failed = partition.offline
    offline = [r for r in replicas if r not in alive or r in failed]
    if hide_dead and (offline or any(r not in alive for r in isr)):
        replicas = [r for r in replicas if r in alive]
        isr = [r for r in isr if r in alive]
    if partition.leader not in alive:
        error = LeaderNotAvailable.code
        return PartitionMetadata(error, index, NO_LEADER, partition.leader_epoch, replicas, isr, offline)
    error = 0
    if len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
        error = ReplicaNotAvailable.code
    return PartitionMetadata(error, index, partition.leader, partition.leader_epoch, replicas, isr, offline)
