"""Which log dirs of a broker share a volume: brokers tell the size and the free bytes of the volume of each log dir.

Two log dirs on one volume tell the same numbers, but for what is written between the two looks. So log dirs that tell
the same are taken for one volume. Empty disks of one kind tell the same as well: what other brokers tell of log dirs of
the same paths, where they have data, shows that these are on volumes of their own.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, Volume

WRITTEN_BETWEEN = 16 << 20
"""Bytes by which the free bytes of one volume may differ between two looks."""
_MOST_DIRS = 100
"""Of more log dirs that look alike on one broker, nobody compares each with each."""

Pair = tuple[str, str]


class LogDirSpace(NamedTuple):
    """A log dir that is online. size, free: bytes of its volume, UNKNOWN where a broker before Kafka 3.3 answers."""

    path: str
    size: int = UNKNOWN
    free: int = UNKNOWN


def known_apart(brokers: Iterable[Sequence[LogDirSpace]]) -> set[Pair]:
    """The pairs of paths, in order, that look alike on one broker and are on two volumes of another."""
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
    """The log dirs of one broker, volume by volume. apart: pairs of paths that do not share one, see `known_apart`."""
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
    """The volumes of one broker, each once. None: no log dir is known, or one does not tell its size."""
    if not dirs or any(one.size < 0 or one.free < 0 for one in dirs):
        return None
    return tuple(Volume(held[0].size, min(one.free for one in held)) for held in by_volume(dirs, apart))


def _look_alike(dirs: Sequence[LogDirSpace]) -> list[list[LogDirSpace]]:
    """Log dirs that tell the same, up to what is written between two looks."""
    found: list[list[LogDirSpace]] = []
    for one in sorted(dirs, key=lambda one: (one.size, one.free, one.path)):
        last = found[-1][-1] if found else None
        if last is not None and last.size == one.size and one.free - last.free <= WRITTEN_BETWEEN and one.size >= 0:
            found[-1].append(one)
        else:
            found.append([one])
    return found
