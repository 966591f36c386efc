"""DescribeLogDirs (key 35), versions 0-4: the log dirs of this node and the replicas in them.

Behaviour   Null topics ask for all. A failed dir has its error and no replicas. Version 3 adds a top-level error,
            version 4 the size of the volume.
Difference  A node without log dirs shows one named `none`: Java's AdminClient takes an answer without any dir for
            CLUSTER_AUTHORIZATION_FAILED.
"""

from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
)
from kafka_reassign_rpc.api.large_requests import (
    ITEMS_PER_SLICE,
    AnswerSteps,
    Steps,
    answer_with,
    handled,
    items_of,
    paced,
)
from kafka_reassign_rpc.api.ports import LogDir, Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts

NO_LOG_DIRS = (LogDir(path="none", replicas=(), total_bytes=0, usable_bytes=0),)

_Dir = DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = _Dir.DescribeLogDirsTopic


def handle(node: Node, request: DescribeLogDirsRequest, ctx: RequestContext) -> Handled:
    asked = request.topics
    if asked is None:
        return _describe(node, ctx.api_version, None)
    if node.log_dirs is None:
        return _describe(node, ctx.api_version, {})

    def steps() -> AnswerSteps:
        return _describe(node, ctx.api_version, (yield from _wanted(asked)))

    return handled(steps(), items_of(len(topic.partitions) for topic in asked))


def _wanted(asked: Sequence[DescribeLogDirsRequest.DescribableLogDirTopic]) -> Steps[dict[str, frozenset[int]]]:
    wanted: dict[str, frozenset[int]] = {}
    for topic, pause in paced(asked):
        wanted[topic.topic] = frozenset(topic.partitions)
        if pause or len(topic.partitions) > ITEMS_PER_SLICE:
            yield
    return wanted


def _describe(node: Node, version: int, wanted: Mapping[str, frozenset[int]] | None) -> Handled:
    dirs = NO_LOG_DIRS if node.log_dirs is None else node.log_dirs.describe(wanted)
    replicas = sum(len(each.replicas) for each in dirs)

    def steps() -> AnswerSteps:
        found = []
        for each in dirs:
            topics = yield from _by_topic(each)
            found.append(_dir(version, each, topics))
        answer = DescribeLogDirsResponse(version=version, throttle_time_ms=0, error_code=0)
        return answer_with(answer, "results", found, len(found), replicas)

    return handled(steps(), replicas)


def _by_topic(log_dir: LogDir) -> Steps[dict[str, list[tuple[object, ...]]]]:
    topics: dict[str, list[tuple[object, ...]]] = {}
    for replica, pause in paced(log_dir.replicas):
        # the fields in order: much cheaper than an object for each
        topics.setdefault(replica.topic, []).append(replica[1:])
        if pause:
            yield
    return topics


def _dir(version: int, log_dir: LogDir, topics: Mapping[str, list[tuple[object, ...]]]) -> InParts:
    head = _Dir(
        version=version,
        error_code=0 if log_dir.error is None else log_dir.error.code,
        log_dir=log_dir.path,
        total_bytes=log_dir.total_bytes,
        usable_bytes=log_dir.usable_bytes,
    )
    elements = (
        InParts(_Topic(version=version, name=name), "partitions", len(partitions), partitions)
        for name, partitions in topics.items()
    )
    return InParts(head, "topics", len(topics), elements)


def fail(_request: DescribeLogDirsRequest, version: int, error: KafkaError) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(version=version, throttle_time_ms=0, error_code=error.code, results=[])


API = Api(
    key=35,
    name="DescribeLogDirs",
    min_version=0,
    max_version=4,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER, names_request=False),),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
)
