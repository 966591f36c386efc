"""ListGroups (key 16), versions 0-5: the groups that this node coordinates, which are none.

Behaviour   an empty list; clients ask every node and put the answers together.
ACL         DESCRIBE on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import ListGroupsResponse


def handle(_node: Node, _request: Any, ctx: RequestContext) -> Any:
    return ListGroupsResponse(version=ctx.api_version, throttle_time_ms=0, error_code=0, groups=[])


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return ListGroupsResponse(version=version, throttle_time_ms=0, error_code=error.code, groups=[])


API = Api(16, "ListGroups", 0, 5, handle, fail)
