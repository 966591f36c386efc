"""HealBroker (vendor key 32244), version 0: move the replicas of a lost broker elsewhere now (KIP-46).

Behaviour   the interval is passed by, the brakes are not. The moves join the queue; the answer, once that is durable,
            shows them. With DryRun nothing is done. INVALID_REQUEST where the broker is registered or holds nothing,
            POLICY_VIOLATION with the reason where repairs are held back, NOT_CONTROLLER on any other node.
ACL         ALTER on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.handler_helpers import active_controller
from kafka_reassign_rpc.api.ports import Api, Node, RepairMove, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.protocol.messages import HealBrokerResponse
from kafka_reassign_rpc.protocol.versions import ApiKey

_Topic = HealBrokerResponse.RepairedTopic
_LeftOut = HealBrokerResponse.LeftOutPartition


async def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    found = await controller.heal(request.broker_id, ctx, dry_run=request.dry_run)
    by_topic: dict[str, list[RepairMove]] = {}
    for move in found.moves:
        by_topic.setdefault(move.topic, []).append(move)
    return HealBrokerResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        bytes_to_copy=found.bytes,
        topics=[_topic(name, moves) for name, moves in by_topic.items()],
        left_out=[
            _LeftOut(version=0, topic=topic, partition_index=index, reason=reason)
            for topic, index, reason in found.left_out
        ],
    )


def _topic(name: str, moves: list[RepairMove]) -> Any:
    return _Topic(
        version=0,
        name=name,
        partitions=[
            _Topic.RepairedPartition(
                version=0, partition_index=move.partition, replicas=list(move.replicas), target=list(move.target)
            )
            for move in moves
        ],
    )


def fail(_request: Any, _version: int, error: KafkaError) -> Any:
    return HealBrokerResponse(
        version=0,
        throttle_time_ms=0,
        error_code=error.code,
        error_message=error.message,
        bytes_to_copy=-1,
        topics=[],
        left_out=[],
    )


API = Api(ApiKey.HEAL_BROKER, "HealBroker", 0, 0, handle, fail)
