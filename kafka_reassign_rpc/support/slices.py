"""What long work handles piece by piece. Pure."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Iterator, MutableMapping, Sequence
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
        yield  # a hundred thousand may be empty


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


def forget_others(known: MutableMapping[H, Any], there: Collection[H]) -> None:
    for key in [one for one in known if one not in there]:
        del known[key]


S = TypeVar("S", bound=Any)

SLICE = 1_000
"""Keys that are sorted, or dealt out, between two `yield`s."""
BUCKETS = 256


def sorted_in_slices(keys: Sequence[S]) -> Generator[None, None, list[list[S]]]:
    """The keys, which must be distinct, in order, as lists that follow one another, none empty: `list.sort` of a
    hundred thousand would hold the event loop too long.
    """
    if len(keys) <= SLICE:
        return [sorted(keys)] if keys else []
    bounds = sorted(keys[:: max(1, len(keys) // BUCKETS)])[1:]
    buckets: list[list[S]] = [[] for _ in range(len(bounds) + 1)]
    for first in range(0, len(keys), SLICE):
        for key in keys[first : first + SLICE]:
            buckets[bisect_right(bounds, key)].append(key)
        yield
    found: list[list[S]] = []
    for bucket in buckets:
        found += yield from sorted_in_slices(bucket)
        if bucket:
            yield
    return found
