"""DescribeUserScramCredentials (key 50), version 0: this node shows no SCRAM credentials.

Behaviour   An empty list where the request is for all users; RESOURCE_NOT_FOUND for each named user.
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, ResourceNotFound
from kafka_reassign_rpc.protocol.messages import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


def handle(
    _node: Node, request: DescribeUserScramCredentialsRequest, _ctx: RequestContext
) -> DescribeUserScramCredentialsResponse:
    results = [
        _Result(
            version=0,
            user=user.name,
            error_code=ResourceNotFound.code,
            error_message=f"Attempt to describe a user credential that does not exist: {user.name}",
            credential_infos=[],
        )
        for user in request.users or ()
    ]
    return DescribeUserScramCredentialsResponse(
        version=0, throttle_time_ms=0, error_code=0, error_message=None, results=results
    )


def fail(
    _request: DescribeUserScramCredentialsRequest, _version: int, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(
        version=0, throttle_time_ms=0, error_code=error.code, error_message=error.message, results=[]
    )


API = Api(
    key=50,
    name="DescribeUserScramCredentials",
    min_version=0,
    max_version=0,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
