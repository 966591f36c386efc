"""ListTransactions (key 66), versions 0-1: the transactions that this node coordinates, which are none.

Behaviour   an empty list; clients ask every node and put the answers together.
ACL         DESCRIBE on each transactional id.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import ListTransactionsResponse


def handle(_node: Node, _request: Any, ctx: RequestContext) -> Any:
    return ListTransactionsResponse(
        version=ctx.api_version, throttle_time_ms=0, error_code=0, unknown_state_filters=[], transaction_states=[]
    )


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return ListTransactionsResponse(
        version=version, throttle_time_ms=0, error_code=error.code, unknown_state_filters=[], transaction_states=[]
    )


API = Api(66, "ListTransactions", 0, 1, handle, fail)
