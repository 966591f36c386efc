"""FindCoordinator (key 10), versions 0-6: COORDINATOR_NOT_AVAILABLE, for each key asked for.

Behaviour   this node keeps no groups and no transactions and knows nobody who does; the error is retriable, and
            clients understand it.
ACL         DESCRIBE on the group or the transactional id.
"""

from typing import Any

from kafka_reassign_rpc.api.node import Api, Node, RequestContext
from kafka_reassign_rpc.core.errors import CoordinatorNotAvailable, KafkaError
from kafka_reassign_rpc.protocol.messages import FindCoordinatorResponse

_Coordinator = FindCoordinatorResponse.Coordinator
_FIRST_WITH_KEYS = 4


def handle(_node: Node, _request: Any, _ctx: RequestContext) -> Any:
    raise CoordinatorNotAvailable


def fail(request: Any, version: int, error: KafkaError) -> Any:
    if version < _FIRST_WITH_KEYS:
        return FindCoordinatorResponse(
            version=version,
            throttle_time_ms=0,
            error_code=error.code,
            error_message=error.message,
            node_id=-1,
            host="",
            port=-1,
        )
    return FindCoordinatorResponse(
        version=version,
        throttle_time_ms=0,
        coordinators=[
            _Coordinator(
                version=version,
                key=key,
                node_id=-1,
                host="",
                port=-1,
                error_code=error.code,
                error_message=error.message,
            )
            for key in request.coordinator_keys
        ],
    )


API = Api(10, "FindCoordinator", 0, 6, handle, fail)
