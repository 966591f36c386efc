"""InitProducerId (key 22), versions 0-4: a producer id, which this node does not give to clients.

Behaviour   COORDINATOR_LOAD_IN_PROGRESS for an idempotent producer, which retries, at whichever node is least
            loaded then; NOT_COORDINATOR for a transactional one, which looks for its coordinator again.
ACL         IDEMPOTENT_WRITE on the cluster; WRITE on the transactional id.
"""

from typing import Any

from kafka_reassign_rpc.api.node import Api, Node, RequestContext
from kafka_reassign_rpc.core.errors import CoordinatorLoadInProgress, KafkaError, NotCoordinator
from kafka_reassign_rpc.protocol.messages import InitProducerIdResponse


def handle(_node: Node, request: Any, _ctx: RequestContext) -> Any:
    raise CoordinatorLoadInProgress if request.transactional_id is None else NotCoordinator


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return InitProducerIdResponse(
        version=version, throttle_time_ms=0, error_code=error.code, producer_id=-1, producer_epoch=-1
    )


API = Api(22, "InitProducerId", 0, 4, handle, fail)
