"""The pages for monitoring, and their limits against hostile clients."""

import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import NamedTuple

import pytest
import pytest_asyncio

from kafka_reassign_rpc.server import http_server
from kafka_reassign_rpc.server.http_server import HttpPage, HttpSecurity, HttpServer, Page, QueryPage, StreamPage
from tests.http_client import get, sent
from tests.waiting import eventually


def broken() -> HttpPage:
    raise ZeroDivisionError


@pytest_asyncio.fixture
async def address() -> AsyncIterator[str]:
    server = HttpServer(
        "127.0.0.1", 0, {"/page": lambda: HttpPage(b"{}"), "/broken": broken, "/api/v1/page": lambda: HttpPage(b"{}")}
    )
    await server.start()
    yield "{}:{}".format(*server.address)
    await server.close()


async def test_sv_7_pages_are_served_and_nothing_else(address: str) -> None:
    answer = await get(address, "/page?x=1")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"{}", "application/json")
    assert (await get(address, "/page", "HEAD")).body == b""
    assert (await get(address, "/")).status == 404
    assert (await get(address, "/../../etc/passwd")).status == 404
    assert (await get(address, "/page", "POST")).status == 405


ELSEWHERE = (
    *("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "kafka", "[evil]", ""),
    *("evil.example\r\nHost: localhost", "localhost\r\nHost: evil.example", "1.2.3", "0x7f000001", "a.b@localhost"),
)
HERE = ("127.0.0.1", "127.0.0.1:80", "10.1.2.3:1", "[::1]:9404", "[::1]", "localhost", "LOCALHOST:1", "localhost.:1")
NAMED = ("kafka.example", "Kafka.Example:9404", "kafka.example.")


async def statuses(address: str, hosts: Iterable[str], path: str = "/page") -> dict[str, str]:
    found = {}
    for host in hosts:
        answer = await sent(address, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        found[host] = answer.decode().split()[1]
    return found


async def test_hm_7_without_a_login_pages_answer_only_to_the_names_of_this_server() -> None:
    """DNS rebinding: a browser in this network reads for a web page from elsewhere, under the name of its site."""
    pages = {path: lambda: HttpPage(b"{}") for path in ("/page", "/api/v1/page", "/health")}
    security = HttpSecurity(host_names=frozenset({"kafka.example"}))
    server = HttpServer("127.0.0.1", 0, pages, security, for_any_host=("/health",))
    await server.start()
    address = "{}:{}".format(*server.address)
    for path in ("/page", "/api/v1/page", "/nothing"):
        assert set((await statuses(address, ELSEWHERE, path)).values()) <= {"421", "400"}
    assert set((await statuses(address, (*HERE, *NAMED))).values()) == {"200"}
    assert set((await statuses(address, ("evil.example", "here", "127.0.0.1"), "/health")).values()) == {"200"}
    refused = await sent(address, b"GET /page HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert b"metrics.host.names" in refused
    assert (await sent(address, b"GET /page HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.0 200"), "no browser sends this"
    await server.close()


async def test_hm_7_with_a_login_pages_answer_to_any_name() -> None:
    """A browser keeps the password, or the certificate, of one name from all others."""
    server = HttpServer("127.0.0.1", 0, {"/page": lambda: HttpPage(b"{}")}, HttpSecurity(certificates=True))
    await server.start()
    assert await statuses("{}:{}".format(*server.address), ["any.example"]) == {"any.example": "200"}
    await server.close()


async def test_sv_11_below_api_a_path_or_method_that_there_is_not_is_answered_with_a_problem_in_json(
    address: str,
) -> None:
    for path, method, status, why in (
        ("/api/v1/nothing", "GET", 404, "there are /page, /broken, /api/v1/page"),
        ("/api/v1/page", "POST", 405, "only GET and HEAD are answered"),
    ):
        answer = await get(address, path, method)
        assert (answer.status, answer.headers["content-type"]) == (status, "application/json")
        assert json.loads(answer.body) == {"error": why}
    assert (await get(address, "/nothing")).headers["content-type"] == "text/plain; charset=utf-8"


async def test_sv_7_a_page_that_fails_is_logged_and_the_next_one_is_served(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await get(address, "/broken")).status == 500
    assert any("the page /broken cannot be made" in record.getMessage() for record in caplog.records)
    assert (await get(address, "/page")).status == 200


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff\x16\x03\x01" * 100 + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /page HTTP/9.9\r\n\r\n",
        b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /page HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"GET /page HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\nx",
        b"GET /page HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n",
    ],
)
async def test_sv_7_malformed_requests_disturb_no_client_and_fill_no_log(
    address: str, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = await sent(address, data)
    assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")) or b"\r\n\r\n{}" in answer
    assert (await get(address, "/page")).status == 200
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.both_loops
async def test_sv_7_beyond_the_limit_the_oldest_connection_makes_room_for_a_newcomer(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 2)
    host, _, port = address.rpartition(":")
    served: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: errors.append(context))
    for _ in range(2):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.readuntil(b"{}")
        served.append((reader, writer))

    for oldest, _ in list(served):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.readuntil(b"{}")
        with suppress(ConnectionError):
            assert await oldest.read() == b""
        served.append((reader, writer))
    for _, writer in served:
        writer.close()
    assert errors == []


@pytest.mark.both_loops
async def test_sv_7_slow_clients_keep_no_scraper_out(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 5)
    host, _, port = address.rpartition(":")
    slow = [await asyncio.open_connection(host, int(port)) for _ in range(20)]
    for _, writer in slow:
        writer.write(b"GET /page HT")
    assert (await get(address, "/page")).status == 200
    for _, writer in slow:
        writer.close()


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET /no HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"nonsense\r\n\r\n",
        ),
        *(b"POST /page HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        b"GET /page HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
)
async def test_sv_7_no_answer_tells_versions_or_what_the_parser_says(address: str, data: bytes) -> None:
    reader, writer = await asyncio.open_connection(*address.rsplit(":", 1))
    writer.write(data)
    answer = await reader.readuntil(b"\r\n\r\n")
    assert b"\r\nServer: kafka-reassign-rpc\r\n" in answer
    assert b"ython" not in answer
    if answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400")):
        assert await reader.read() == b"400\n"
    writer.close()


async def test_sv_7_no_client_keeps_a_connection_for_ever(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "LIVES_S", 0.1)
    assert await sent(address, b"") == b""
    assert await sent(address, b"GET /page HT") == b""


async def test_sv_7_who_sends_no_whole_request_has_a_few_seconds(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host, _, port = address.rpartition(":")
    asked_reader, asked = await asyncio.open_connection(host, int(port))
    asked.write(b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert await asked_reader.readuntil(b"{}")
    monkeypatch.setattr(http_server, "FIRST_REQUEST_S", 0.3)
    assert await sent(address, b"GET /page HT") == b""
    asked.write(b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert await asked_reader.readuntil(b"{}"), "it keeps its connection"
    asked.close()


async def test_sv_7_nothing_is_kept_of_a_connection_that_is_over(address: str) -> None:
    for data in (b"", b"GET /page HT", b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n", b"nonsense\r\n\r\n"):
        _, writer = await asyncio.open_connection(*address.rsplit(":", 1))
        writer.write(data)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    assert (await get(address, "/page")).status == 200

    def kept() -> int:
        gc.collect()
        return sum(isinstance(one, http_server._Connection) for one in gc.get_objects())

    await eventually(lambda: kept() == 0)


class Placed(NamedTuple):
    name: str
    host: str
    has_asked: bool = True
    is_user: bool = False
    since: float = 0.0


@pytest.mark.parametrize(
    ("connections", "leaves"),
    [
        ("a/1 b/1 c/2 d/2", "a/1"),  # of addresses with as many, the oldest
        ("a/1 b/2 c/2", "b/2"),
        ("a/1- b/2 c/2", "b/2"),  # who has come before a second has time to ask
        ("a/1* b/1* c/1* d/2", "d/2"),  # users stay, however many come by a proxy
        ("a/1* b/1* c/2*", "a/1*"),
        ("a/1 b/1 c/1_", "c/1_"),  # silent for longer
        ("a/1_ b/2 c/2", "b/2"),
    ],
)
def test_hm_5_who_makes_room_for_a_newcomer(connections: str, leaves: str) -> None:
    """`-` has not asked yet, `_` has not asked for long, `*` is a user."""
    made = []
    for word in connections.split():
        silent = word[-1] in "-_"
        made.append(Placed(word, word[2], not silent, word[-1] == "*", 9.9 if word[-1] == "-" else 0.0))
    assert http_server.makes_room(made, 10.0).name == leaves


async def test_hm_5_a_flood_from_another_address_leaves_who_has_not_asked_yet_the_time_to_ask(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(http_server, "ASKS_S", 60.0)
    host, _, port = address.rpartition(":")
    request = b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n"
    scraper, its = await asyncio.open_connection(host, int(port), local_addr=("127.0.0.1", 0))
    flood = []
    for _ in range(12):
        reader, writer = await asyncio.open_connection(host, int(port), local_addr=("127.0.0.2", 0))
        writer.write(request)
        assert await reader.readuntil(b"{}")
        flood.append(writer)
    its.write(request)
    assert await scraper.readuntil(b"{}")
    for writer in (*flood, its):
        writer.close()


async def test_hm_5_many_connections_from_one_address_make_room_for_those_from_others(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood of requests, such as wrong passwords, cuts off itself."""
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 3)
    host, _, port = address.rpartition(":")
    request = b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n"

    async def asked(source: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(host, int(port), local_addr=(source, 0))
        writer.write(request)
        assert await reader.readuntil(b"{}")
        return reader, writer

    scraper, its = await asked("127.0.0.1")
    flood = [await asked("127.0.0.2") for _ in range(12)]
    its.write(request)
    assert await scraper.readuntil(b"{}"), "it keeps its connection"
    for _, writer in (*flood, (scraper, its)):
        writer.close()


@pytest.mark.parametrize("path", ["/page", "/stream"])
async def test_sv_6_a_server_that_closes_waits_for_no_client_that_waits_for_no_answer(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that keeps its connection for the next question, or follows a stream. Who is being answered gets that."""
    monkeypatch.setattr(http_server, "ENDS_S", 3600.0)
    goes_on, asked = asyncio.Event(), asyncio.Event()

    async def answer(_: str) -> HttpPage:
        asked.set()
        await goes_on.wait()
        return HttpPage(b"{}")

    async def events() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        await asyncio.Event().wait()

    pages: dict[str, Page] = {
        "/page": lambda: HttpPage(b"{}"),
        "/slow": QueryPage(answer),
        "/stream": StreamPage(events),
    }
    server = HttpServer("127.0.0.1", 0, pages)
    await server.start()
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    await reader.readuntil(b"{}" if path == "/page" else b"data: 1\n\n")
    slow = asyncio.create_task(get("{}:{}".format(*server.address), "/slow"))
    await asked.wait()
    closing = asyncio.create_task(server.close())
    await reader.read()
    assert not closing.done()
    goes_on.set()
    assert (await slow).status == 200
    await closing
    writer.close()
