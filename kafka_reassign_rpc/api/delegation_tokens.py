"""Requests about delegation tokens (KIP-48), on a node that makes none, like a broker without a secret key for them."""

from typing import Any, NoReturn

from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.kafka_errors import (
    DelegationTokenAuthDisabled,
    DelegationTokenRequestNotAllowed,
    KafkaError,
)
from kafka_reassign_rpc.protocol.messages import ApiMessage


def refuse_tokens(_node: Node, _request: ApiMessage, ctx: RequestContext) -> NoReturn:
    """Raises DelegationTokenRequestNotAllowed if the client has not said who it is (KafkaApis.allowTokenRequests), else
    DelegationTokenAuthDisabled.
    """
    if not ctx.mechanism and ctx.principal == ANONYMOUS:
        raise DelegationTokenRequestNotAllowed
    raise DelegationTokenAuthDisabled


def token_api(key: int, name: str, max_version: int, answer: Any, **rest: int) -> Api:
    """Declares an API that is always refused. `answer` is the class of the answer, `rest` its fields beside the
    error.
    """

    def fail(_request: ApiMessage, version: int, error: KafkaError) -> ApiMessage:
        message: ApiMessage = answer(version=version, error_code=error.code, **rest)
        return message

    return Api(
        key=key,
        name=name,
        min_version=0,
        max_version=max_version,
        group=ApiGroup.CLIENT,
        acl=(),
        handle=refuse_tokens,
        fail=fail,
    )
