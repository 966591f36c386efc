"""AllocateProducerIds: a broker asks for a block of producer ids, which is durable before it gets it."""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, ApiGroup, RequestContext, served
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.protocol.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse


async def handle(node: Node, request: AllocateProducerIdsRequest, _ctx: RequestContext) -> AllocateProducerIdsResponse:
    controller = required_controller(node)
    start, length = await controller.allocate_producer_ids(request.broker_id, request.broker_epoch)
    return AllocateProducerIdsResponse(
        version=0, throttle_time_ms=0, error_code=0, producer_id_start=start, producer_id_len=length
    )


API = served(
    AllocateProducerIdsRequest,
    Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER),
    handle=handle,
    group=ApiGroup.INTER_BROKER,
)
