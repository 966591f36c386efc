"""InitProducerId (key 22), versions 0-4: an id for an idempotent producer.

Behaviour   the controller gives ids from a block of its own: librdkafka asks the node that it is connected to, again
            and again, and would never get on if that were told to try elsewhere. Any other node answers
            COORDINATOR_LOAD_IN_PROGRESS; a transactional producer gets NOT_COORDINATOR, and looks for its coordinator.
ACL         IDEMPOTENT_WRITE on the cluster; WRITE on the transactional id.
"""

from typing import Any

from kafka_reassign_rpc.api.handler_helpers import active_controller
from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import CoordinatorLoadInProgress, KafkaError, NotController, NotCoordinator
from kafka_reassign_rpc.protocol.messages import InitProducerIdResponse


async def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    if request.transactional_id is not None:
        raise NotCoordinator
    controller = active_controller(node)
    if controller is None:
        raise CoordinatorLoadInProgress
    try:
        producer_id = await controller.producer_id()
    except NotController as error:  # which producers do not expect
        raise CoordinatorLoadInProgress from error
    return InitProducerIdResponse(
        version=ctx.api_version, throttle_time_ms=0, error_code=0, producer_id=producer_id, producer_epoch=0
    )


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return InitProducerIdResponse(
        version=version, throttle_time_ms=0, error_code=error.code, producer_id=-1, producer_epoch=-1
    )


API = Api(22, "InitProducerId", 0, 4, handle, fail)
