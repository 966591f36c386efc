"""InitProducerId: an id for an idempotent producer.

The controller gives ids from its own block: librdkafka sends this request to the broker that it is connected to, and
never tries another one. Any other node answers COORDINATOR_LOAD_IN_PROGRESS. A transactional producer gets
NOT_COORDINATOR and looks for its coordinator, after Kafka's checks of its id, epoch and timeout.
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, RequestContext, error_alone, served
from kafka_reassign_rpc.api.ports import Node, active_controller
from kafka_reassign_rpc.api.refusals import transaction_error
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    CoordinatorLoadInProgress,
    InvalidRequest,
    InvalidTransactionTimeout,
    NotController,
    TransactionalIdAuthorizationFailed,
)
from kafka_reassign_rpc.protocol.messages import InitProducerIdRequest, InitProducerIdResponse

_FIRST_WITH_PRODUCER, _NONE = 3, -1


async def handle(node: Node, request: InitProducerIdRequest, ctx: RequestContext) -> InitProducerIdResponse:
    access = ctx.access
    if request.transactional_id is not None:
        if not access.may(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, request.transactional_id):
            raise TransactionalIdAuthorizationFailed
        _check_producer(request, ctx.api_version)
        error = transaction_error(request.transactional_id)
        raise InvalidTransactionTimeout if request.transactional_id and request.transaction_timeout_ms <= 0 else error
    may = access.may_on_cluster(AclOperation.IDEMPOTENT_WRITE, log_if_denied=False)
    if not may and not access.may_on_any(AclOperation.WRITE, AclResource.TOPIC):
        raise ClusterAuthorizationFailed
    _check_producer(request, ctx.api_version)
    controller = active_controller(node)
    if controller is None:
        raise CoordinatorLoadInProgress
    try:
        producer_id = await controller.producer_id()
    except NotController as error:  # producers do not expect NOT_CONTROLLER
        raise CoordinatorLoadInProgress from error
    return InitProducerIdResponse(
        version=ctx.api_version, throttle_time_ms=0, error_code=0, producer_id=producer_id, producer_epoch=0
    )


def _check_producer(request: InitProducerIdRequest, version: int) -> None:
    """Refuses a request with only one of a producer's id and epoch."""
    if version >= _FIRST_WITH_PRODUCER and (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        raise InvalidRequest


API = served(
    InitProducerIdRequest,
    Acl(AclOperation.IDEMPOTENT_WRITE, AclResource.CLUSTER, "requests without a transactional id"),
    Acl(AclOperation.WRITE, AclResource.TOPIC, "or any topic, for these requests"),
    Acl(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID),
    handle=handle,
    fail=error_alone(InitProducerIdResponse, producer_id=-1, producer_epoch=-1),
)
