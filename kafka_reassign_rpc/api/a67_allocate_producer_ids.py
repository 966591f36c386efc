"""AllocateProducerIds: a broker asks for a block of producer ids, which is durable before it gets it."""

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.protocol.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse


async def handle(node: Node, request: AllocateProducerIdsRequest, _ctx: RequestContext) -> AllocateProducerIdsResponse:
    controller = required_controller(node)
    start, length = await controller.allocate_producer_ids(request.broker_id, request.broker_epoch)
    return AllocateProducerIdsResponse(
        version=0, throttle_time_ms=0, error_code=0, producer_id_start=start, producer_id_len=length
    )


API = Api(
    key=67,
    name="AllocateProducerIds",
    min_version=0,
    max_version=0,
    group=ApiGroup.INTER_BROKER,
    acl=(Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(AllocateProducerIdsResponse),
)
