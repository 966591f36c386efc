"""ControlledShutdown: a broker asks the controller to move its leaderships before it stops. The answer has the
partitions that it still leads; with none it may stop. Versions before 2 carry no broker epoch, so none is checked.
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import KafkaError
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


def fail(_request: ControlledShutdownRequest, version: int, error: KafkaError) -> ControlledShutdownResponse:
    return ControlledShutdownResponse(version=version, error_code=error.code, remaining_partitions=[])


API = Api(
    key=7,
    name="ControlledShutdown",
    min_version=0,
    max_version=3,
    group=ApiGroup.INTER_BROKER,
    acl=(Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
    by_brokers=True,
)
