"""What `--unlucky` does to a run: what sockets say comes late, in its order, and all of it."""

import asyncio
import random
import selectors
import socket
from collections.abc import Iterator

import pytest

from tests import unlucky_loop


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_sv_3_what_is_there_is_late_and_comes(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlucky_loop, "OFTEN", 1.0)
    with unlucky_loop.LateSelector(random.Random(1)) as selector:
        selector.register(pair[0], selectors.EVENT_READ)
        pair[1].send(b"x")
        looks = 1
        while not selector.select():
            looks += 1
    assert looks > 1


async def test_sv_3_the_order_in_a_connection_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlucky_loop, "MOST_S", 0.005)

    def talk() -> list[bytes]:
        async def lines() -> list[bytes]:
            found = list[bytes]()

            async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                while line := await reader.readline():
                    found.append(line)
                writer.close()
                heard.set()

            heard = asyncio.Event()
            async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
                _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
                for number in range(50):
                    writer.write(b"%d\n" % number)
                    await writer.drain()
                writer.close()
                await heard.wait()
            return found

        with asyncio.Runner(loop_factory=unlucky_loop.unlucky_loops(1)) as runner:
            return runner.run(lines())

    assert await asyncio.to_thread(talk) == [b"%d\n" % number for number in range(50)]
