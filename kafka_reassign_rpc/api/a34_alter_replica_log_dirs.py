"""AlterReplicaLogDirs: move replicas of this node to other log dirs. A replica that this node does not hold yet gets
REPLICA_NOT_AVAILABLE, and is created in that dir later.
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
)
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, LogDirNotFound
from kafka_reassign_rpc.core.state.topic_partition import ask
from kafka_reassign_rpc.protocol.messages import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import Steps, Work, waited

_Topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_Result = tuple[int, int]
"""The partition and its error code: the fields of an AlterReplicaLogDirPartitionResult in order."""


def handle(node: Node, request: AlterReplicaLogDirsRequest, ctx: RequestContext) -> Work[Answer]:
    if node.log_dirs is None:
        raise LogDirNotFound
    moves = yield from _moves(request)
    errors = yield from waited(node.log_dirs.move_replicas(moves))
    by_topic = yield from _by_topic(moves, map(code_of, errors))
    answer = _answer(ctx.api_version, by_topic)
    answered = yield from answer
    yield from emptied(moves, *by_topic.values())
    return answered


def _moves(request: AlterReplicaLogDirsRequest) -> Steps[list[tuple[str, str, int]]]:
    """(path, topic, partition)."""
    wanted: dict[str, dict[int, str]] = {}
    for directory in request.dirs:
        for named in directory.topics:
            yield
            for index in named.partitions:
                yield
                ask(wanted, named.name, index, directory.path)
        yield
    moves = []
    for topic, paths in wanted.items():
        for index, path in paths.items():
            moves.append((path, topic, index))
            yield
        yield
    return moves


def _by_topic(moves: list[tuple[str, str, int]], codes: Iterable[int]) -> Steps[dict[str, list[_Result]]]:
    topics: dict[str, list[_Result]] = {}
    for (_, topic, index), code in zip(moves, codes, strict=True):
        topics.setdefault(topic, []).append((index, code))
        yield
    return topics


def _answer(version: int, topics: Mapping[str, Sequence[_Result]]) -> Steps[Answer]:
    elements = (
        InParts(_Topic(version=version, topic_name=name), "partitions", len(results), results)
        for name, results in topics.items()
    )
    answer = AlterReplicaLogDirsResponse(version=version, throttle_time_ms=0)
    return answer_with(answer, "results", elements, len(topics), sum(map(len, topics.values())))


def fail(request: AlterReplicaLogDirsRequest, version: int, error: KafkaError) -> Handled:
    moves = yield from _moves(request)
    by_topic = yield from _by_topic(moves, repeat(error.code, len(moves)))
    return (yield from _answer(version, by_topic))


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
