"""ControlledShutdown: a broker asks the controller to move its leaderships before it stops. The answer has the
partitions that it still leads; with none it may stop. Versions before 2 carry no broker epoch, so none is checked.
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, ApiGroup, RequestContext, served
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.protocol.messages import ControlledShutdownRequest, ControlledShutdownResponse

_Partition = ControlledShutdownResponse.RemainingPartition


async def handle(node: Node, request: ControlledShutdownRequest, ctx: RequestContext) -> ControlledShutdownResponse:
    controller = required_controller(node)
    epoch = request.broker_epoch if ctx.api_version >= 2 else -1
    remaining = await controller.controlled_shutdown(request.broker_id, epoch)
    return ControlledShutdownResponse(
        version=ctx.api_version,
        error_code=0,
        remaining_partitions=[
            _Partition(version=ctx.api_version, topic_name=topic, partition_index=index) for topic, index in remaining
        ],
    )


API = served(
    ControlledShutdownRequest,
    Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER),
    handle=handle,
    group=ApiGroup.INTER_BROKER,
    by_brokers=True,
)
