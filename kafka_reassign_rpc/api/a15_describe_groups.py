"""DescribeGroups (key 15), versions 0-5: this node coordinates no group.

Behaviour   each group asked for gets NOT_COORDINATOR, which sends the client back to FindCoordinator.
ACL         DESCRIBE on each group.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotCoordinator
from kafka_reassign_rpc.protocol.messages import DescribeGroupsResponse

_Group = DescribeGroupsResponse.DescribedGroup


def handle(_node: Node, _request: Any, _ctx: RequestContext) -> Any:
    raise NotCoordinator


def fail(request: Any, version: int, error: KafkaError) -> Any:
    return DescribeGroupsResponse(
        version=version,
        throttle_time_ms=0,
        groups=[
            _Group(
                version=version,
                error_code=error.code,
                group_id=group,
                group_state="",
                protocol_type="",
                protocol_data="",
                members=[],
            )
            for group in request.groups
        ],
    )


API = Api(15, "DescribeGroups", 0, 5, handle, fail)
