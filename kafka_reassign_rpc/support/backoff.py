"""Exponential backoff: each wait is twice as long as the one before, up to a limit."""

import asyncio
from collections.abc import Callable


def next_wait_s(waited_s: float, first_s: float, longest_s: float) -> float:
    return min(waited_s * 2, longest_s) or first_s


class Backoff:
    """The waits of one task between its attempts."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._waited_s = 0.0

    def reset(self) -> None:
        self._waited_s = 0.0

    def next_s(self) -> float:
        self._waited_s = next_wait_s(self._waited_s, self._first_s, self._longest_s)
        return self._waited_s

    async def sleep(self, *, longest: bool = False) -> None:
        if longest:
            self._waited_s = self._longest_s
        await asyncio.sleep(self.next_s())


class DelayedCall:
    """Calls a function a while after `request`, once for all requests until then; each wait is longer."""

    def __init__(self, call: Callable[[], None], first_s: float, longest_s: float) -> None:
        self._call = call
        self._backoff = Backoff(first_s, longest_s)
        self._timer: asyncio.TimerHandle | None = None

    def request(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._backoff.next_s(), self._run)

    def reset(self) -> None:
        self._backoff.reset()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._timer = None
        self._call()
