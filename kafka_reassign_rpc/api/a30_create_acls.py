"""CreateAcls (key 30), versions 0-3: SECURITY_DISABLED for each ACL.

CLUSTER_AUTHORIZATION_FAILED where the brokers have an authorizer.
"""

from itertools import repeat
from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import (
    Acl,
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
)
from kafka_reassign_rpc.api.brokers_authorizer import no_acls
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import CreateAclsRequest, CreateAclsResponse
from kafka_reassign_rpc.protocol.sliced_messages import in_order

_Result = CreateAclsResponse.AclCreationResult


def handle(node: Node, _request: CreateAclsRequest, _ctx: RequestContext) -> NoReturn:
    raise no_acls(node, "No Authorizer is configured.")


def fail(request: CreateAclsRequest, version: int, error: KafkaError) -> Handled:
    refused = in_order(_Result, version)({"error_code": error.code, "error_message": error.message})
    count = len(request.creations)
    return answer_with(
        CreateAclsResponse(version=version, throttle_time_ms=0), "results", repeat(refused, count), count
    )


API = Api(
    key=30,
    name="CreateAcls",
    min_version=0,
    max_version=3,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
