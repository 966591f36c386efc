"""A run in which little happens in its usual order: `pytest --unlucky SEED`.

What a socket has to say comes up to `MOST_S` late, now and then, whatever others say meanwhile; the order in one
connection stays. `eventually` looks again at once. So a test that is right only as long as one thing is quicker than
another fails here in a few runs, and not once in a month. One whose subject is who is quicker has the mark `in_order`.
"""

import asyncio
import random
import selectors
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.ending_loop import EndingLoop

MOST_S = 0.03
OFTEN = 0.3
"""How often what is read from a socket is late."""
LEAST_S = 0.001
"""Between two looks of `eventually`, at first."""
_REST_S = 0.001
"""Between two looks while all that is there is late."""


class LateSelector(selectors.DefaultSelector):
    def __init__(self, drawn: random.Random) -> None:
        super().__init__()
        self._drawn = drawn
        self._due: dict[int, float] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(timeout)
        now = time.monotonic()
        due = [(key, events) for key, events in found if now >= self._due_at(key.fd, now)]
        for key, _ in due:
            del self._due[key.fd]
        if found and not due and timeout != 0:
            time.sleep(_REST_S)
        return due

    def _due_at(self, fd: int, now: float) -> float:
        if fd not in self._due:
            self._due[fd] = now + (self._drawn.uniform(0, MOST_S) if self._drawn.random() < OFTEN else 0)
        return self._due[fd]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        self._due.pop(key.fd, None)
        return key


@cache
def unlucky_loops(seed: int) -> Callable[[], asyncio.AbstractEventLoop]:
    """One factory for a run: with another one for each test, fixtures of a module would be made again for each."""
    drawn = random.Random(seed)
    return lambda: EndingLoop(LateSelector(drawn))
