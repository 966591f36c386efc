"""HealBroker (vendor key 32244), version 0: move the replicas of a failed broker to other brokers now (KIP-46).

Behaviour   The repair does not wait for `failure.interval.ms`, but the brakes hold. Its moves join the queue; the
            answer shows them once they are durable. With DryRun nothing is changed. INVALID_REQUEST where the
            broker is registered or holds no replica, POLICY_VIOLATION with the reason where repairs are held back,
            NOT_CONTROLLER on any other node.
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node, active_controller
from kafka_reassign_rpc.core.healing.self_healing_status import RepairMove
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.protocol.messages import HealBrokerRequest, HealBrokerResponse

UNKNOWN_SIZE = -1

_Topic = HealBrokerResponse.RepairedTopic
_LeftOut = HealBrokerResponse.LeftOutPartition


async def handle(node: Node, request: HealBrokerRequest, ctx: RequestContext) -> HealBrokerResponse:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    found = await controller.heal(request.broker_id, ctx, dry_run=request.dry_run)
    by_topic: dict[str, list[RepairMove]] = {}
    for move in found.moves:
        by_topic.setdefault(move.partition.topic, []).append(move)
    return HealBrokerResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        bytes_to_copy=UNKNOWN_SIZE if found.bytes is None else found.bytes,
        topics=[_topic(name, moves) for name, moves in by_topic.items()],
        left_out=[
            _LeftOut(version=0, topic=topic, partition_index=index, reason=reason)
            for (topic, index), reason in found.left_out.items()
        ],
    )


def _topic(name: str, moves: list[RepairMove]) -> _Topic:
    return _Topic(
        version=0,
        name=name,
        partitions=[
            _Topic.RepairedPartition(
                version=0,
                partition_index=move.partition.partition,
                replicas=list(move.replicas),
                target=list(move.target),
            )
            for move in moves
        ],
    )


def fail(_request: HealBrokerRequest, _version: int, error: KafkaError) -> HealBrokerResponse:
    return HealBrokerResponse(
        version=0,
        throttle_time_ms=0,
        error_code=error.code,
        error_message=error.message,
        bytes_to_copy=UNKNOWN_SIZE,
        topics=[],
        left_out=[],
    )


API = Api(
    key=32244,
    name="HealBroker",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
