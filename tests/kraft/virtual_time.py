"""An event loop whose time passes only while all its tasks wait: hours take seconds, and each run goes the same way."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Skipping(selectors.SelectSelector):
    """What would wait for a time has it pass at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("all tasks wait, and none for a time: they would wait forever")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualTime(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """Nothing outside of the loop may have a part in it: no socket, process or thread."""
    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        return runner.run(work)
