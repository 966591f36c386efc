"""AlterReassignmentThrottles: another throttle lease for moves, in flight and waiting: all moves, or those of topics or
partitions.

A move keeps its target, id, requester and place in the queue. A move without a lease gets one, and 0 ends each. A lease
that lifts stricter rates goes on to do so until it ends. The answer comes once the new leases are durable. Moves of
repairs follow `self.healing.throttle` and are passed over.
"""

from collections.abc import Collection, Sequence

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import (
    ALL_PARTITIONS,
    Acl,
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    RequestContext,
)
from kafka_reassign_rpc.api.broker_policies import check_lease
from kafka_reassign_rpc.api.large_requests import existing
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.protocol.messages import AlterReassignmentThrottlesRequest, AlterReassignmentThrottlesResponse
from kafka_reassign_rpc.support.turns import Steps, Work, waited

_Topic = AlterReassignmentThrottlesRequest.ThrottledTopic


def handle(
    node: Node, request: AlterReassignmentThrottlesRequest, ctx: RequestContext
) -> Work[AlterReassignmentThrottlesResponse]:
    required_controller(node)
    if request.throttle < 0:
        raise InvalidRequest(f"A throttle cannot be {request.throttle} bytes/s: give a rate, or 0 for none")
    yield from waited(check_lease(node, request.throttle))
    wanted = None if request.topics is None else (yield from _wanted(node, request.topics))
    controller = required_controller(node)  # since it may have waited
    found = yield from waited(controller.change_rates(wanted, request.throttle, ctx))
    return AlterReassignmentThrottlesResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        moving_moves=found.moving,
        waiting_moves=found.waiting,
        repair_moves=found.repairs,
    )


def _wanted(node: Node, topics: Sequence[_Topic]) -> Steps[dict[str, Collection[int] | None]]:
    """Keeps only existing partitions: a client may name a topic a hundred thousand times."""
    named = ((topic.name, topic.partitions) for topic in topics if topic.partitions is not None)
    wanted: dict[str, Collection[int] | None] = {**(yield from existing(node, named))}
    for topic in topics:
        if topic.partitions is None:
            wanted[topic.name] = None
        yield
    return wanted


API = Api(
    key=32247,
    name="AlterReassignmentThrottles",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.ALTER_CONFIGS, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(AlterReassignmentThrottlesResponse),
    max_elements=ALL_PARTITIONS,
    by_brokers=True,
)
