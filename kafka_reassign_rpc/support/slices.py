"""Long work in slices: where a generator that works through many items has to yield.

Nothing may hold the event loop for more than 20 ms. A generator therefore yields after every slice of its items; a
`slice_timer.SliceTimer` that runs the generator decides at each yield whether other tasks run. This module is pure:
`core` may use it.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class SliceCounter:
    """Counts steps: `step()` is true after every `size`th. For loops that are nested or skip items."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._steps = 0

    def step(self) -> bool:
        self._steps += 1
        return self._steps % self._size == 0


def in_slices(items: Iterable[T], size: int) -> Iterator[tuple[T, bool]]:
    """Each item, and whether it is the last of a slice of `size`: yield after it."""
    for count, item in enumerate(items, 1):
        yield item, count % size == 0
