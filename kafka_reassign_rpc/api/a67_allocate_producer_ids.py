"""AllocateProducerIds (key 67), version 0: a broker asks for a block of producer ids.

Behaviour   the next block, durable before it is given away; errors at the top level.
ACL         CLUSTER_ACTION on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.handler_helpers import active_controller
from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.protocol.messages import AllocateProducerIdsResponse


async def handle(node: Node, request: Any, _ctx: RequestContext) -> Any:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    start, length = await controller.allocate_producer_ids(request.broker_id, request.broker_epoch)
    return AllocateProducerIdsResponse(
        version=0, throttle_time_ms=0, error_code=0, producer_id_start=start, producer_id_len=length
    )


def fail(_request: Any, _version: int, error: KafkaError) -> Any:
    return AllocateProducerIdsResponse(
        version=0, throttle_time_ms=0, error_code=error.code, producer_id_start=0, producer_id_len=0
    )


API = Api(67, "AllocateProducerIds", 0, 0, handle, fail)
