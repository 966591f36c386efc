"""Proxies between clients and brokers, which see requests and lose answers: the cluster has a listener whose addresses
are theirs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from tests.stock.kraft import KRaftNode
from tests.stock.ports import kept_ports

LISTENER = "PROXIED"
PRODUCE = 0


def add_listener(nodes: Sequence[KRaftNode], name: str = LISTENER) -> dict[int, int]:
    """Gives each node, which is not started yet, a listener that is reached through a port of a proxy: proxy's port ->
    the broker's."""
    ports = kept_ports(2 * len(nodes))
    targets = dict(zip(ports[::2], ports[1::2], strict=True))
    for node, (proxy, own) in zip(nodes, targets.items(), strict=True):
        listeners, protocols = node.properties["listeners"], node.properties["listener.security.protocol.map"]
        advertised = node.properties.get("advertised.listeners", listeners.partition(",")[0])
        node.properties |= {
            "listeners": f"{listeners},{name}://127.0.0.1:{own}",
            "advertised.listeners": f"{advertised},{name}://127.0.0.1:{proxy}",
            "listener.security.protocol.map": f"{protocols},{name}:PLAINTEXT",
        }
    return targets


def ignored(request: bytes) -> None:
    del request


class Proxies:
    """An async context manager. `lose`: so many answers to Produce are lost, each with its connection.

    asked     called with each request, before a broker has it
    answered  called with it before its sender has the answer
    """

    def __init__(
        self,
        targets: Mapping[int, int],
        asked: Callable[[bytes], None] = ignored,
        answered: Callable[[bytes], None] = ignored,
    ) -> None:
        self._targets = targets
        self.asked = asked
        self.answered = answered
        self.lose = 0
        self.lost = 0
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._targets)

    async def __aenter__(self) -> "Proxies":
        for port, target in self._targets.items():
            self._servers.append(await asyncio.start_server(self._accept_at(target), "127.0.0.1", port))
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept_at(self, target: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await self._forward(target, reader, writer)
            finally:
                self._tasks.discard(task)
                writer.close()
                with suppress(ConnectionError):
                    await writer.wait_closed()

        return accept

    async def _forward(self, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request after the other."""
        try:
            there, back = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            return
        try:
            while True:
                request = await _frame(reader)
                self.asked(request)
                back.write(request)
                answer = await _frame(there)
                self.answered(request)
                if api_key(request) == PRODUCE and self.lose:
                    self.lose -= 1
                    self.lost += 1
                    return
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            back.close()


def api_key(request: bytes) -> int:
    """`request` with its length in front."""
    return int.from_bytes(request[4:6], "big")


async def _frame(reader: asyncio.StreamReader) -> bytes:
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size, "big"))
