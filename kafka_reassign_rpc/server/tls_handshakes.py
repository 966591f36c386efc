"""TLS handshakes: how many begin, and which of them has to go.

A handshake takes a few milliseconds of the event loop, and anybody can ask for one. So they begin at a limited rate,
and addresses take turns: whoever asks for many waits for himself. The oldest of the address with the most makes room
for the next one.
"""

import asyncio
from collections.abc import Callable

from kafka_reassign_rpc.support.address_line import AddressLine

PER_TURN = 5
"""So many handshakes begin at once ..."""
TURN_S = 0.02
"""... and after so many seconds the next ones: 250 in a second."""
MOST_UNDER_WAY = 500
"""Handshakes under way: each has two seconds at the highest rate."""


class Handshake:
    """To `OpenConnections` it is a connection without a request."""

    def __init__(self, host: str, now: float, task: "asyncio.Task[None]") -> None:
        self.host = host
        self.last_active = self.silent_since = now
        self.frame_since = self.unread_since = 0.0
        self._task = task
        self.becomes: object = None
        """The connection, if the handshake succeeds."""

    @property
    def idle(self) -> bool:
        return True

    @property
    def unwatched(self) -> int | None:
        return None

    def drain(self) -> None:
        self.abort()

    def when_over(self, callback: Callable[[], object]) -> None:
        self._task.add_done_callback(lambda _: callback())

    def abort(self) -> None:
        self._task.cancel()


class HandshakeTurns:
    """For all listeners of a server, on one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._line: AddressLine[Handshake] = AddressLine()
        self._under_way: dict[str, dict[Handshake, None]] = {}
        """By address, the oldest first."""
        self._count = 0
        self._left = PER_TURN
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, handshake: Handshake) -> None:
        """Waits until this handshake may begin. Call `end` for it, whatever happens."""
        if self._left <= 0 or self._line:
            await self._line.wait(handshake.host, handshake)
        else:
            self._take(handshake)

    def end(self, handshake: Handshake) -> None:
        of_host = self._under_way.get(handshake.host, {})
        if handshake in of_host:
            del of_host[handshake]
            self._count -= 1
            if not of_host:
                del self._under_way[handshake.host]

    def _take(self, handshake: Handshake) -> None:
        if self._count >= MOST_UNDER_WAY:
            most = max(self._under_way.values(), key=len)
            oldest = next(iter(most))
            self.end(oldest)
            oldest.abort()
        self._under_way.setdefault(handshake.host, {})[handshake] = None
        self._count += 1
        self._left -= 1
        if self._timer is None:
            self._timer = self._loop.call_later(TURN_S, self._next_turn)

    def _next_turn(self) -> None:
        self._timer = None
        self._left = PER_TURN
        while self._left > 0 and (handshake := self._line.first()) is not None:
            self._line.let_in()
            self._take(handshake)
