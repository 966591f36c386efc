"""DescribeLogDirs (key 35), versions 0-4: the log dirs of this node and the replicas in them.

Behaviour   Null topics ask for all. A failed dir has its error and no replicas. Version 3 adds a top-level error,
            version 4 the size of the volume.
Difference  A node without log dirs shows one named `none`: Java's AdminClient takes an answer without any dir for
            CLUSTER_AUTHORIZATION_FAILED.
"""

from collections.abc import Awaitable, Sequence

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, Encoded, RequestContext
from kafka_reassign_rpc.api.large_requests import SMALL_ANSWER, build_in_thread
from kafka_reassign_rpc.api.ports import LogDir, Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest, DescribeLogDirsResponse

NO_LOG_DIRS = (LogDir(path="none", replicas=(), total_bytes=0, usable_bytes=0),)

_Dir = DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = _Dir.DescribeLogDirsTopic


def handle(
    node: Node, request: DescribeLogDirsRequest, ctx: RequestContext
) -> DescribeLogDirsResponse | Awaitable[Encoded]:
    wanted = None
    if request.topics is not None:
        wanted = {topic.topic: frozenset(topic.partitions) for topic in request.topics}
    dirs = NO_LOG_DIRS if node.log_dirs is None else node.log_dirs.describe(wanted)
    if sum(len(d.replicas) for d in dirs) <= SMALL_ANSWER:
        return _answer(ctx.api_version, dirs)
    return build_in_thread(lambda: _answer(ctx.api_version, dirs), ctx.api_version)


def _answer(version: int, dirs: Sequence[LogDir]) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(
        version=version, throttle_time_ms=0, error_code=0, results=[_dir(version, d) for d in dirs]
    )


def _dir(version: int, log_dir: LogDir) -> _Dir:
    topics: dict[str, list[tuple[object, ...]]] = {}
    for replica in log_dir.replicas:
        # the fields in order: much cheaper than an object for each
        topics.setdefault(replica.topic, []).append(replica[1:])
    return _Dir(
        version=version,
        error_code=0 if log_dir.error is None else log_dir.error.code,
        log_dir=log_dir.path,
        topics=[_Topic(version=version, name=name, partitions=partitions) for name, partitions in topics.items()],
        total_bytes=log_dir.total_bytes,
        usable_bytes=log_dir.usable_bytes,
    )


def fail(_request: DescribeLogDirsRequest, version: int, error: KafkaError) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(version=version, throttle_time_ms=0, error_code=error.code, results=[])


API = Api(
    key=35,
    name="DescribeLogDirs",
    min_version=0,
    max_version=4,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
