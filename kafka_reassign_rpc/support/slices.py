"""What long work handles piece by piece. Pure."""

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

FREED_AT_ONCE = 500
"""Items with what they hold: well under a millisecond."""


def pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


def emptied(*collections: list[Any] | dict[Any, Any] | set[Any]) -> Generator[None, None, None]:
    """Freeing a large collection at once takes as long as filling it."""
    for items in collections:
        if isinstance(items, list):
            while items:
                del items[-FREED_AT_ONCE:]
                yield
        else:
            take: Callable[[], Any] = items.popitem if isinstance(items, dict) else items.pop
            while items:
                for _ in range(min(len(items), FREED_AT_ONCE)):
                    take()
                yield


def named_twice(names: Iterable[H]) -> Generator[None, None, set[H]]:
    """The names that a request has more than once."""
    once: set[H] = set()
    twice: set[H] = set()
    for name in names:
        (twice if name in once else once).add(name)
        yield
    return twice


def finished(steps: Generator[None, None, T]) -> T:
    """Does all steps at once, where nothing else waits."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def run_through(steps: Iterator[None]) -> None:
    for _ in steps:
        pass
