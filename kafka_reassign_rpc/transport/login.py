"""Opens a connection and logs in: SaslHandshake, then SaslAuthenticate until the mechanism is done.

Source: Kafka's SaslClientAuthenticator; KIP-368 for logins that end and are repeated on the same connection.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

from kafka_reassign_rpc.protocol.messages import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_reassign_rpc.security.login.sasl_login import SaslLogin
from kafka_reassign_rpc.security.login.sasl_mechanisms import LoginFailed, failure, next_token
from kafka_reassign_rpc.support.bounded_text import shortened, shown
from kafka_reassign_rpc.transport.rpc_client import RpcClient

VERSION = 1
"""Both requests have it since Kafka 2.2: the answer says when the login ends."""
MAX_ROUNDS = 10
REPEAT_AFTER = 0.85
"""The part of a login's life after which it is repeated; Kafka's clients wait for 85 to 95 %."""
UNSUPPORTED_MECHANISM, ILLEGAL_STATE = 33, 34

T = TypeVar("T")


async def connect(
    host: str,
    port: int,
    client_id: str,
    timeout_s: float,
    tls: ssl.SSLContext | None = None,
    login: SaslLogin | None = None,
    **limits: int,
) -> RpcClient:
    """`limits` go to RpcClient. Raises LoginFailed, ssl.SSLError, and OSError, TimeoutError, EOFError or
    RemoteProtocolError.
    """
    client = await RpcClient.open(host, port, client_id, timeout_s, tls, **limits)
    try:
        if login is not None:
            await log_in(client, login, host)
        elif tls is not None:  # with TLS 1.3 only the first answer shows whether the other side takes our certificate
            await client.versions()
    except BaseException:
        client.close()
        raise
    return client


async def log_in(client: RpcClient, login: SaslLogin, host: str) -> None:
    """Logs in, and again before the login ends. Raises LoginFailed, and what every request raises."""
    request = SaslHandshakeRequest(mechanism=login.mechanism)
    handshake = await client.call_out_of_turn(SaslHandshakeRequest, request, VERSION)
    if handshake.error_code:
        raise LoginFailed(_refused(handshake.error_code, handshake.mechanisms, login.mechanism))
    life_ms = await _exchange_tokens(client, login, host)
    if life_ms > 0:
        due = asyncio.get_running_loop().time() + life_ms / 1000 * REPEAT_AFTER
        client.repeat_login(due, lambda: log_in(client, login, host))


async def _exchange_tokens(client: RpcClient, login: SaslLogin, host: str) -> int:
    """Returns for how many ms the login holds; 0 means that it does not end. A mechanism may take a second to fetch a
    token or derive a key, so it runs off the event loop.
    """
    exchange = await _step(login, login.exchange, host)
    token = await _step(login, next_token, exchange) or b""
    for _ in range(MAX_ROUNDS):
        request = SaslAuthenticateRequest(auth_bytes=token)
        answer = await client.call_out_of_turn(SaslAuthenticateRequest, request, VERSION)
        if answer.error_code:
            why = answer.error_message
            raise LoginFailed(f"{login.mechanism}: {shortened(why) if why else f'error {answer.error_code}'}")
        following = await _step(login, next_token, exchange, answer.auth_bytes or b"")
        if following is None:
            return int(answer.session_lifetime_ms)
        token = following
    raise LoginFailed(f"{login.mechanism}: the broker did not end the exchange")


async def _step(login: SaslLogin, step: Callable[..., T], *arguments: Any) -> T:
    try:
        return await asyncio.to_thread(step, *arguments)
    except LoginFailed:
        raise
    except Exception as error:
        raise LoginFailed(f"{login.mechanism}: {failure(error)}") from None


def _refused(code: int, mechanisms: list[str], wanted: str) -> str:
    if code == UNSUPPORTED_MECHANISM:
        return f"it does not take {wanted}, but {shown(list(mechanisms))}"
    if code == ILLEGAL_STATE:
        return "it does not log clients in there: the listener is without SASL"
    return f"SaslHandshake: error {code}"
