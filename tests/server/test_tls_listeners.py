"""Listeners with TLS, over real sockets: who comes in as whom, and what hostile clients cannot do."""

import asyncio
import logging
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.server import listener, process_limits
from kafka_reassign_rpc.server.listener import Handshake, HandshakeTurns, Listener, by_certificate, tls_context
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_limits import ServerLimits
from tests.api.model_node import ModelNode
from tests.certificates import Authority, Issued
from tests.raw_client import Client
from tests.server.test_authentication import seen_by
from tests.server.test_server_connections import versions
from tests.waiting import eventually

pytestmark = pytest.mark.both_loops

RULES = {"ssl.principal.mapping.rules": "RULE:^CN=([a-z]+).*$/$1/"}


class Secured:
    """A server with a listener SSL, and what its clients need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = Authority("CN=ca")
        self.own = self.ca.issue("CN=server")
        self.properties = {
            **self.own.pem_keystore(folder / "server.pem"),
            **self.ca.pem_truststore(folder / "ca.pem"),
            "ssl.client.auth": "required",
            **RULES,
        }
        self.seen: list[RequestContext] = []
        self.server: Server
        self.context: Any

    async def start(self, **limits: Any) -> Server:
        node = ModelNode()
        self.seen = seen_by(node)
        config = TlsConfig.of(self.properties)
        self.context = tls_context("SSL", config)
        listener = Listener("127.0.0.1", 0, "SSL", "SSL", self.context, by_certificate(config))
        self.server = Server(Dispatcher(node), [listener], ServerLimits(**limits))
        await self.server.start()
        return self.server

    @property
    def address(self) -> tuple[str, int]:
        return self.server.addresses["SSL"]

    def client_context(self, name: str | None = "CN=alice", **properties: str) -> ssl.SSLContext:
        trust = {key: value for key, value in self.properties.items() if "truststore" in key}
        own = {} if name is None else self.ca.issue(name).pkcs12_keystore(self.folder / f"{name}.p12")
        return TlsConfig.of({**trust, **own, **properties}).load_client().context

    @asynccontextmanager
    async def connected(self, context: ssl.SSLContext | None = None) -> AsyncIterator[Client]:
        context = context or self.client_context()
        reader, writer = await asyncio.open_connection(*self.address, ssl=context, server_hostname="localhost")
        client = Client(reader, writer)
        try:
            yield client
        finally:
            writer.transport.abort()


@pytest_asyncio.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    made = Secured(tmp_path)
    yield made
    await made.server.close(deadline=0.2)


async def ask(client: Client) -> None:
    assert (await client.call(versions(), 0)).error_code == 0


async def test_sv_5_handlers_see_the_principal_of_the_certificate(secured: Secured) -> None:
    await secured.start()
    async with secured.connected() as client:
        await ask(client)
    (seen,) = secured.seen
    assert (seen.principal, seen.listener, seen.client_host, seen.mechanism) == ("User:alice", "SSL", "127.0.0.1", "")


async def test_sv_5_without_a_certificate_a_client_is_anonymous_where_none_is_required(secured: Secured) -> None:
    secured.properties["ssl.client.auth"] = "requested"
    await secured.start()
    async with secured.connected(secured.client_context(None)) as client:
        await ask(client)
    async with secured.connected() as client:
        await ask(client)
    assert [seen.principal for seen in secured.seen] == ["User:ANONYMOUS", "User:alice"]


async def test_sv_5_a_client_that_no_mapping_rule_knows_is_closed(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    server = await secured.start()
    with caplog.at_level(logging.INFO):
        async with secured.connected(secured.client_context("CN=007")) as client:
            assert await client.is_closed()
    assert not secured.seen
    assert server.stats.connections_unauthenticated == 1
    assert "no rule of ssl.principal.mapping.rules applies to 'CN=007'" in caplog.text


async def test_sv_5_who_may_not_come_in_has_no_handler_and_gives_its_place_back(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    server = await secured.start(max_connections=3)
    strangers = Authority("CN=ca").issue("CN=alice").pkcs12_keystore(secured.folder / "stranger.p12")
    old = secured.ca.issue("CN=alice", begins=-timedelta(days=9), ends=-timedelta(days=1))
    tls_1_1 = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls_1_1.check_hostname, tls_1_1.verify_mode = False, ssl.CERT_NONE
    tls_1_1.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls_1_1.minimum_version = tls_1_1.maximum_version = ssl.TLSVersion.TLSv1_1
    hostile = {
        "peer did not return a certificate": secured.client_context(None),
        "the client's certificate: ": secured.client_context(None, **strangers),
        "the client's certificate: certificate has expired": secured.client_context(
            None, **old.pkcs12_keystore(secured.folder / "old.p12")
        ),
        "unsupported protocol": tls_1_1,
    }
    with caplog.at_level(logging.INFO):
        for number, (why, context) in enumerate(hostile.items(), 1):
            with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
                async with secured.connected(context) as client:
                    await ask(client)
            await eventually(lambda n=number: server.stats.connections_failed_tls == n)  # type: ignore[misc]
            assert f"connection from 127.0.0.1 closed without TLS: {why}" in caplog.text
    assert not secured.seen
    assert server.stats.connections_now == 0
    async with secured.connected() as one, secured.connected() as two, secured.connected() as three:
        for client in (one, two, three):
            await ask(client)
        assert server.stats.connections_evicted == 0


def words_of(context: ssl.SSLContext, address: tuple[str, int]) -> str:
    """How a connection ends that the server does not take: OpenSSL's words for its alert. Blocks."""
    with socket.create_connection(address, timeout=10) as raw:
        try:
            with context.wrap_socket(raw, server_hostname="localhost") as connection:
                connection.sendall(b"\0\0\0\x0e\0\x12\0\0\0\0\0\1\0\4test")
                return f"{len(connection.recv(100))} bytes"
        except ssl.SSLError as error:
            return str(error.reason)


