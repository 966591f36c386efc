"""Costly values are computed for all viewers at once, and only as often as `SHARE` of a core allows."""

import asyncio
import time
from collections.abc import Callable, Generator, Hashable
from typing import Generic, NamedTuple, TypeVar

from kafka_reassign_rpc.support.turns import in_turns

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Steps = Generator[None, None, V]
"""Work in steps that ends with a value."""

SHARE = 0.01
MOST_KEPT = 8
"""Values of one kind that are kept, for different filters."""


class Kept(NamedTuple, Generic[V]):
    """`at`: when it was made, on the event loop's clock; `cost_s`: what that took."""

    value: V
    at: float
    cost_s: float


class PacedViews(Generic[K, V]):
    """make  steps that end with the value of a key
    free  frees a value that is not needed any longer, in steps
    """

    def __init__(
        self,
        make: Callable[[K], Generator[None, None, V]],
        free: Callable[[V], Generator[None, None, None]] | None = None,
    ) -> None:
        self._make = make
        self._free = free
        self._kept: dict[K, Kept[V]] = {}
        self._turn = asyncio.Lock()

    async def get(self, key: K) -> Kept[V]:
        """Values are made one at a time. Use the value before the next `await`: then another may
        have taken its place, and it is freed."""
        kept = self._fresh(key)
        if kept is not None:
            return kept
        async with self._turn:
            kept = self._fresh(key)
            if kept is not None:
                return kept
            clock = _Clock()
            value = await in_turns(clock.timed(self._make(key)))
            former = self._kept.pop(key, None)
            if former is None and len(self._kept) >= MOST_KEPT:
                former = self._kept.pop(next(iter(self._kept)))
            found = self._kept[key] = Kept(value, asyncio.get_running_loop().time(), clock.seconds)
            if former is not None and self._free is not None:
                await in_turns(self._free(former.value))
            return found

    def clear(self) -> None:
        self._kept.clear()

    def _fresh(self, key: K) -> Kept[V] | None:
        """The costs of all keys together count."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        pause = sum(one.cost_s for one in self._kept.values()) / SHARE
        return kept if asyncio.get_running_loop().time() - kept.at < pause else None


class _Clock:
    """Measures the steps of a generator, and not what runs between them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, steps: Steps[V]) -> Steps[V]:
        while True:
            since = time.perf_counter()
            try:
                next(steps)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.seconds += time.perf_counter() - since
            yield
