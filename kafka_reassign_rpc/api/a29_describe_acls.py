"""DescribeAcls (key 29), versions 0-3: SECURITY_DISABLED, for there is no authorizer.

ACL         DESCRIBE on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, SecurityDisabled
from kafka_reassign_rpc.protocol.messages import DescribeAclsResponse


def handle(_node: Node, _request: Any, _ctx: RequestContext) -> Any:
    raise SecurityDisabled("No Authorizer is configured on the broker")


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return DescribeAclsResponse(
        version=version, throttle_time_ms=0, error_code=error.code, error_message=error.message, resources=[]
    )


API = Api(29, "DescribeAcls", 0, 3, handle, fail)