async def test_sv_5_a_client_that_may_not_come_in_learns_why_by_an_alert(secured: Secured) -> None:
    """Java clients give up at an alert; without one they try again until their time is over."""
    secured.properties["ssl.cipher.suites"] = "TLS_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    await secured.start()
    strangers = Authority("CN=ca").issue("CN=alice").pkcs12_keystore(secured.folder / "stranger.p12")
    old = secured.ca.issue("CN=alice", begins=-timedelta(days=9), ends=-timedelta(days=1))
    early = secured.ca.issue("CN=alice", begins=timedelta(days=1))
    between = Authority("CN=between", above=secured.ca).issue("CN=alice")
    cut = between._replace(chain=between.chain[:1])

    def with_certificate(issued: Issued, name: str) -> ssl.SSLContext:
        return secured.client_context(None, **issued.pkcs12_keystore(secured.folder / f"{name}.p12"))

    suite = secured.client_context()
    suite.maximum_version = ssl.TLSVersion.TLSv1_2
    suite.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    tls_1_2 = secured.client_context(None)
    tls_1_2.maximum_version = ssl.TLSVersion.TLSv1_2
    told = {
        "TLSV13_ALERT_CERTIFICATE_REQUIRED": secured.client_context(None),
        "SSLV3_ALERT_HANDSHAKE_FAILURE": tls_1_2,
        "TLSV1_ALERT_UNKNOWN_CA": with_certificate(cut, "cut"),
        "TLSV1_ALERT_DECRYPT_ERROR": secured.client_context(None, **strangers),
        "SSLV3_ALERT_CERTIFICATE_EXPIRED": with_certificate(old, "old"),
        "SSLV3_ALERT_BAD_CERTIFICATE": with_certificate(early, "early"),
        "no suite in common": suite,
    }
    found = {why: await asyncio.to_thread(words_of, context, secured.address) for why, context in told.items()}
    assert found == {**{why: why for why in told}, "no suite in common": "SSLV3_ALERT_HANDSHAKE_FAILURE"}
    assert not secured.seen
    for context in (with_certificate(between, "whole"), secured.client_context()):
        assert (await asyncio.to_thread(words_of, context, secured.address)).endswith("bytes")


PLAIN = {
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "Kafka": b"\0\0\0\x10\0\x12\0\0\0\0\0\1\0\4test",
    "half": b"\x16\x03\x01\xff\xff" + b"x" * 9,
}


@pytest.mark.parametrize("first", PLAIN.values(), ids=PLAIN)
async def test_sv_5_plain_bytes_on_a_tls_port_close_that_connection_alone(secured: Secured, first: bytes) -> None:
    server = await secured.start()
    async with secured.connected() as honest:
        reader, writer = await asyncio.open_connection(*secured.address)
        writer.write(first)
        writer.write_eof()
        async with asyncio.timeout(60):
            while await reader.read(100):
                pass  # an alert of TLS
        writer.close()
        await eventually(lambda: server.stats.connections_failed_tls == 1)
        await ask(honest)
    assert len(secured.seen) == 1


async def test_sv_5_a_handshake_has_a_time(secured: Secured) -> None:
    server = await secured.start(tls_handshake_timeout_ms=100)
    reader, writer = await asyncio.open_connection(*secured.address)
    async with asyncio.timeout(60):
        assert await reader.read() == b""
    writer.close()
    await eventually(lambda: server.stats.connections_failed_tls == 1)
    assert server.stats.connections_now == 0


async def test_sv_5_silent_handshakes_keep_no_client_out(secured: Secured) -> None:
    """A newcomer takes the place of one that does not go on with TLS."""
    server = await secured.start(max_connections=4, max_connections_per_ip=4)
    silent = [await asyncio.open_connection(*secured.address) for _ in range(4)]
    await eventually(lambda: server.stats.connections_now == 4)
    for _ in range(2):
        async with secured.connected() as client:
            await ask(client)
    assert server.stats.connections_evicted >= 1
    for _, writer in silent:
        writer.close()
    await eventually(lambda: server.stats.connections_now == 0)


