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
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, LogDirNotFound
from kafka_reassign_rpc.core.state.topic_partition import ask
from kafka_reassign_rpc.protocol.messages import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import in_turns, rest

_Topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_Result = tuple[int, int]
"""The partition and its error code: the fields of an AlterReplicaLogDirPartitionResult in order."""


async def handle(node: Node, request: AlterReplicaLogDirsRequest, ctx: RequestContext) -> Answer:
    if node.log_dirs is None:
        raise LogDirNotFound
    moves = await _moves(request)
    errors = await node.log_dirs.move_replicas(moves)
    by_topic = await _by_topic(moves, map(code_of, errors))
    answer = await _answer(ctx.api_version, by_topic)
    await in_turns(emptied(moves, *by_topic.values()))
    return answer


async def _moves(request: AlterReplicaLogDirsRequest) -> list[tuple[str, str, int]]:
    """(path, topic, partition)."""
    wanted: dict[str, dict[int, str]] = {}
    for directory in request.dirs:
        for named in directory.topics:
            await rest()
            for index in named.partitions:
                await rest()
                ask(wanted, named.name, index, directory.path)
        await rest()
    moves = []
    for topic, paths in wanted.items():
        for index, path in paths.items():
            moves.append((path, topic, index))
            await rest()
        await rest()
    return moves


async def _by_topic(moves: list[tuple[str, str, int]], codes: Iterable[int]) -> dict[str, list[_Result]]:
    topics: dict[str, list[_Result]] = {}
    for (_, topic, index), code in zip(moves, codes, strict=True):
        topics.setdefault(topic, []).append((index, code))
        await rest()
    return topics


async def _answer(version: int, topics: Mapping[str, Sequence[_Result]]) -> Answer:
    elements = (
        InParts(_Topic(version=version, topic_name=name), "partitions", len(results), results)
        for name, results in topics.items()
    )
    answer = AlterReplicaLogDirsResponse(version=version, throttle_time_ms=0)
    return await answer_with(answer, "results", elements, len(topics), sum(map(len, topics.values())))


async def fail(request: AlterReplicaLogDirsRequest, version: int, error: KafkaError) -> Answer:
    moves = await _moves(request)
    by_topic = await _by_topic(moves, repeat(error.code, len(moves)))
    return await _answer(version, by_topic)


API = served(
    AlterReplicaLogDirsRequest,
    Acl(AclOperation.ALTER, AclResource.CLUSTER, names_request=False),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
)
