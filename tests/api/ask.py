"""Sends a request to a node as a client would, without a socket: request and answer go through the codec."""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from kafka_reassign_rpc.api.api_definition import Peer, RequestContext
from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.protocol.frame_codec import (
    NoAnswer,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    response_prefix,
)
from kafka_reassign_rpc.protocol.messages import RESPONSES

PEER = Peer("127.0.0.1", "PLAINTEXT", "User:ANONYMOUS")


async def ask(
    node: Any,
    body: Any,
    version: int,
    authorizer: AclAuthorizer | None = None,
    *,
    peer: Peer = PEER,
    on_denied: Callable[[RequestContext], None] = lambda _ctx: None,
) -> Any:
    """The node's answer to `body` in `version`."""
    key = body.API_KEY
    request = decode_request(encode_request(body, version=version, correlation_id=7, client_id="test")[4:])
    dispatcher = Dispatcher(node, authorizer, on_denied)
    assert dispatcher.served[key][0] <= version <= dispatcher.served[key][1]
    result = dispatcher.handle(request, peer)
    if isawaitable(result):
        result = await result
    if isinstance(result, NoAnswer):
        return result
    if isinstance(result, list):
        result = b"".join(result)
    if isinstance(result, bytes):
        frame = response_prefix(key, version, 7, len(result)) + result
    else:
        frame = encode_response(result, version=version, correlation_id=7)
    correlation_id, answer = decode_response(RESPONSES[key], frame[4:], version=version)
    assert correlation_id == 7
    return answer