async def test_sv_5_new_connections_get_the_new_certificate_and_old_ones_go_on(secured: Secured) -> None:
    await secured.start()
    async with secured.connected() as old:
        await ask(old)
        new = secured.ca.issue("CN=server")
        new.pem_keystore(secured.folder / "server.pem")
        assert await secured.context.check()
        async with secured.connected() as client:
            await ask(client)
            assert client.writer.get_extra_info("ssl_object").getpeercert(True) == new.der
        assert old.writer.get_extra_info("ssl_object").getpeercert(True) == secured.own.der
        await ask(old)
        (secured.folder / "server.pem").write_text("broken")
        assert not await secured.context.check()
        async with secured.connected() as client:
            await ask(client)


async def test_sv_5_a_server_that_stops_does_not_wait_for_handshakes(secured: Secured) -> None:
    server = await secured.start(tls_handshake_timeout_ms=600_000)
    silent = [await asyncio.open_connection(*secured.address) for _ in range(20)]  # some wait for their turn
    await eventually(lambda: server.stats.connections_now == 20)
    async with asyncio.timeout(60):
        await server.close()
    for reader, writer in silent:
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()


async def test_sv_5_many_requests_one_by_one_and_at_once_are_answered_by_tls(secured: Secured) -> None:
    await secured.start()
    async with secured.connected() as client:
        for _ in range(5):
            await ask(client)
        for _ in range(195):
            await client.send(client.request(versions(), 0))
        for _ in range(195):
            await client.frame()
    assert len(secured.seen) == 200


@pytest.mark.parametrize("size", [300_000, 3_000_000])
async def test_sv_5_large_requests_are_read_by_tls_piece_by_piece_and_answered_in_order(
    secured: Secured, size: int
) -> None:
    await secured.start()
    head = struct.pack(">ihhihi", size, 3, 1, 7, 0, 0)  # Metadata 1 of no topic
    large = head + bytes(4 + size - len(head))
    async with secured.connected() as client:
        for _ in range(3):
            await client.send(large + client.request(versions(), 0))
        for _ in range(3):
            assert (await client.frame())[:4] == struct.pack(">i", 7)
            await client.frame()


class Begun:
    """Handshakes that do nothing but wait, in the order in which they begin."""

    def __init__(self) -> None:
        self.turns = HandshakeTurns()
        self.hosts: list[str] = []
        self.handshakes: list[Handshake] = []
        self.tasks: list[asyncio.Task[None]] = []

    def add(self, host: str) -> asyncio.Task[None]:
        async def shake() -> None:
            task = asyncio.current_task()
            assert task is not None
            handshake = Handshake(host, 0.0, task)
            try:
                await self.turns.begin(handshake)
                self.hosts.append(host)
                await asyncio.Event().wait()
            finally:
                self.turns.end(handshake)

        self.tasks.append(asyncio.ensure_future(shake()))
        return self.tasks[-1]

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_sv_5_handshakes_begin_by_turns_of_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "TURN_S", 0.001)
    begun = Begun()
    for _ in range(500):
        begun.add("10.0.0.1")
    for host in ("10.0.0.2", "10.0.0.3"):
        begun.add(host)
    await eventually(lambda: {"10.0.0.2", "10.0.0.3"} <= set(begun.hosts))
    assert max(map(begun.hosts.index, ("10.0.0.2", "10.0.0.3"))) <= 2 * listener.PER_TURN
    gone = begun.tasks[-3]
    gone.cancel()  # it waits
    await eventually(lambda: len(begun.hosts) == 501)
    assert gone.cancelled()
    await begun.end()


async def test_sv_5_the_oldest_handshake_of_the_busiest_address_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "TURN_S", 0.001)
    monkeypatch.setattr(listener, "MOST_UNDER_WAY", 10)
    begun = Begun()
    honest = begun.add("10.0.0.9")
    hostile = [begun.add("10.0.0.1") for _ in range(50)]
    await eventually(lambda: len(begun.hosts) == 51)
    assert not honest.done()
    assert [task.done() for task in hostile] == [True] * 41 + [False] * 9
    await begun.end()


def test_sv_5_a_connection_by_tls_keeps_no_large_buffer(tmp_path: Path) -> None:
    """asyncio's default is 256 KiB for each."""

    async def buffer_of_a_connection() -> int:
        secured = Secured(tmp_path)
        server = await secured.start()
        async with secured.connected() as client:
            await ask(client)
            size = len(client.writer.transport._ssl_protocol._ssl_buffer)  # type: ignore[attr-defined]
        await server.close(deadline=0.2)
        return size

    assert process_limits.run(buffer_of_a_connection(), "asyncio") == process_limits.TLS_BUFFER_BYTES
