"""What the status page costs: with a hundred thousand moves, with many viewers, with those that never read."""

import asyncio
import json
from collections.abc import AsyncIterator, Generator
from contextlib import aclosing, asynccontextmanager
from itertools import count
from typing import Any, cast

import pytest

from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.core.status.moves import MoveFilter, Selection, select_moves
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.server import http_server
from kafka_reassign_rpc.server.http_server import HttpServer, StreamPage
from kafka_reassign_rpc.status_page import status_api, status_stream
from kafka_reassign_rpc.status_page.status_api import PacedViews
from kafka_reassign_rpc.status_page.status_stream import MOST_VIEWERS, StatusStream
from kafka_reassign_rpc.support.slices import emptied
from tests.longest_turn import tries
from tests.status_page.views import cluster_of, move, server_of, term_of
from tests.waiting import eventually

MOVES = 100_000


@pytest.mark.long
async def test_sv_11_a_hundred_thousand_moves_are_sorted_in_short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_api, "MOST_KEPT", 1)
    partition = move((1,), (2,))
    cluster = cluster_of({f"topic-{n}": dict.fromkeys(range(100), partition) for n in range(MOVES // 100)})
    term = term_of(cluster)
    for measured in tries():
        views: PacedViews[MoveFilter, Selection] = PacedViews(
            lambda wanted: select_moves(term, wanted), lambda one: emptied(one.keys)
        )
        async with measured:
            first = await views.get(MoveFilter())
            again = await views.get(MoveFilter())
            size, page = first.value.size, first.value.page(MOVES - 2, 10)
            await views.get(MoveFilter(broker=7))
    assert again is first, "a hundred times as long as it took, nobody makes it again"
    assert size == MOVES
    assert first.value.keys == [], "it was freed for another, in short turns too"
    assert [key[1:3] for key in page] == [("topic-999", 98), ("topic-999", 99)]


async def test_sv_11_many_who_ask_at_once_share_one_computation() -> None:
    made = []

    def make(key: int) -> Generator[None, None, int]:
        made.append(key)
        yield
        return key

    views: PacedViews[int, int] = PacedViews(make)
    found = await asyncio.gather(*(views.get(7) for _ in range(50)))
    assert {one.value for one in found} == {7}
    assert len(made) < 50


def status() -> Status:
    return status_of(server_of(term_of(cluster_of({}))), at=5, version="1", full=True)


async def events_of(stream: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    async for part in stream:
        lines = part.decode().strip().split("\n")
        lines = [line for line in lines if line and not line.startswith("retry")]
        yield lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))


async def test_sv_11_a_stream_begins_with_everything_and_goes_on_with_what_has_changed() -> None:
    at = iter(range(100))
    looks = []

    def look() -> Status:
        looks.append(1)
        number = next(at)
        return status_of(server_of(term_of(cluster_of({}))), at=number, version=str(number // 2), full=True)

    stream = StatusStream(look, every_s=0.01)
    assert looks == [], "nothing is computed while nobody looks"
    opened = stream.watch()
    assert opened is not None
    async with aclosing(cast("Any", events_of(opened))) as viewer:
        name, first = await anext(viewer)
        assert (name, first["server"], first["version"]) == ("status", 1000, "0")
        name, second = await anext(viewer)
        assert (name, second) == ("changes", {"at": 1})
        name, third = await anext(viewer)
        assert (name, sorted(third)) == ("changes", ["at", "version"])
        behind = stream._number

        async def others_went_on() -> bool:
            return stream._number > behind + 3

        await eventually(others_went_on)
        name, late = await anext(viewer)
        assert (name, len(late)) == ("status", len(first)), "who is behind gets all of it"
    await opened.aclose()  # type: ignore[attr-defined]
    await eventually(lambda: stream._ticker is not None and stream._ticker.done())
    assert stream._viewers == 0
    await stream.close()


async def test_sv_11_a_fault_of_one_look_ends_no_stream(caplog: pytest.LogCaptureFixture) -> None:
    faults = iter([False, True, True])

    def look() -> Status:
        if next(faults, False):
            raise ZeroDivisionError
        return status()

    stream = StatusStream(look, every_s=0.01)
    opened = stream.watch()
    assert opened is not None
    assert await anext(opened)
    assert await anext(opened)
    assert "the status cannot be shown" in caplog.text
    await opened.aclose()  # type: ignore[attr-defined]
    await stream.close()


REQUEST = b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"


@asynccontextmanager
async def served(stream: StatusStream) -> AsyncIterator[tuple[str, int]]:
    server = HttpServer("127.0.0.1", 0, {"/stream": StreamPage(stream.watch)})
    await server.start()
    try:
        yield server.address
    finally:
        await server.close()
        await stream.close()


async def test_sv_11_a_viewer_that_never_reads_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "READS_S", 0.2)
    looks = count()

    def look() -> Status:
        version = f"{next(looks)}" + "x" * 1_000_000
        return status_of(server_of(term_of(cluster_of({}))), at=5, version=version, full=True)

    stream = StatusStream(look, every_s=0.01)
    async with served(stream) as address:
        _, writer = await asyncio.open_connection(*address, limit=1)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(REQUEST)
        await eventually(lambda: stream._viewers == 1)
        await eventually(lambda: stream._viewers == 0, within=20)
        writer.close()


async def test_sv_11_viewers_are_bounded_and_one_more_is_asked_to_come_back() -> None:
    stream = StatusStream(status)
    async with served(stream) as address:
        opened = []
        answers = []
        for _ in range(MOST_VIEWERS + 1):
            reader, writer = await asyncio.open_connection(*address)
            opened.append(writer)
            writer.write(REQUEST)
            answers.append(await reader.readuntil(b"\r\n\r\n"))
        assert all(one.startswith(b"HTTP/1.1 200 ") for one in answers[:-1])
        assert answers[-1].startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 10" in answers[-1]
        for writer in opened:
            writer.close()
        await eventually(lambda: stream._viewers == 0)


async def test_sv_11_a_stream_ends_before_its_connection_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status_stream.STREAM_S < http_server.LIVES_S
    monkeypatch.setattr(status_stream, "STREAM_S", 0.1)
    stream = StatusStream(status, every_s=0.01)
    opened = stream.watch()
    assert opened is not None
    seen = [part async for part in opened]
    assert seen[0].startswith(b"retry: 1000\n\nevent: status\n")
    await stream.close()
