"""No byte of a stranger holds the loop: the worst token of each mechanism, at each step, in each state.

Over real sockets; what others would wait is the loop's longest turn, in CPU (`tests.longest_turn`).
"""

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import pytest
import pytest_asyncio

from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateResponse, SaslHandshakeRequest
from kafka_reassign_rpc.security.sasl.mechanism import MakeSaslServer
from kafka_reassign_rpc.security.sasl.sasl_authenticator import SaslAuthenticator, SaslSettings
from kafka_reassign_rpc.server.server import Server
from tests.longest_turn import LongTurn, tries, without_garbage_collection
from tests.raw_client import Client, connected
from tests.security.sasl_steps import USERS, plain, request, scram_proof
from tests.security.test_oauthbearer import first as bearer
from tests.security.test_oauthbearer import signed
from tests.security.test_sasl_hostile import all_mechanisms
from tests.security.worst_tokens import (
    LARGEST,
    LATER,
    TOKENS,
    authenticate,
    first_requests,
    other_requests,
    requests_in_the_place_of_a_token,
)
from tests.server.conftest import StartServer, address, start_server

__all__ = ["start_server"]

MEASURED_IN_A_ROW = 50
"""Cases between two collections of garbage."""

T = TypeVar("T")
Made = bytes | Callable[[bytes], bytes]
"""A frame, or one that is made of the server's last token."""


class Case(NamedTuple):
    """Frames on one connection; the last one is what costs. `bare`: tokens come without headers."""

    name: str
    frames: tuple[Made, ...]
    bare: bool = False


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def handshake(mechanism: str, version: int = 1) -> bytes:
    return request(SaslHandshakeRequest(mechanism=mechanism, version=version), version)


def cases() -> Iterator[Case]:
    for name, frame in first_requests():
        yield Case(f"first: {name}", (frame,))
    for name, frame in requests_in_the_place_of_a_token():
        yield Case(f"handshake 1: {name}", (handshake("PLAIN"), frame))
    for mechanism, tokens in TOKENS.items():
        for name, token in tokens.items():
            yield Case(f"{mechanism} 0: {name}", (handshake(mechanism, 0), token), bare=True)
            yield Case(f"{mechanism} 1: {name}", (handshake(mechanism), authenticate(token)))
    for mechanism, (first, finals) in LATER.items():
        for name, made in finals.items():
            yield Case(f"{mechanism} 0: {name}", (handshake(mechanism, 0), first, made), bare=True)
            final = partial(_authenticated, made)
            yield Case(f"{mechanism} 1: {name}", (handshake(mechanism), authenticate(first), final))


def _authenticated(made: Callable[[bytes], bytes], token: bytes) -> bytes:
    return authenticate(made(token))


def token_of(answer: bytes) -> bytes:
    """Of an answer to SaslAuthenticate version 2."""
    return bytes(decode_response(SaslAuthenticateResponse, answer, version=2)[1].auth_bytes)


async def send(client: Client, case: Case, measured: AbstractAsyncContextManager[None]) -> None:
    """Sends all frames, and measures what the last one costs, until it is answered or the connection closes."""
    last = b""
    for frame in case.frames[:-1]:
        sent = frame if isinstance(frame, bytes) else frame(last)
        await client.send(framed(sent))
        answer = await client.frame()
        if frame is not case.frames[0]:
            last = answer if case.bare else token_of(answer)
    costly = case.frames[-1]
    sent = costly if isinstance(costly, bytes) else costly(last)
    data = framed(sent)
    async with measured:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await client.send_in_pieces(data)
            await client.frame()


@pytest_asyncio.fixture
async def server(start_server: StartServer) -> AsyncIterator[Server]:
    made: dict[str, MakeSaslServer] = all_mechanisms()
    settings = SaslSettings(mechanisms=made, max_receive_size=LARGEST, max_reauth_ms=dict.fromkeys(made, 3_600_000))
    limits: dict[str, Any] = {"connection_failed_authentication_delay_ms": 0}
    yield await start_server(None, partial(SaslAuthenticator, settings), **limits)


def batched(values: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(values)
    while some := list(islice(left, size)):
        yield some


async def stranger(_client: Client, _case: Case) -> None:
    """Does nothing before the frames of a case."""


async def late(
    server: Server, cases: Iterable[Case], begin: Callable[[Client, Case], Awaitable[None]] = stranger
) -> dict[str, str]:
    """The cases that hold the loop for too long, and for how long."""
    found: dict[str, str] = {}
    for some in batched(cases, MEASURED_IN_A_ROW):
        with without_garbage_collection():
            for case in some:
                try:
                    for measured in tries():
                        async with connected(address(server)) as client:
                            await begin(client, case)
                            await send(client, case, measured)
                except LongTurn as error:
                    found[case.name] = str(error)
    return found


@pytest.mark.gate
async def test_hm_5_no_token_or_request_of_a_stranger_holds_the_loop(server: Server) -> None:
    assert await late(server, cases()) == {}
    assert server.stats.handler_failures == 0


async def log_in(client: Client, mechanism: str) -> None:
    first = {
        "PLAIN": plain("alice", USERS["alice"]),
        "OAUTHBEARER": bearer(signed(iat=int(time.time()), exp=int(time.time()) + 3600)),
    }.get(mechanism, LATER["SCRAM-SHA-256"][0])
    await client.send(framed(handshake(mechanism)))
    await client.frame()
    await client.send(framed(authenticate(first)))
    token = token_of(await client.frame())
    if token:
        bare = first.decode().removeprefix("n,,")
        await client.send(framed(authenticate(scram_proof(mechanism, USERS["alice"], bare, token))))
        assert token_of(await client.frame()).startswith(b"v=")


@pytest.mark.parametrize("most", [900, pytest.param(None, marks=pytest.mark.gate)])
async def test_hm_5_no_request_in_the_place_of_a_token_holds_the_loop(server: Server, most: int | None) -> None:
    made = (Case(name, (handshake("PLAIN"), frame)) for name, frame in other_requests(most))
    assert await late(server, made) == {}
    assert server.stats.handler_failures == 0


@pytest.mark.gate
async def test_hm_5_no_token_of_a_client_that_authenticates_again_holds_the_loop(server: Server) -> None:
    """The first frame of a re-authentication may be as large as any request (10 MiB)."""
    large = Case("PLAIN again: a handshake", (handshake("PLAIN") + bytes(10 * 2**20 - 200),))
    again = [
        Case(f"{mechanism} again: {name}", (handshake(mechanism), authenticate(token)))
        for mechanism, tokens in TOKENS.items()
        for name, token in tokens.items()
    ]
    assert await late(server, [large, *again], lambda client, case: log_in(client, case.name.split()[0])) == {}
    assert server.stats.handler_failures == 0
