"""Sorts in slices: `list.sort` of a hundred thousand keys would hold the event loop too long."""

from bisect import bisect_right
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

T = TypeVar("T", bound=Any)

SLICE = 1_000
"""Keys that are sorted, or dealt out, between two `yield`s."""
BUCKETS = 256


def sorted_in_slices(keys: Sequence[T]) -> Generator[None, None, list[list[T]]]:
    """The keys, which must be distinct, in order, as lists that follow one another, none empty."""
    if len(keys) <= SLICE:
        return [sorted(keys)] if keys else []
    bounds = sorted(keys[:: max(1, len(keys) // BUCKETS)])[1:]
    buckets: list[list[T]] = [[] for _ in range(len(bounds) + 1)]
    for first in range(0, len(keys), SLICE):
        for key in keys[first : first + SLICE]:
            buckets[bisect_right(bounds, key)].append(key)
        yield
    found: list[list[T]] = []
    for bucket in buckets:
        found += yield from sorted_in_slices(bucket)
        if bucket:
            yield
    return found
