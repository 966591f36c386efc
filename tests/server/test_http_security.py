"""The pages for monitoring by HTTPS, for clients with certificates, and for users with passwords."""

import asyncio
import base64
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.security.sasl import mechanism
from kafka_reassign_rpc.security.sasl.hashed_users import HashedUsers, hashed_line, parse_users
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.server import http_server
from kafka_reassign_rpc.server.http_server import HttpPage, HttpSecurity, HttpServer, credentials
from kafka_reassign_rpc.server.listener import tls_context
from tests.certificates import Authority
from tests.waiting import eventually


class Site:
    """A server with one page, for users of a file and for clients with certificates."""

    def __init__(self, folder: Path) -> None:
        self.ca = Authority("CN=ca")
        self.trust = self.ca.pem_truststore(folder / "ca.pem")
        self.own = self.ca.issue("CN=monitoring").pkcs12_keystore(folder / "monitoring.p12")
        keys = {**self.ca.issue("CN=server").pem_keystore(folder / "server.pem"), **self.trust}
        config = TlsConfig.of({**keys, "ssl.client.auth": "required"})
        self.users = HashedUsers(parse_users(f'prometheus = "{hashed_line("a: päss", 4096)}"'.encode(), "users"))
        security = HttpSecurity(tls_context("METRICS", config), self.users)
        self.server = HttpServer("127.0.0.1", 0, {"/page": lambda: HttpPage(b"{}")}, security)

    async def get(self, authorization: str | None, *, certificate: bool = True) -> tuple[int, str]:
        """Status and head of the answer."""
        context = TlsConfig.of({**self.trust, **(self.own if certificate else {})}).load_client().context
        reader, writer = await asyncio.open_connection(*self.server.address, ssl=context, server_hostname="localhost")
        given = "" if authorization is None else f"Authorization: {authorization}\r\n"
        writer.write(f"GET /page HTTP/1.1\r\nHost: localhost\r\n{given}Connection: close\r\n\r\n".encode())
        try:
            head = (await asyncio.wait_for(reader.read(), 20)).decode()
        finally:
            writer.close()
        return int(head.split()[1]), head


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    made = Site(tmp_path)
    await made.server.start()
    yield made
    await made.server.close()
    made.users.close()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def test_sv_5_pages_are_for_users_with_the_right_password(site: Site) -> None:
    assert (await site.get(basic("prometheus", "a: päss")))[0] == 200
    for wrong in (
        None,
        basic("prometheus", "a: pass"),
        basic("nobody", "a: päss"),
        "Bearer x",
        "Basic !",
        "Basic YQ==",
    ):
        status, head = await site.get(wrong)
        assert (status, "WWW-Authenticate: Basic" in head) == (401, True)


async def test_sv_5_pages_are_for_clients_with_certificates(site: Site) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError, IndexError)):
        await site.get(basic("prometheus", "a: päss"), certificate=False)


async def test_sv_5_silent_handshakes_keep_no_scraper_out(site: Site) -> None:
    silent = [await asyncio.open_connection(*site.server.address) for _ in range(2 * http_server.MAX_CONNECTIONS)]
    assert (await site.get(basic("prometheus", "a: päss")))[0] == 200
    for _, writer in silent:
        writer.close()


async def test_sv_6_a_server_that_closes_leaves_no_connection_whose_client_does_not_end_tls(site: Site) -> None:
    context = TlsConfig.of({**site.trust, **site.own}).load_client().context

    def served() -> ssl.SSLSocket:
        raw = socket.create_connection(site.server.address, timeout=10)
        client = context.wrap_socket(raw, server_hostname="localhost")
        client.sendall(b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 401 " in client.recv(1000)
        return client

    def is_at_its_end(client: ssl.SSLSocket) -> None:
        """Waits until TCP ends, whatever TLS says."""
        with client, socket.socket(fileno=os.dup(client.fileno())) as below, suppress(ConnectionError):
            below.settimeout(10)
            while below.recv(1000):
                pass

    client = await asyncio.to_thread(served)
    await site.server.close()
    await asyncio.to_thread(is_at_its_end, client)


def test_sv_5_credentials_of_a_header_are_read_as_rfc_7617_says() -> None:
    assert credentials("basic " + base64.b64encode(b"a:b:c").decode()) == ("a", "b:c")
    assert credentials(basic("", "")) == ("", "")
    for wrong in ("", "Basic", "Basic =", "Basic " + base64.b64encode(b"\xff:x").decode(), "Digest a"):
        assert credentials(wrong) is None


async def test_hm_5_wrong_passwords_of_readers_that_hung_up_are_not_checked(site: Site) -> None:
    """Nor is a reader kept waiting forever: who cannot be checked in time gets 503."""
    site.users.replace(parse_users(f'prometheus = "{hashed_line("a: päss", 100_000)}"'.encode(), "users"))
    gone = [asyncio.create_task(site.get(basic(f"nobody {number}", "x"))) for number in range(30)]
    await eventually(lambda: len(site.users._checks._line) > 20)
    for one in gone:
        one.cancel()
    await eventually(lambda: len(site.users._checks._line) == 0)
    assert (await site.get(basic("prometheus", "a: päss")))[0] == 200


async def test_hm_5_a_reader_whose_password_cannot_be_checked_in_time_gets_503(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "LONGEST_WAIT_S", 0.0)
    ends = threading.Event()
    first = asyncio.create_task(site.users._checks.run("10.0.0.1", ends.wait))
    try:
        await eventually(lambda: site.users._checks._busy)
        found = await asyncio.gather(*(site.get(basic(f"nobody {number}", "x")) for number in range(5)))
    finally:
        ends.set()
        await first
    assert {status for status, _ in found} == {503}
    assert (await site.get(basic("nobody", "x")))[0] == 401
