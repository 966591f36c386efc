"""DescribeTransactions, see `coordinator_refusals`."""

from collections.abc import Callable

from kafka_reassign_rpc.api.api_definition import (
    MANY,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
)
from kafka_reassign_rpc.api.coordinator_refusals import transaction_error
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, TransactionalIdAuthorizationFailed
from kafka_reassign_rpc.protocol.messages import DescribeTransactionsRequest, DescribeTransactionsResponse
from kafka_reassign_rpc.support.turns import Steps

_State = DescribeTransactionsResponse.TransactionState


def handle(_node: Node, request: DescribeTransactionsRequest, ctx: RequestContext) -> Handled:
    def code(transactional_id: str) -> int:
        may = ctx.access.may(AclOperation.DESCRIBE, AclResource.TRANSACTIONAL_ID, transactional_id)
        return transaction_error(transactional_id).code if may else TransactionalIdAuthorizationFailed.code

    return _answer(request, ctx.api_version, code)


def fail(request: DescribeTransactionsRequest, version: int, error: KafkaError) -> Handled:
    return _answer(request, version, lambda _transactional_id: error.code)


def _answer(request: DescribeTransactionsRequest, version: int, code: Callable[[str], int]) -> Steps[Answer]:
    ids = request.transactional_ids
    states = (_State(version=version, transactional_id=one, error_code=code(one), topics=[]) for one in ids)
    return answer_with(DescribeTransactionsResponse(version=version), "transaction_states", states, len(ids))


API = Api(
    key=65,
    name="DescribeTransactions",
    min_version=0,
    max_version=0,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.TRANSACTIONAL_ID),),
    handle=handle,
    fail=fail,
    max_elements=MANY,
)
