"""Long work in slices: where a generator that works through many items has to yield.

Nothing may hold the event loop for more than 20 ms. A generator therefore yields after every slice of its items; a
`slice_timer.SliceTimer` that runs the generator decides at each yield whether other tasks run. This module is pure:
`core` may use it.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

FREED_AT_ONCE = 500
"""Items with what hangs on them: well under a millisecond."""


class SliceCounter:
    """Counts steps: `step()` is true when a slice is full. For loops that are nested or skip items."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._steps = 0

    def step(self, items: int = 1) -> bool:
        self._steps += items
        if self._steps < self._size:
            return False
        self._steps = 0
        return True


def in_slices(items: Iterable[T], size: int) -> Iterator[tuple[T, bool]]:
    """Each item, and whether it is the last of a slice of `size`: yield after it."""
    for count, item in enumerate(items, 1):
        yield item, count % size == 0


def pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in their order, `size` at a time: what one request or transaction carries."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


def emptied(*collections: list[Any] | dict[Any, Any] | set[Any]) -> Generator[None, None, None]:
    """Empties collections that nobody needs any more. To free a large one at once takes as long as to fill it."""
    for items in collections:
        take: Callable[[], Any] = items.popitem if isinstance(items, dict) else items.pop
        while items:
            for _ in range(min(len(items), FREED_AT_ONCE)):
                take()
            yield
