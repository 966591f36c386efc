"""DescribeLogDirs of this node. A failed dir has its error and no replicas.

Difference: a node without log dirs shows one named `none`: Java's AdminClient takes an answer without any dir for
CLUSTER_AUTHORIZATION_FAILED.
"""

from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import NUMBERS, answer_with
from kafka_reassign_rpc.api.ports import LogDir, Node
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import in_turns, rest

NO_LOG_DIRS = (LogDir(path="none", replicas=(), total_bytes=0, usable_bytes=0),)

_Dir = DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = _Dir.DescribeLogDirsTopic


async def handle(node: Node, request: DescribeLogDirsRequest, ctx: RequestContext) -> Answer:
    dirs: Sequence[LogDir] = NO_LOG_DIRS
    if node.log_dirs is not None:
        wanted = None if request.topics is None else await _wanted(request.topics)
        dirs = await in_turns(node.log_dirs.describe(wanted))
    found = []
    for each in dirs:
        topics = await _by_topic(each)
        found.append(_dir(ctx.api_version, each, topics))
    answer = DescribeLogDirsResponse(version=ctx.api_version, throttle_time_ms=0, error_code=0)
    return await answer_with(answer, "results", found, len(found), sum(len(each.replicas) for each in dirs))


async def _wanted(asked: Sequence[DescribeLogDirsRequest.DescribableLogDirTopic]) -> dict[str, set[int]]:
    wanted: dict[str, set[int]] = {}
    for topic in asked:
        of_topic = wanted.setdefault(topic.topic, set())
        for some in pieces(topic.partitions, NUMBERS):
            of_topic.update(some)
            await rest()
    return wanted


async def _by_topic(log_dir: LogDir) -> dict[str, list[tuple[object, ...]]]:
    topics: dict[str, list[tuple[object, ...]]] = {}
    for replica in log_dir.replicas:
        # the fields in order: much cheaper than an object for each
        topics.setdefault(replica.topic, []).append(replica[1:])
        await rest()
    return topics


def _dir(version: int, log_dir: LogDir, topics: Mapping[str, list[tuple[object, ...]]]) -> InParts:
    head = _Dir(
        version=version,
        error_code=0 if log_dir.error is None else log_dir.error.code,
        log_dir=log_dir.path,
        total_bytes=-1 if log_dir.total_bytes is None else log_dir.total_bytes,
        usable_bytes=-1 if log_dir.usable_bytes is None else log_dir.usable_bytes,
    )
    elements = (
        InParts(_Topic(version=version, name=name), "partitions", len(partitions), partitions)
        for name, partitions in topics.items()
    )
    return InParts(head, "topics", len(topics), elements)


API = served(
    DescribeLogDirsRequest,
    Acl(AclOperation.DESCRIBE, AclResource.CLUSTER, names_request=False),
    handle=handle,
    max_elements=PARTITION_NUMBERS,
)
