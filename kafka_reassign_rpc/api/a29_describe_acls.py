"""DescribeAcls (key 29), versions 0-3: SECURITY_DISABLED.

CLUSTER_AUTHORIZATION_FAILED where the brokers have an authorizer.
"""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.brokers_authorizer import no_acls
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeAclsRequest, DescribeAclsResponse


def handle(node: Node, _request: DescribeAclsRequest, _ctx: RequestContext) -> NoReturn:
    raise no_acls(node, "No Authorizer is configured on the broker")


def fail(_request: DescribeAclsRequest, version: int, error: KafkaError) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        version=version, throttle_time_ms=0, error_code=error.code, error_message=error.message, resources=[]
    )


API = Api(
    key=29,
    name="DescribeAcls",
    min_version=0,
    max_version=3,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
