"""DescribeUserScramCredentials (key 50), version 0: no SCRAM credential is shown by this node.

Behaviour   an empty list where all users are asked for; RESOURCE_NOT_FOUND for each user that is named.
ACL         DESCRIBE on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, ResourceNotFound
from kafka_reassign_rpc.protocol.messages import DescribeUserScramCredentialsResponse

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


def handle(_node: Node, request: Any, _ctx: RequestContext) -> Any:
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


def fail(_request: Any, _version: int, error: KafkaError) -> Any:
    return DescribeUserScramCredentialsResponse(
        version=0, throttle_time_ms=0, error_code=error.code, error_message=error.message, results=[]
    )


API = Api(50, "DescribeUserScramCredentials", 0, 0, handle, fail)
