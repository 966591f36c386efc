"""The seam between connections and authenticators: what a connection does for each step. The authenticator here takes
bare words, so that these tests say nothing about SASL.
"""

import asyncio
import logging
import struct
from typing import Any

import msgspec
import pytest

from kafka_reassign_rpc.api import a18_api_versions
from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.protocol.messages import ApiVersionsRequest
from kafka_reassign_rpc.security.authenticator import (
    Admission,
    AuthenticationContext,
    AuthenticationFailed,
    Authenticator,
    End,
    FixedAuthenticator,
    Step,
)
from kafka_reassign_rpc.server import connection_times
from kafka_reassign_rpc.server.server import Server
from tests.api.model_node import ModelNode
from tests.raw_client import Client, connected
from tests.server.conftest import StartServer, address
from tests.server.test_server_connections import versions
from tests.waiting import eventually

pytestmark = pytest.mark.both_loops

MOST = 64


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


class Porter:
    """Knows these words: `name x` lets x in, `slowly x` after a while, `no` fails; `again` is a word after that."""

    guards = True
    max_receive_size = MOST
    mechanism = "WORD"

    def __init__(self, _context: AuthenticationContext | None = None) -> None:
        self.authenticated = False
        self.principal = ANONYMOUS
        self.over = False
        self.gate = asyncio.Event()

    def admission(self, frame: bytes) -> Admission:
        if self.over:
            return Admission.CLOSE
        return Admission.TAKE if not self.authenticated or frame == b"again..." else Admission.SERVE

    def receive(self, frame: bytes) -> Any:
        word, _, name = frame.decode().partition(" ")
        match word:
            case "name":
                return self._let_in(name)
            case "slowly":
                return self._later(name)
            case "again...":
                self.authenticated = False
                return Step(framed(b"who?"))
            case "broken":
                return self._broken()
        return Step(framed(b"you may not"), End.CLOSE_LATER, "the word is wrong")

    def _let_in(self, name: str) -> Step:
        self.principal, self.authenticated = f"User:{name}", True
        return Step(framed(b"come in"))

    async def _later(self, name: str) -> Step:
        await self.gate.wait()
        return self._let_in(name)

    async def _broken(self) -> Step:
        raise ValueError("a defect")

    def invalid_size(self, text: str) -> Step:
        return Step(end=End.CLOSE_LATER, reason=text)


async def porter_of(start_server: StartServer, target: Any = None, **limits: Any) -> tuple[Server, Porter]:
    porter = Porter()
    return await start_server(target, lambda _: porter, **limits), porter


async def say(client: Client, *words: bytes) -> bytes:
    await client.send(b"".join(map(framed, words)))
    return await client.frame()


def seen_by(node: ModelNode) -> list[RequestContext]:
    """The contexts of the ApiVersions requests that handlers see."""
    seen: list[RequestContext] = []

    def handle(node: Any, request: Any, ctx: RequestContext) -> Any:
        seen.append(ctx)
        return a18_api_versions.handle(node, request, ctx)

    node.apis = {**node.apis, 18: msgspec.structs.replace(node.apis[18], handle=handle)}
    return seen


async def test_sv_5_handlers_see_the_principal_and_the_mechanism(
    start_server: StartServer,
) -> None:
    node = ModelNode()
    seen = seen_by(node)
    server, _ = await porter_of(start_server, node)
    async with connected(address(server)) as client:
        assert await say(client, b"name alice") == b"come in"
        assert (await client.call(versions(), 0)).error_code == 0
    assert [(ctx.principal, ctx.mechanism, ctx.client_host) for ctx in seen] == [("User:alice", "WORD", "127.0.0.1")]


async def test_sv_5_a_request_behind_the_last_word_is_served_even_if_both_came_at_once(
    start_server: StartServer,
) -> None:
    server, porter = await porter_of(start_server)
    async with connected(address(server)) as client:
        large = ApiVersionsRequest(client_software_name="n" * 200, client_software_version="1", version=3)
        await client.send(framed(b"slowly bob") + client.request(large, 3))  # larger than MOST
        await eventually(lambda: server.stats.bytes_received > MOST)
        assert server.stats.requests == {}
        porter.gate.set()
        assert await client.frame() == b"come in"
        assert len(await client.frame()) > 4
    await eventually(lambda: server.stats.requests == {18: 1})


