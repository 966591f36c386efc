"""DescribeClientQuotas (key 48), versions 0-1: this node has no client quotas.

Behaviour   An empty list, whatever the filter is.
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse


def handle(_node: Node, _request: DescribeClientQuotasRequest, ctx: RequestContext) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(
        version=ctx.api_version, throttle_time_ms=0, error_code=0, error_message=None, entries=[]
    )


def fail(_request: DescribeClientQuotasRequest, version: int, error: KafkaError) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(
        version=version, throttle_time_ms=0, error_code=error.code, error_message=error.message, entries=None
    )


API = Api(
    key=48,
    name="DescribeClientQuotas",
    min_version=0,
    max_version=1,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE_CONFIGS, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
