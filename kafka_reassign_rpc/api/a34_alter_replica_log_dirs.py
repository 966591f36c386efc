"""AlterReplicaLogDirs (key 34), versions 0-2: move replicas of this node to other log dirs.

Behaviour   One result per partition. LOG_DIR_NOT_FOUND for a dir that this node does not have.
            REPLICA_NOT_AVAILABLE for a replica that this node does not hold yet: it is created in that dir later.
"""

from kafka_reassign_rpc.api.answer_fields import code_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, LogDirNotFound
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.protocol.messages import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse

_Topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_Partition = _Topic.AlterReplicaLogDirPartitionResult


async def handle(node: Node, request: AlterReplicaLogDirsRequest, ctx: RequestContext) -> AlterReplicaLogDirsResponse:
    moves = _moves(request)
    if node.log_dirs is None:
        raise LogDirNotFound
    return _answer(ctx.api_version, moves, [code_of(e) for e in await node.log_dirs.move_replicas(moves)])


def _moves(request: AlterReplicaLogDirsRequest) -> list[tuple[str, str, int]]:
    """(path, topic, partition); a partition named twice counts once, with its last dir, as in Kafka."""
    paths: dict[TopicPartition, str] = {
        TopicPartition(topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    return [(path, topic, index) for (topic, index), path in paths.items()]


def _answer(version: int, moves: list[tuple[str, str, int]], codes: list[int]) -> AlterReplicaLogDirsResponse:
    topics: dict[str, list[_Partition]] = {}
    for (_, topic, index), code in zip(moves, codes, strict=True):
        topics.setdefault(topic, []).append(_Partition(version=version, partition_index=index, error_code=code))
    return AlterReplicaLogDirsResponse(
        version=version,
        throttle_time_ms=0,
        results=[_Topic(version=version, topic_name=name, partitions=p) for name, p in topics.items()],
    )


def fail(request: AlterReplicaLogDirsRequest, version: int, error: KafkaError) -> AlterReplicaLogDirsResponse:
    moves = _moves(request)
    return _answer(version, moves, [error.code] * len(moves))


API = Api(
    key=34,
    name="AlterReplicaLogDirs",
    min_version=0,
    max_version=2,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
