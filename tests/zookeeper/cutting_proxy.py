"""A TCP proxy that knows ZooKeeper's frames, and cuts connections before or after chosen writes.

before    the request does not reach ZooKeeper
after     ZooKeeper carries it out; its answer, and what comes behind it, do not reach the client
"""

import asyncio
import contextlib
import struct
from collections import deque
from enum import Enum
from typing import NamedTuple, Self

from tests.stop_listening import stop_listening
from tests.zookeeper.proxy import reset_when_closed

CREATE, DELETE, SET_DATA, MULTI, CREATE2 = 1, 2, 5, 14, 15
WRITES = frozenset((CREATE, DELETE, SET_DATA, MULTI, CREATE2))


class When(Enum):
    BEFORE = "before"
    AFTER = "after"


class Cut(NamedTuple):
    """Cut the connection at a write, `skip` writes after the former cut. `fin`: close it in an orderly way."""

    skip: int = 0
    when: When = When.AFTER
    fin: bool = False


class CuttingProxy:
    """`cuts` are those to come, in their order; `made` counts those that were made. `refusing`: new connections are
    closed."""

    def __init__(self, target: str) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self.cuts: deque[Cut] = deque()
        self.made = 0
        self.refusing = False
        self.writes = 0
        """Writes since the last cut, or since `plan`."""
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        await stop_listening([self._server])
        self.cut_all()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def plan(self, *cuts: Cut) -> None:
        """From now on these cuts, and no others."""
        self.cuts = deque(cuts)
        self.made = self.writes = 0

    @property
    def is_cutting(self) -> bool:
        """Whether a connection is cut as soon as an answer comes: one that was planned before the last `plan`."""
        return any(link.is_cutting for link in self._links)

    def cut_all(self, *, fin: bool = False) -> None:
        """Cut all connections now."""
        for link in list(self._links):
            link.cut(fin=fin)

    def at_write(self) -> Cut | None:
        """A write is on its way. Returns the cut that is to be made at it."""
        self.writes += 1
        if not self.cuts or self.writes <= self.cuts[0].skip:
            return None
        self.writes = 0
        self.made += 1
        return self.cuts.popleft()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self.refusing:
            writer.close()
            return
        try:
            there, back = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.close()
            return
        link = _Link(self, reader, writer, there, back)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)


class _Link:
    """A connection of the client, and the one to the server that belongs to it."""

    def __init__(
        self,
        proxy: CuttingProxy,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._client, self._to_client = client, to_client
        self._server, self._to_server = server, to_server
        self._last: int | None = None
        """The xid of the write whose answer is lost."""
        self._fin = False

    @property
    def is_cutting(self) -> bool:
        return self._last is not None

    async def run(self) -> None:
        with contextlib.suppress(OSError, EOFError, asyncio.CancelledError, ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._requests())
                group.create_task(self._answers())
        self.cut(fin=True)

    def cut(self, *, fin: bool) -> None:
        for writer in (self._to_client, self._to_server):
            if fin:
                writer.close()
                continue
            link = writer.get_extra_info("socket")
            if link is not None:
                reset_when_closed(link)
            writer.transport.abort()

    async def _requests(self) -> None:
        await self._pass_on(self._client, self._to_server)  # the handshake
        while True:
            frame = await _frame(self._client)
            xid, opcode = struct.unpack_from(">ii", frame, 4)
            cut = self._proxy.at_write() if opcode in WRITES and self._last is None else None
            if cut is not None and cut.when is When.BEFORE:
                self.cut(fin=cut.fin)
                return
            if cut is not None:
                self._last, self._fin = xid, cut.fin
            self._to_server.write(frame)
            await self._to_server.drain()

    async def _answers(self) -> None:
        await self._pass_on(self._server, self._to_client)
        while True:
            frame = await _frame(self._server)
            if self._last is not None and struct.unpack_from(">i", frame, 4)[0] == self._last:
                self.cut(fin=self._fin)
                return
            self._to_client.write(frame)
            await self._to_client.drain()

    @staticmethod
    async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await _frame(reader))
        await writer.drain()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(4)
    return head + await reader.readexactly(struct.unpack(">i", head)[0])
