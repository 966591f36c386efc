"""ExpireDelegationToken (key 40), versions 0-2: this node makes no delegation tokens.

Behaviour   DELEGATION_TOKEN_AUTH_DISABLED, as from a broker without `delegation.token.secret.key`, and before that
            DELEGATION_TOKEN_REQUEST_NOT_ALLOWED where the client has not authenticated. Brokers that have
            one make tokens: clients may ask these.
"""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.delegation_tokens import refuse_tokens
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse


def handle(_node: Node, _request: ExpireDelegationTokenRequest, ctx: RequestContext) -> NoReturn:
    refuse_tokens(ctx)


def fail(_request: ExpireDelegationTokenRequest, version: int, error: KafkaError) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(version=version, error_code=error.code, expiry_timestamp_ms=-1)


API = Api(
    key=40,
    name="ExpireDelegationToken",
    min_version=0,
    max_version=2,
    group=ApiGroup.CLIENT,
    acl=(),
    handle=handle,
    fail=fail,
)
