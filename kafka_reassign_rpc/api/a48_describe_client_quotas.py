"""DescribeClientQuotas (key 48), versions 0-1: no client quota is kept by this node.

Behaviour   an empty list, whatever is asked for.
ACL         DESCRIBE_CONFIGS on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeClientQuotasResponse


def handle(_node: Node, _request: Any, ctx: RequestContext) -> Any:
    return DescribeClientQuotasResponse(
        version=ctx.api_version, throttle_time_ms=0, error_code=0, error_message=None, entries=[]
    )


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return DescribeClientQuotasResponse(
        version=version, throttle_time_ms=0, error_code=error.code, error_message=error.message, entries=None
    )


API = Api(48, "DescribeClientQuotas", 0, 1, handle, fail)
