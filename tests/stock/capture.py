"""A TCP proxy that cuts the stream into Kafka frames and records them.

To put it between clients and a broker, make `Capture.port` the broker's advertised port. Brokers then reach each
other through it too. It changes no byte.
"""

import asyncio
import contextlib
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from kafka.protocol.api_key import ApiKey

from tests.stop_listening import stop_listening


@dataclass(frozen=True)
class Frame:
    """One request or response: `data` is header and body, without the four bytes of length before them.

    `peer` is the client id of the request and names its sender (a broker's client id is its broker id).
    """

    key: int
    version: int
    direction: str
    peer: str
    data: bytes

    @property
    def api(self) -> str:
        return str(ApiKey(self.key).name)


@dataclass
class Capture:
    """The proxy of one broker. `target` gives the broker's real port at the time of a connection."""

    target: Callable[[], int] = lambda: 0
    frames: list[Frame] = field(default_factory=list)
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server is not None
        await stop_listening([self._server])
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
            upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self.target())
            asked: dict[int, tuple[int, int, str]] = {}
            with contextlib.closing(upstream):
                one_ends = [
                    asyncio.ensure_future(_pump(reader, upstream, lambda data: self._request(data, asked))),
                    asyncio.ensure_future(_pump(upstream_reader, writer, lambda data: self._response(data, asked))),
                ]
                try:
                    await asyncio.wait(one_ends, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for pump in one_ends:
                        pump.cancel()
                    await asyncio.gather(*one_ends, return_exceptions=True)

    def _request(self, data: bytes, asked: dict[int, tuple[int, int, str]]) -> None:
        key, version, correlation, length = struct.unpack_from(">hhih", data)
        peer = data[10 : 10 + max(length, 0)].decode()
        asked[correlation] = (key, version, peer)
        self.frames.append(Frame(key, version, "request", peer, data))

    def _response(self, data: bytes, asked: dict[int, tuple[int, int, str]]) -> None:
        key, version, peer = asked.pop(struct.unpack_from(">i", data)[0])
        self.frames.append(Frame(key, version, "response", peer, data))


def take(captures: Iterable[Capture]) -> list[Frame]:
    """The frames that were recorded since the last call."""
    frames = []
    for capture in captures:
        frames += capture.frames
        capture.frames = []
    return frames


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, record: Callable[[bytes], None]) -> None:
    while True:
        length = await source.readexactly(4)
        data = await source.readexactly(struct.unpack(">i", length)[0])
        record(data)
        sink.write(length + data)
        await sink.drain()
