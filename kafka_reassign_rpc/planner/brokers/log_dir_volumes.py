"""Which log dirs of a broker share a volume, from the size and free bytes that it reports for each.

On one volume these are the same, but for writes between the readings. Empty disks of one kind look the same too: other
brokers' log dirs of the same paths, with data, show that these are apart.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, Volume

WRITTEN_BETWEEN = 16 << 20
"""By how much the free bytes of one volume may differ between readings."""
_MOST_DIRS = 100
"""More that look alike on one broker are not compared pair by pair."""

Pair = tuple[str, str]


class LogDirSpace(NamedTuple):
    """An online log dir. `size`, `free`: of its volume, UNKNOWN from brokers before Kafka 3.3."""

    path: str
    size: int = UNKNOWN
    free: int = UNKNOWN


def known_apart(brokers: Iterable[Sequence[LogDirSpace]]) -> set[Pair]:
    """Ordered pairs of paths that look alike on one broker and are apart on another."""
    runs = [_look_alike(dirs) for dirs in brokers]
    alike = {
        pair
        for found in runs
        for run in found
        if len(run) <= _MOST_DIRS
        for pair in combinations(sorted(one.path for one in run), 2)
    }
    places = [{one.path: place for place, run in enumerate(found) for one in run} for found in runs]
    return {
        (one, other) for one, other in alike if any(one in of and other in of and of[one] != of[other] for of in places)
    }


def by_volume(dirs: Sequence[LogDirSpace], apart: Collection[Pair] = ()) -> list[list[LogDirSpace]]:
    """`apart`: as `known_apart` finds them."""
    found: list[list[LogDirSpace]] = []
    for run in _look_alike(dirs):
        first = len(found)
        for one in run:
            shared = (
                volume
                for volume in found[first:]
                if not any((min(one.path, other.path), max(one.path, other.path)) in apart for other in volume)
            )
            volume = next(shared, None)
            if volume is None:
                found.append([one])
            else:
                volume.append(one)
    return found


def volumes(dirs: Sequence[LogDirSpace], apart: Collection[Pair] = ()) -> tuple[Volume, ...] | None:
    """None if no log dir is known, or one has no size."""
    if not dirs or any(one.size < 0 or one.free < 0 for one in dirs):
        return None
    return tuple(Volume(held[0].size, min(one.free for one in held)) for held in by_volume(dirs, apart))


def _look_alike(dirs: Sequence[LogDirSpace]) -> list[list[LogDirSpace]]:
    found: list[list[LogDirSpace]] = []
    for one in sorted(dirs, key=lambda one: (one.size, one.free, one.path)):
        last = found[-1][-1] if found else None
        if last is not None and last.size == one.size and one.free - last.free <= WRITTEN_BETWEEN and one.size >= 0:
            found[-1].append(one)
        else:
            found.append([one])
    return found
