"""AlterReplicaLogDirs (key 34), versions 0-2: move replicas of this node to other log dirs.

Behaviour   One result per partition. LOG_DIR_NOT_FOUND for a dir that this node does not have.
            REPLICA_NOT_AVAILABLE for a replica that this node does not hold yet: it is created in that dir later.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from kafka_reassign_rpc.api.answer_fields import code_of
from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
    awaited,
)
from kafka_reassign_rpc.api.large_requests import (
    SMALL,
    AnswerSteps,
    Steps,
    answer_with,
    flat,
    freed,
    handled,
    items_of,
    paced,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, LogDirNotFound
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.protocol.messages import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.slice_timer import in_turns

_Topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_Result = tuple[int, int]
"""The partition and its error code: the fields of an AlterReplicaLogDirPartitionResult in order."""


async def handle(node: Node, request: AlterReplicaLogDirsRequest, ctx: RequestContext) -> Answer:
    if node.log_dirs is None:
        raise LogDirNotFound
    moves = await in_turns(_moves(request))
    errors = await node.log_dirs.move_replicas(moves)
    by_topic = await in_turns(_by_topic(moves, map(code_of, errors)))
    answer = _answer(ctx.api_version, by_topic)
    answered = await awaited(answer)
    await freed(moves, *by_topic.values())
    return answered


def _moves(request: AlterReplicaLogDirsRequest) -> Steps[list[tuple[str, str, int]]]:
    """(path, topic, partition); a partition named twice counts once, with its last dir, as in Kafka."""
    paths: dict[TopicPartition, str] = {}
    for directory, pause in paced(request.dirs):
        for found in flat(directory.topics, lambda topic: topic.partitions):
            if found is None:
                yield
            else:
                paths[TopicPartition(found[0].name, found[1])] = directory.path
        if pause:
            yield
    moves = []
    for ((topic, index), path), pause in paced(paths.items()):
        moves.append((path, topic, index))
        if pause:
            yield
    return moves


def _by_topic(moves: list[tuple[str, str, int]], codes: Iterable[int]) -> Steps[dict[str, list[_Result]]]:
    topics: dict[str, list[_Result]] = {}
    for ((_, topic, index), code), pause in paced(zip(moves, codes, strict=True)):
        topics.setdefault(topic, []).append((index, code))
        if pause:
            yield
    return topics


def _answer(version: int, topics: Mapping[str, Sequence[_Result]]) -> Handled:
    elements = (
        InParts(_Topic(version=version, topic_name=name), "partitions", len(results), results)
        for name, results in topics.items()
    )
    answer = AlterReplicaLogDirsResponse(version=version, throttle_time_ms=0)
    return answer_with(answer, "results", elements, len(topics), sum(map(len, topics.values())))


def fail(request: AlterReplicaLogDirsRequest, version: int, error: KafkaError) -> Handled:
    def steps() -> AnswerSteps:
        moves = yield from _moves(request)
        return _answer(version, (yield from _by_topic(moves, repeat(error.code, len(moves)))))

    few = len(request.dirs) <= SMALL
    sizes = (len(topic.partitions) for each in request.dirs for topic in each.topics)
    return handled(steps(), items_of(sizes) if few else len(request.dirs))


API = Api(
    key=34,
    name="AlterReplicaLogDirs",
    min_version=0,
    max_version=2,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER, names_request=False),),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
)
