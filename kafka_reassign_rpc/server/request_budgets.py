"""What the requests of all connections share: places among queued.max.requests, bytes, and the tasks that finish
them."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol

from kafka_reassign_rpc.server.connection_states import Reader
from kafka_reassign_rpc.server.server_limits import ServerLimits, ServerStats
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


class Waiter(Protocol):
    def work(self) -> None:
        """There is room for another request: go on. Then call `RequestBudgets.wake`."""


class _Turn:
    def __init__(self, budgets: "RequestBudgets") -> None:
        self._budgets = budgets
        self.come = asyncio.get_running_loop().create_future()

    def work(self) -> None:
        if not self.come.done():
            self._budgets.stats.requests_in_work_now += 1
            self.come.set_result(None)
        self._budgets.wake()


class RequestBudgets:
    """Belongs to one server and one event loop. `close_unread` closes the connection of a client that leaves its
    answers unread, and says why."""

    def __init__(self, limits: ServerLimits, stats: ServerStats, close_unread: Callable[[Any, str], None]) -> None:
        self.stats = stats
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._close_unread = close_unread
        self._unread: OrderedDict[Reader, int] = OrderedDict()
        """Bytes of unread answers, the longest wait first."""
        self._waiting: deque[Waiter] = deque()
        self._starving: dict[Reader, None] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.large_work = LargeWork(self._many_answers)

    def forget(self, connection: Any) -> None:
        self.unread(connection, 0)
        self._starving.pop(connection, None)
        if connection in self._waiting:
            self._waiting.remove(connection)
            self.stats.requests_waiting_now = len(self._waiting)

    # ------------------------------------------------------------------------------------------------ places

    @property
    def has_place(self) -> bool:
        return self.stats.requests_in_work_now < self._limits.queued_max_requests

    def wait(self, waiter: Waiter) -> None:
        self._waiting.append(waiter)
        self.stats.requests_waiting_now = len(self._waiting)

    def work(self, waits: Coroutine[Any, Any, None]) -> None:
        """Finishes a request even if its client disconnects meanwhile. The task calls `worked`."""
        self.stats.requests_in_work_now += 1
        self.aside(waits)

    def aside(self, waits: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Takes no place among queued.max.requests: strangers must not fill that."""
        task = self._loop.create_task(waits)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    @asynccontextmanager
    async def large_place(self, size: int, host: str) -> AsyncIterator[None]:
        """Waits first for room, then for a place among queued.max.requests: so it keeps no place from others
        meanwhile."""
        async with self.large_work.room(size, host):
            turn = _Turn(self)
            if self.has_place:
                turn.work()
            else:
                self.wait(turn)
            try:
                await turn.come
                yield
            finally:
                if not turn.come.cancelled():
                    self.worked()

    def worked(self) -> None:
        self.stats.requests_in_work_now -= 1
        self.wake()

    def wake(self) -> None:
        if self._waiting and self.has_place:
            self._loop.call_soon(self._waiting.popleft().work)
            self.stats.requests_waiting_now = len(self._waiting)

    # ------------------------------------------------------------------------------------------------ bytes

    @property
    def too_many_bytes(self) -> bool:
        return 0 <= self._limits.queued_max_request_bytes < self.stats.request_bytes_now

    def charge(self, difference: int) -> bool:
        """Returns whether all connections together hold too many."""
        self.stats.request_bytes_now += difference
        over = self.too_many_bytes
        if self._starving and not over and difference < 0:
            self._loop.call_soon(self._feed)
        return over

    def starve(self, reader: Reader) -> None:
        self._starving[reader] = None

    def _feed(self) -> None:
        while self._starving and not self.too_many_bytes:
            reader = next(iter(self._starving))
            del self._starving[reader]
            reader.fed()

    def unread(self, owner: Reader, size: int) -> None:
        """A connection has so many bytes of unread answers, and charges them as well. If all clients together leave too
        many, those close that have had some for the longest time."""
        difference = size - self._unread.get(owner, 0)
        if not difference:
            return
        self.stats.answer_bytes_now += difference
        if size:
            self._unread[owner] = size
        else:
            del self._unread[owner]
        if difference < 0:
            self.large_work.reconsider()
        elif self.stats.answer_bytes_now > self._limits.queued_max_response_bytes:
            self._loop.call_soon(self._close_those_unread)

    def _close_those_unread(self) -> None:
        limit = self._limits.queued_max_response_bytes
        while self.stats.answer_bytes_now > limit and len(self._unread) > 1:
            self._close_unread(next(iter(self._unread)), f"{limit} bytes are not read")

    def _many_answers(self) -> bool:
        return self.stats.answer_bytes_now > self._limits.queued_max_response_bytes // 2
