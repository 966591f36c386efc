"""CreateAcls (key 30), versions 0-3: SECURITY_DISABLED for each, for there is no authorizer.

ACL         ALTER on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, SecurityDisabled
from kafka_reassign_rpc.protocol.messages import CreateAclsResponse

_Result = CreateAclsResponse.AclCreationResult


def handle(_node: Node, _request: Any, _ctx: RequestContext) -> Any:
    raise SecurityDisabled("No Authorizer is configured.")


def fail(request: Any, version: int, error: KafkaError) -> Any:
    return CreateAclsResponse(
        version=version,
        throttle_time_ms=0,
        results=[
            _Result(version=version, error_code=error.code, error_message=error.message) for _ in request.creations
        ],
    )


API = Api(30, "CreateAcls", 0, 3, handle, fail)