async def test_sv_5_while_a_step_takes_time_the_connection_is_not_read(start_server: StartServer) -> None:
    server, porter = await porter_of(start_server)
    async with connected(address(server)) as client:
        await client.send(framed(b"slowly bob"))
        flood = asyncio.create_task(client.send(bytes(16_000_000)))
        await asyncio.wait([flood], timeout=0.3)
        assert not flood.done()
        assert server.stats.request_bytes_now < 2_000_000
        flood.cancel()
        porter.gate.set()


async def test_sv_5_steps_that_take_time_fill_no_place_of_requests(start_server: StartServer) -> None:
    server, _ = await porter_of(start_server, queued_max_requests=1)
    async with connected(address(server)) as one, connected(address(server)) as other:
        await one.send(framed(b"slowly bob"))
        await eventually(lambda: server.stats.bytes_received)
        assert server.stats.requests_in_work_now == 0
        assert await say(other, b"name carol") == b"come in"


async def test_sv_5_a_failure_is_answered_after_the_delay_and_then_the_connection_closes(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server, _ = await porter_of(start_server, connection_failed_authentication_delay_ms=300)
    loop = asyncio.get_running_loop()
    async with connected(address(server)) as client:
        begun = loop.time()
        assert await say(client, b"no", b"name alice") == b"you may not"
        assert loop.time() - begun > 0.29
        assert await client.is_closed()
    assert server.stats.connections_unauthenticated == 1
    assert "not authenticated: the word is wrong" in caplog.text


@pytest.mark.parametrize("size", [MOST + 1, -1])
async def test_sv_5_a_frame_that_is_too_large_for_a_stranger_closes_after_the_delay(
    start_server: StartServer, size: int
) -> None:
    server, _ = await porter_of(start_server, connection_failed_authentication_delay_ms=300)
    loop = asyncio.get_running_loop()
    async with connected(address(server)) as client:
        begun = loop.time()
        await client.send(struct.pack(">i", size))
        assert await client.is_closed()
        assert loop.time() - begun > 0.29
    assert (server.stats.connections_unauthenticated, server.stats.connections_malformed) == (1, 0)


async def test_sv_5_who_authenticates_again_is_served_only_after_it(start_server: StartServer) -> None:
    server, porter = await porter_of(start_server)
    async with connected(address(server)) as client:
        assert await say(client, b"name alice") == b"come in"
        assert await say(client, b"again...", b"name bob") == b"who?"
        assert await client.frame() == b"come in"
        assert porter.principal == "User:bob"
        assert (await client.call(versions(), 0)).error_code == 0


async def test_sv_5_the_end_of_a_session_closes_without_an_answer(start_server: StartServer) -> None:
    server, porter = await porter_of(start_server)
    async with connected(address(server)) as client:
        assert await say(client, b"name alice") == b"come in"
        porter.over = True
        await client.send(client.request(versions(), 0))
        assert await client.is_closed()
    assert server.stats.connections_expired == 1


async def test_sv_5_strangers_have_a_limited_time_whatever_they_send(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_times, "TICK_SECONDS", 0.05)
    server = await start_server(None, Porter, slow_client_timeout_ms=300)
    async with connected(address(server)) as guest:
        assert await say(guest, b"name alice") == b"come in"
        async with connected(address(server)) as stranger:
            assert await say(stranger, b"again...") == b"who?"
            assert await stranger.is_closed()
        assert (await guest.call(versions(), 0)).error_code == 0
    assert server.stats.connections_silent_closed == 1


async def test_sv_5_a_connection_without_an_authenticator_closes_at_once(start_server: StartServer) -> None:
    def refuses(context: AuthenticationContext) -> Authenticator:
        raise AuthenticationFailed(f"no rule for {context.client_address} on {context.listener}")

    server = await start_server(None, refuses)
    async with connected(address(server)) as client:
        assert await client.is_closed()
    assert server.stats.connections_unauthenticated == 1


async def test_sv_5_a_settled_principal_is_that_of_all_requests(
    start_server: StartServer,
) -> None:
    node = ModelNode()
    seen = seen_by(node)
    server = await start_server(node, lambda _: FixedAuthenticator("User:CN=client"))
    async with connected(address(server)) as client:
        assert (await client.call(versions(), 0)).error_code == 0
    assert [ctx.principal for ctx in seen] == ["User:CN=client"]


async def test_sv_5_an_authenticator_with_a_defect_closes_its_connection_alone(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    server = await start_server(None, Porter)
    async with connected(address(server)) as one, connected(address(server)) as other:
        await one.send(framed(b"broken"))
        assert await one.is_closed()
        assert await say(other, b"name alice") == b"come in"
    assert "authenticator of listener" in caplog.text
    caplog.clear()
