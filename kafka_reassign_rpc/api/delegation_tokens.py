"""Requests about delegation tokens (KIP-48), on a node that makes none, like a broker without
`delegation.token.secret.key`.
"""

from typing import NoReturn

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.kafka_errors import (
    DelegationTokenAuthDisabled,
    DelegationTokenRequestNotAllowed,
)
from kafka_reassign_rpc.protocol.messages import ApiMessage


def refuse_tokens(_node: Node, _request: ApiMessage, ctx: RequestContext) -> NoReturn:
    """Raises DelegationTokenRequestNotAllowed if the client has not said who it is (KafkaApis.allowTokenRequests)."""
    if not ctx.mechanism and ctx.principal == ANONYMOUS:
        raise DelegationTokenRequestNotAllowed
    raise DelegationTokenAuthDisabled


def token_api(key: int, name: str, max_version: int, answer: type[ApiMessage], **rest: int) -> Api:
    """`rest`: the fields of the answer beside the error."""
    return Api(
        key=key,
        name=name,
        min_version=0,
        max_version=max_version,
        group=ApiGroup.CLIENT,
        acl=(),
        handle=refuse_tokens,
        fail=error_alone(answer, **rest),
    )
