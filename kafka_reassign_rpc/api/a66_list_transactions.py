"""ListTransactions: the list is empty. Clients ask every node and merge the answers."""

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.protocol.messages import ListTransactionsRequest, ListTransactionsResponse

STATES = frozenset(
    {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
)
"""Kafka's TransactionState."""


def handle(_node: Node, request: ListTransactionsRequest, ctx: RequestContext) -> ListTransactionsResponse:
    unknown = [name for name in dict.fromkeys(request.state_filters) if name not in STATES]
    return ListTransactionsResponse(
        version=ctx.api_version, throttle_time_ms=0, error_code=0, unknown_state_filters=unknown, transaction_states=[]
    )


API = Api(
    key=66,
    name="ListTransactions",
    min_version=0,
    max_version=1,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.TRANSACTIONAL_ID),),
    handle=handle,
    fail=error_alone(ListTransactionsResponse),
)
