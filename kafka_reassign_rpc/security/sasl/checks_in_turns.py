"""Checks that take long, such as hashes of passwords: one thread does them, and the addresses that ask take turns.

Whoever sends many gets one check for each of everybody else's. A check whose client has gone never begins. One that
cannot begin in time is given up, and when too many wait, the busiest address gives up its last.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MOST_WAITING = 1_000
LONGEST_WAIT_S = 10.0

T = TypeVar("T")
_Turn = asyncio.Future[None]


class TooBusy(Exception): ...


class ChecksInTurns:
    """All checks are for one event loop."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._busy = False
        self._waiting: dict[str, dict[_Turn, None]] = {}
        """By address; the next turn is that of the first."""
        self._count = 0

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def run(self, address: str, check: Callable[[], T]) -> T:
        """`address` is the client's. Raises TooBusy, and what `check` raises."""
        if self._busy:
            await self._turn(address)
        self._busy = True
        loop = asyncio.get_running_loop()
        try:
            counted = self._thread.submit(check)
        except RuntimeError:  # it is closed
            raise TooBusy from None
        counted.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._over))
        return await asyncio.wrap_future(counted)

    async def _turn(self, address: str) -> None:
        self._make_room(address)
        turn: _Turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, {})[turn] = None
        self._count += 1
        try:
            async with asyncio.timeout(LONGEST_WAIT_S):
                await turn
        except (TimeoutError, asyncio.CancelledError) as error:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._over()  # it had just come: the next one gets it
            if isinstance(error, TimeoutError):
                raise TooBusy from None
            raise
        finally:
            self._forget(address, turn)

    def _make_room(self, address: str) -> None:
        """Raises TooBusy if this address is one of the busiest."""
        if self._count < MOST_WAITING:
            return
        busiest = max(self._waiting, key=lambda one: len(self._waiting[one]), default=address)
        turns = self._waiting.get(busiest, {})
        if len(turns) <= len(self._waiting.get(address, ())) + 1:
            raise TooBusy
        last = next(reversed(turns))
        self._forget(busiest, last)
        last.set_exception(TooBusy())

    def _forget(self, address: str, turn: _Turn) -> None:
        turns = self._waiting.get(address, {})
        if turn in turns:
            del turns[turn]
            self._count -= 1
            if not turns:
                del self._waiting[address]

    def _over(self) -> None:
        """The first address has the next turn, then waits behind all others."""
        while self._waiting:
            address, turns = next(iter(self._waiting.items()))
            turn = next(iter(turns))
            self._forget(address, turn)
            if turns:
                self._waiting[address] = self._waiting.pop(address)
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False
