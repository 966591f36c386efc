"""ListOffsets, see `partition_refusals`."""

from collections import Counter
from collections.abc import Mapping

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    RequestContext,
)
from kafka_reassign_rpc.api.partition_refusals import (
    DENIED,
    UNKNOWN,
    PartitionError,
    PartitionRefusals,
    TopicRights,
    named_topics,
    topic_right,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError, NotLeaderOrFollower, UnsupportedVersion
from kafka_reassign_rpc.protocol.messages import ListOffsetsRequest, ListOffsetsResponse
from kafka_reassign_rpc.support.turns import Steps, Work

REFUSALS = PartitionRefusals(ListOffsetsResponse)
LEAST_VERSIONS: Mapping[int, int] = {-2: 1, -1: 1, -3: 7, -4: 8, -5: 9}
"""The places in a log that a negative time can mean, and since which version (handleListOffsetRequestV1AndAbove)."""
_EARLIEST = -2

_Partition = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition


def handle(node: Node, request: ListOffsetsRequest, ctx: RequestContext) -> Work[Answer]:
    version = ctx.api_version
    known = yield from named_topics(node, request.topics)
    rights = TopicRights(topic_right(ctx.access, AclOperation.DESCRIBE), known)
    twice = yield from _twice(request, version)

    def of_topic(name: str) -> PartitionError:
        if not rights.may(name):
            return lambda _index, _partition: DENIED
        existing = rights.existing(name)

        def error_of(index: int, partition: _Partition) -> KafkaError:
            if (name, index) in twice:
                return _TWICE
            if not _is_known_place(partition.timestamp, version):
                return _UNKNOWN_PLACE
            return _NOT_LEADER if index in existing else UNKNOWN

        return error_of

    return (yield from REFUSALS.refuse(request, version, of_topic))


_TWICE, _UNKNOWN_PLACE, _NOT_LEADER = InvalidRequest(), UnsupportedVersion(), NotLeaderOrFollower()


def _twice(request: ListOffsetsRequest, version: int) -> Steps[set[tuple[str, int]]]:
    """Version 0 allows it."""
    counts: Counter[tuple[str, int]] = Counter()
    for topic in request.topics if version else ():
        yield
        for partition in topic.partitions:
            yield
            counts[topic.name, partition.partition_index] += 1
    return {partition for partition, count in counts.items() if count > 1}


def _is_known_place(timestamp: int, version: int) -> bool:
    if version == 0:
        return timestamp >= _EARLIEST
    return timestamp >= 0 or version >= LEAST_VERSIONS.get(timestamp, version + 1)


API = Api(
    key=2,
    name="ListOffsets",
    min_version=0,
    max_version=9,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.TOPIC),),
    handle=handle,
    fail=REFUSALS.fail,
    max_elements=PARTITION_NUMBERS,
)
