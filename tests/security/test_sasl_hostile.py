"""Anything at all before, in the midst of and after authentication: no client is let in by it, others are served."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_reassign_rpc.security.authenticator import Admission, End
from kafka_reassign_rpc.security.sasl.mechanism import MakeSaslServer
from kafka_reassign_rpc.security.sasl.oauthbearer import OAuthBearerSaslServer, TokenKeys, TokenRules
from kafka_reassign_rpc.security.sasl.sasl_authenticator import SaslAuthenticator, SaslSettings
from kafka_reassign_rpc.security.sasl.sasl_config import MAX_RECEIVE_SIZE
from kafka_reassign_rpc.server import connection_times
from kafka_reassign_rpc.server.server import Server
from tests.raw_client import Client, connected
from tests.security.sasl_steps import USERS, Exchange, api_versions, mechanisms, plain, request
from tests.security.test_oauthbearer import JWKS
from tests.server.conftest import StartServer, address, start_server
from tests.server.test_server_connections import versions
from tests.waiting import eventually

__all__ = ["start_server"]


def all_mechanisms() -> dict[str, MakeSaslServer]:
    keys = TokenKeys()
    keys.keys = JWKS
    return {**mechanisms(), "OAUTHBEARER": lambda _: OAuthBearerSaslServer(keys, TokenRules())}


NAMES = [*all_mechanisms(), "CRAM-MD5", ""]
tokens = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=50).map(str.encode),
    st.tuples(st.sampled_from([*USERS, "nobody"]), st.text(max_size=8)).map(lambda p: plain(p[0], p[1])),
    st.text("n=,ar\x01auth Bearer.=x", max_size=60).map(str.encode),
)
frames = st.one_of(
    st.binary(max_size=100),
    st.tuples(st.integers(-1, 93), st.integers(-1, 15), st.binary(max_size=60)).map(
        lambda p: struct.pack(">hhih", p[0], p[1], 7, -1) + p[2]
    ),
    st.tuples(st.sampled_from(NAMES), st.integers(0, 1)).map(
        lambda p: request(SaslHandshakeRequest(mechanism=p[0], version=p[1]), p[1])
    ),
    st.tuples(tokens, st.integers(0, 2)).map(
        lambda p: request(SaslAuthenticateRequest(auth_bytes=p[0], version=p[1]), p[1])
    ),
    st.integers(0, 4).map(lambda version: request(api_versions(version), version)),
    tokens,
)


@given(st.lists(frames, max_size=8), st.booleans())
def test_sv_5_no_frames_without_the_password_let_a_client_in(sent: list[bytes], bare: bool) -> None:
    """`bare`: a handshake comes first, so that tokens are looked at more often."""
    exchange = Exchange(mechanisms=all_mechanisms(), max_receive_size=500)
    for frame in ([request(SaslHandshakeRequest(mechanism="PLAIN", version=0), 0)] if bare else []) + sent:
        assert exchange.authenticator.admission(frame) is Admission.TAKE
        step = exchange.frame(frame)
        assert (exchange.authenticator.authenticated, exchange.authenticator.principal) == (False, ANONYMOUS)
        assert len(step.answer) < 10_000
        if step.end is not End.OPEN:
            break


@given(st.lists(frames, min_size=1, max_size=8), st.sampled_from([0.0, 1.0, 100.0]))
def test_sv_5_after_authentication_no_client_becomes_another_user(sent: list[bytes], passed: float) -> None:
    exchange = Exchange(mechanisms=all_mechanisms(), max_reauth_ms={"PLAIN": 50_000})
    exchange.log_in("PLAIN", "alice", USERS["alice"])
    for frame in sent:
        exchange.clocks.pass_by(passed)
        admission = exchange.authenticator.admission(frame)
        assert exchange.authenticator.principal == "User:alice"
        if admission is Admission.CLOSE or (admission is Admission.TAKE and exchange.frame(frame).end is not End.OPEN):
            break
        assert exchange.authenticator.authenticated == (admission is Admission.SERVE)


def authenticator(max_receive_size: int = MAX_RECEIVE_SIZE, **changes: Any) -> Any:
    settings = SaslSettings(mechanisms=all_mechanisms(), max_receive_size=max_receive_size, **changes)
    return partial(SaslAuthenticator, settings)


@asynccontextmanager
async def strangers_and_a_guest(server: Server) -> AsyncIterator[Client]:
    """50 strangers, each with a frame whose rest never comes, half of them after a handshake."""
    handshake = request(SaslHandshakeRequest(mechanism="PLAIN", version=1), 1)
    async with connected(address(server)) as guest:
        await guest.call(SaslHandshakeRequest(mechanism="PLAIN", version=1), 1)
        answer = await guest.call(SaslAuthenticateRequest(auth_bytes=plain("alice", USERS["alice"]), version=2), 2)
        assert answer.error_code == 0
        strangers = [await asyncio.open_connection(*address(server)) for _ in range(50)]
        for number, (_, writer) in enumerate(strangers):
            if number % 2:
                writer.write(struct.pack(">i", len(handshake)) + handshake)
            writer.write(struct.pack(">i", 1000) + bytes(900))
        yield guest
        assert (await guest.call(versions(), 0)).error_code == 0
        for _, writer in strangers:
            writer.close()


async def test_sv_5_strangers_hold_little_memory(start_server: StartServer) -> None:
    """`slow_client_timeout_ms` 0: all of them stay."""
    server = await start_server(None, authenticator(max_receive_size=1000), slow_client_timeout_ms=0)
    async with strangers_and_a_guest(server) as guest:
        await eventually(lambda: server.stats.request_bytes_now >= 50 * 900)
        assert server.stats.request_bytes_now < 50 * 2000
        assert (await guest.call(versions(), 0)).error_code == 0


async def test_sv_5_strangers_leave_in_time(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_times, "TICK_SECONDS", 0.05)
    server = await start_server(None, authenticator(max_receive_size=1000), slow_client_timeout_ms=1_500)
    async with strangers_and_a_guest(server):
        await eventually(lambda: closed_for_slowness(server) == 50)
        assert server.stats.connections_now == 1


def closed_for_slowness(server: Server) -> int:
    return server.stats.connections_silent_closed + server.stats.connections_partial_closed


async def test_sv_5_a_request_that_is_large_for_a_stranger_is_none_for_a_user(start_server: StartServer) -> None:
    server = await start_server(None, authenticator(max_receive_size=200))
    large = api_versions(3, "n" * 5000)
    async with connected(address(server)) as client:
        await client.call(SaslHandshakeRequest(mechanism="PLAIN", version=1), 1)
        await client.call(SaslAuthenticateRequest(auth_bytes=plain("alice", USERS["alice"]), version=2), 2)
        assert (await client.call(large, 3)).error_code == 0
    async with connected(address(server)) as stranger:
        await stranger.send(stranger.request(large, 3))
        assert await stranger.is_closed()
