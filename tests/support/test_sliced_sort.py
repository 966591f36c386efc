"""Sorting in slices, against Python's own sort."""

from collections.abc import Generator
from random import Random

from kafka_reassign_rpc.support.slices import SLICE, sorted_in_slices
from tests.tables import for_each


def done(steps: Generator[None, None, list[list[int]]]) -> tuple[list[list[int]], int]:
    slices = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, slices
        slices += 1


@for_each("order", ["random", "up", "down", "clustered"])
@for_each("count", [0, 1, SLICE, SLICE + 1, 20_000])
def test_sv_11_long_lists_are_sorted_as_by_python_in_slices(order: str, count: int) -> None:
    keys = list(range(count))
    if order == "random":
        Random(7).shuffle(keys)
    elif order == "down":
        keys.reverse()
    elif order == "clustered":  # where samples are taken, keys are large: all others share a bucket
        step = max(1, count // 256)
        keys = [key + (10**9 if place % step == 0 else 0) for place, key in enumerate(keys)]
    found, slices = done(sorted_in_slices(keys))
    assert [key for part in found for key in part] == sorted(keys)
    assert all(0 < len(part) <= SLICE for part in found)
    assert slices >= count // SLICE - 1
