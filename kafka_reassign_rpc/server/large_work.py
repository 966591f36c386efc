"""Bounds the memory of the large requests that are in work at the same time. The addresses that they come from take
turns: whoever sends many waits for himself."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kafka_reassign_rpc.support.address_line import AddressLine

HUGE_BYTES = 512 * 1024
"""A larger request is huge: it waits for other huge ones, but no smaller request waits for it."""
HUGE_BYTES_IN_WORK = 4 * 1024 * 1024
"""Bytes of huge requests in work at the same time; a single one may be larger. A frame of 10 MiB takes some 200 MB
while it is in work, and several side by side are not done sooner."""
LARGE_BYTES_IN_WORK = 16 * 1024 * 1024
"""Bytes of all other large requests in work at the same time."""


class LargeWork:
    """`closed`: nothing is admitted, since clients have too many answers to read."""

    def __init__(self, closed: Callable[[], bool]) -> None:
        self._budgets = (_Budget(LARGE_BYTES_IN_WORK, closed), _Budget(HUGE_BYTES_IN_WORK, closed))

    @asynccontextmanager
    async def room(self, size: int, host: str) -> AsyncIterator[None]:
        budget = self._budgets[size > HUGE_BYTES]
        await budget.enter(size, host)
        try:
            yield
        finally:
            budget.leave(size)

    def reconsider(self) -> None:
        """Call it when `closed` may have changed."""
        for budget in self._budgets:
            budget.admit()


class _Budget:
    def __init__(self, limit: int, closed: Callable[[], bool]) -> None:
        self._limit = limit
        self._closed = closed
        self._in_work = 0
        self._line: AddressLine[int] = AddressLine(gone=self.leave)

    async def enter(self, size: int, host: str) -> None:
        if not self._line and self._has_room(size):
            self._in_work += size
        else:
            await self._line.wait(host, size)

    def leave(self, size: int) -> None:
        self._in_work -= size
        self.admit()

    def admit(self) -> None:
        while (size := self._line.first()) is not None and self._has_room(size):
            self._in_work += size
            self._line.let_in()

    def _has_room(self, size: int) -> bool:
        return not self._closed() and (not self._in_work or self._in_work + size <= self._limit)
