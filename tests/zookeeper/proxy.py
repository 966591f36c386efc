"""A TCP proxy that breaks connections in the ways networks and servers do.

fin()           closes every connection in an orderly way
rst()           resets every connection
silence()       nothing gets through in either direction, nothing is closed; `heal` lets the held bytes through
mute()          requests still reach the server, its answers are held
refusing        new connections: "" accepted, "close" accepted and closed at once, "swallow" accepted, never answered
delay           seconds that each piece of data waits
cut_writes()    cuts the connection at the next writes (of more than WRITE_BYTES at a time, encrypted or not): before
                they reach the server, or when the answer comes
"""

import asyncio
import contextlib
import socket
import struct
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, Self

from tests.stop_listening import stop_listening

WRITE_BYTES = 150
"""No ping, and hardly any request for one znode, is as long."""


class WriteCut(NamedTuple):
    """before: the write does not reach the server. fin: the connection is closed in an orderly way."""

    before: bool
    fin: bool


def reset_when_closed(link: socket.socket) -> None:
    """Let the connection end with a reset."""
    with contextlib.suppress(OSError):  # it is closed already
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Proxy:
    def __init__(self, target: str, at: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self._at = at
        self.host, _, port = target.rpartition(":")
        self.target_port = int(port)
        self.refusing = ""
        self.delay = 0.0
        self.to_server_open = asyncio.Event()
        self.to_client_open = asyncio.Event()
        self.heal()
        self.accepted = 0
        self.to_server = 0
        self.cuts = 0
        """Connections that `cut_writes` has cut."""
        self._cuts: deque[WriteCut] = deque()
        self._cut_at_answer: WriteCut | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_server(self._accept, *self._at)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        await stop_listening([self.server])
        self.fin()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def address(self) -> str:
        return f"{self._at[0]}:{self.port}"

    def fin(self) -> None:
        for writer in list(self._writers):
            writer.close()

    def rst(self) -> None:
        for writer in list(self._writers):
            link = writer.get_extra_info("socket")
            if link is not None:
                reset_when_closed(link)
            writer.transport.abort()

    def silence(self) -> None:
        self.to_server_open.clear()
        self.to_client_open.clear()

    def mute(self) -> None:
        self.to_client_open.clear()

    def cut_writes(self, cuts: Iterable[WriteCut]) -> None:
        """From now on these, and no others."""
        self._cuts = deque(cuts)
        self._cut_at_answer = None
        self.cuts = 0

    def _cut(self, cut: WriteCut) -> None:
        self.cuts += 1
        (self.fin if cut.fin else self.rst)()

    def heal(self) -> None:
        self.refusing, self.delay = "", 0.0
        self.to_server_open.set()
        self.to_client_open.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.accepted += 1
        self._writers.add(writer)
        try:
            if self.refusing == "close":
                return
            if self.refusing == "swallow":
                await reader.read(-1)
                return
            there, back = await asyncio.open_connection(self.host, self.target_port)
            self._writers.add(back)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._copy(reader, back, to_server=True))
                    group.create_task(self._copy(there, writer, to_server=False))
            finally:
                self._writers.discard(back)
                back.close()
        except (OSError, asyncio.CancelledError, ExceptionGroup):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to_server: bool) -> None:
        while data := await reader.read(65536):
            if self.delay:
                await asyncio.sleep(self.delay)
            await (self.to_server_open if to_server else self.to_client_open).wait()
            if to_server and self._cuts and len(data) > WRITE_BYTES and self._cut_at_answer is None:
                cut = self._cuts.popleft()
                if cut.before:
                    self._cut(cut)
                    return
                self._cut_at_answer = cut
            elif not to_server and self._cut_at_answer is not None:
                cut, self._cut_at_answer = self._cut_at_answer, None
                self._cut(cut)
                return
            if to_server:
                self.to_server += len(data)
            with contextlib.suppress(OSError):
                writer.write(data)
                await writer.drain()
        writer.close()
