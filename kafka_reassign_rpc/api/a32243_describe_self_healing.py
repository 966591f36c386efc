"""DescribeSelfHealing (vendor key 32243), version 0: which brokers are lost, and what becomes of them (KIP-46).

Behaviour   brokers that are gone while they hold replicas, since when, and when they are healed (-1 where they are
            not: healing is off); why nothing is healed although it is time; how many moves of repairs wait and how
            many are under way; configs that make no sense, and what cannot be repaired. NOT_CONTROLLER on any other
            node.
ACL         DESCRIBE on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.handler_helpers import active_controller
from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.protocol.messages import DescribeSelfHealingResponse
from kafka_reassign_rpc.protocol.versions import ApiKey

NEVER = -1


async def handle(node: Node, _request: Any, _ctx: RequestContext) -> Any:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    found = await controller.healing()
    return DescribeSelfHealingResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        interval_ms=found.interval_ms,
        paused=found.paused,
        held_back=found.held_back,
        failed_brokers=[
            DescribeSelfHealingResponse.FailedBroker(
                version=0,
                broker_id=broker.id,
                since=broker.since,
                heal_at=NEVER if broker.heal_at is None else broker.heal_at,
                replicas=broker.replicas,
            )
            for broker in found.failed
        ],
        waiting_moves=found.waiting,
        moving_moves=found.moving,
        problems=list(found.problems),
    )


def fail(_request: Any, _version: int, error: KafkaError) -> Any:
    return DescribeSelfHealingResponse(
        version=0,
        throttle_time_ms=0,
        error_code=error.code,
        error_message=error.message,
        interval_ms=NEVER,
        paused=False,
        held_back=None,
        failed_brokers=[],
        waiting_moves=0,
        moving_moves=0,
        problems=[],
    )


API = Api(ApiKey.DESCRIBE_SELF_HEALING, "DescribeSelfHealing", 0, 0, handle, fail)
