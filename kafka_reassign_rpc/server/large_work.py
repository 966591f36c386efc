"""Room for large requests: those in work at the same time hold bounded memory together.

Those that wait do so by turns of the addresses that they come from: whoever sends many waits for himself.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kafka_reassign_rpc.server.interpreter_tuning import full_passes

HUGE_BYTES = 512 * 1024
"""A request of more bytes is huge: it waits for other huge ones, but no smaller request waits for it."""
HUGE_BYTES_IN_WORK = 4 * 1024 * 1024
"""Bytes of huge requests in work at the same time; a single one may be larger. A frame of 10 MiB takes some 200 MB
while it is in work, and several of them are not done sooner side by side."""
LARGE_BYTES_IN_WORK = 16 * 1024 * 1024
"""Bytes of all other large requests in work at the same time."""


class LargeWork:
    """Admits large requests, those of an address in their order, as long as there is room for them.

    closed    whether nothing is admitted for now: clients have too many answers to read
    """

    def __init__(self, closed: Callable[[], bool]) -> None:
        self._lanes = (_Lane(LARGE_BYTES_IN_WORK, closed), _Lane(HUGE_BYTES_IN_WORK, closed))

    @asynccontextmanager
    async def room(self, size: int, host: str) -> AsyncIterator[None]:
        """Waits until a request of `size` bytes from `host` may be decoded; it is over at the end of the context."""
        lane = self._lanes[size > HUGE_BYTES]
        await lane.enter(size, host)
        try:
            with full_passes.wait():
                yield
        finally:
            lane.leave(size)

    def look_again(self) -> None:
        """`closed` may have another value now."""
        for lane in self._lanes:
            lane.admit()


class _Lane:
    def __init__(self, limit: int, closed: Callable[[], bool]) -> None:
        self._limit = limit
        self._closed = closed
        self._in_work = 0
        self._waiting: OrderedDict[str, deque[tuple[int, asyncio.Future[None]]]] = OrderedDict()
        """By address, the one first that is next."""

    async def enter(self, size: int, host: str) -> None:
        if not self._waiting and self._has_room(size):
            self._in_work += size
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(host, deque()).append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # admitted at the same moment
                self.leave(size)
            raise

    def leave(self, size: int) -> None:
        self._in_work -= size
        self.admit()

    def admit(self) -> None:
        while self._waiting:
            host, of_host = next(iter(self._waiting.items()))
            size, turn = of_host[0]
            gone = turn.done()
            if not gone and not self._has_room(size):
                return
            of_host.popleft()
            if not of_host:
                del self._waiting[host]
            elif not gone:
                self._waiting.move_to_end(host)
            if not gone:
                self._in_work += size
                turn.set_result(None)

    def _has_room(self, size: int) -> bool:
        return not self._closed() and (not self._in_work or self._in_work + size <= self._limit)
