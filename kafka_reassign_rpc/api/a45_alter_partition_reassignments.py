"""AlterPartitionReassignments (key 45), versions 0-1: start, change and cancel moves (KIP-455, KIP-860).

Behaviour   NOT_CONTROLLER at the top level, with no results, where this node is not the controller; otherwise each
            partition asked for is answered exactly once, with its own error. A partition that is named twice counts
            once, with its last target, as in Kafka. Null replicas cancel. Version 1 carries and echoes
            `allow_replication_factor_change`. Tagged field 860 of a partition (nullable list of int32) is the
            replica set that must stand there now: compare-and-set. Of the request, tagged field 2361 is a throttle that
            the moves have as a lease, in bytes/s (0: none any more, -1: as it is), and 2362 says in words what they are
            for; INVALID_REQUEST where it is longer than `REASON_LENGTH`. With tagged field 236 its targets join the
            queue; they need not find the guard open, nor their brokers alive. Without it, too, a target that the caps
            on moves in flight do not let start yet is accepted, and waits.
ACL         ALTER on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.common import active_controller, in_turns
from kafka_reassign_rpc.api.node import AlterReassignments, Api, Node, RequestContext
from kafka_reassign_rpc.core.alter import AS_IT_IS
from kafka_reassign_rpc.core.errors import InvalidRequest, KafkaError, NotController
from kafka_reassign_rpc.core.model import QUEUE, RPC
from kafka_reassign_rpc.protocol.messages import AlterPartitionReassignmentsResponse

_Topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse

REASON_LENGTH = 1000

Targets = dict[int, tuple[tuple[int, ...] | None, tuple[int, ...] | None]]


async def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    reason = request.reason or ""
    if len(reason) > REASON_LENGTH:
        raise InvalidRequest(f"A reason has at most {REASON_LENGTH} characters, this one has {len(reason)}.")
    if request.throttle < AS_IT_IS:
        raise InvalidRequest(f"A throttle cannot be {request.throttle} bytes/s: give a rate, or 0 for none")
    wanted: dict[str, Targets] = {topic.name: {} for topic in request.topics}
    async for some in in_turns((wanted[topic.name], each) for topic in request.topics for each in topic.partitions):
        for targets, partition in some:
            targets[partition.partition_index] = (_ids(partition.replicas), _ids(partition.expected_replicas))
    allow = request.allow_replication_factor_change if ctx.api_version >= 1 else True
    results = await controller.alter_reassignments(
        AlterReassignments(
            topics=[
                (name, [(i, target, expected) for i, (target, expected) in t.items()]) for name, t in wanted.items()
            ],
            allow_replication_factor_change=allow,
            timeout_ms=request.timeout_ms,
            reason=reason,
            throttle=request.throttle,
            queue=request.queue,
            route=QUEUE if request.queue else RPC,
        ),
        ctx,
    )
    answers: dict[str, list[Any]] = {name: [] for name, targets in wanted.items() if targets}
    async for done in in_turns(results):
        for topic_name, index, error in done:
            answers[topic_name].append(_partition(index, error))
    return AlterPartitionReassignmentsResponse(
        version=ctx.api_version,
        throttle_time_ms=0,
        allow_replication_factor_change=allow,
        error_code=0,
        error_message="",
        responses=[_Topic(version=ctx.api_version, name=name, partitions=p) for name, p in answers.items()],
    )


def _ids(replicas: Any) -> tuple[int, ...] | None:
    return None if replicas is None else tuple(replicas)


def _partition(index: int, error: KafkaError | None) -> tuple[int, int, str | None]:
    """The fields of a result in order: much cheaper than an object for each."""
    return (index, 0, None) if error is None else (index, error.code, error.message)


def fail(request: Any, version: int, error: KafkaError) -> Any:
    """NOT_CONTROLLER stands at the top alone: clients retry only then. Anything else is echoed for each partition."""
    topics = []
    if not isinstance(error, NotController):
        topics = [
            _Topic(
                version=version,
                name=topic.name,
                partitions=[_partition(p.partition_index, error) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    return AlterPartitionReassignmentsResponse(
        version=version,
        throttle_time_ms=0,
        allow_replication_factor_change=request.allow_replication_factor_change if version >= 1 else True,
        error_code=error.code,
        error_message=error.message,
        responses=topics,
    )


API = Api(45, "AlterPartitionReassignments", 0, 1, handle, fail)
