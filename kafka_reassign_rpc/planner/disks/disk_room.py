"""Log dirs of one broker, and the room on its volumes during a plan. Sizes are in bytes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapreplace
from typing import NamedTuple

from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN

CANNOT_EMPTY = "no other log dir of the broker has room"
NOT_ASKED = "its topic is not among those asked for"
"""Such a replica is not left out: the goal does not concern it."""


class DiskDir(NamedTuple):
    """volume      log dirs with the same number share one; None: unknown, it counts as its own
    size, free  of the volume, or UNKNOWN
    cordoned    it gets no new replica (KIP-1066)
    """

    path: str
    online: bool = True
    volume: int | None = None
    size: int = UNKNOWN
    free: int = UNKNOWN
    cordoned: bool = False


class DiskReplica(NamedTuple):
    """`stays`: why it cannot move now, "" if it can."""

    topic: str
    partition: int
    bytes: int
    log_dir: str
    stays: str = ""


class DiskMove(NamedTuple):
    replica: DiskReplica
    target: str
    reason: str


class DiskGoal(NamedTuple):
    """tolerance   how far a volume may be from its target, as a share of it
    headroom    the share of each volume that stays free
    max_bytes   of an even plan, UNKNOWN: no limit
    arriving    what moves from other brokers will bring, to whichever log dir

    Without log dirs to `empty` the plan evens out.
    """

    empty: frozenset[str] = frozenset()
    tolerance: float = 0.1
    headroom: float = 0.05
    max_bytes: int = UNKNOWN
    arriving: int = 0


class DiskLimits(NamedTuple):
    """What holds where a caller says nothing.

    bandwidth   bytes/s that a broker copies between its log dirs
    """

    moves_per_broker: int = 5
    moves_per_batch: int = 1000
    bandwidth: int = 100_000_000


class BrokerDisks(NamedTuple):
    """`copying`: by log dir, bytes that running copies between log dirs have yet to bring."""

    dirs: tuple[DiskDir, ...]
    replicas: tuple[DiskReplica, ...]
    copying: tuple[tuple[str, int], ...] = ()


class DiskPlan(NamedTuple):
    """`left_out`: what the goal would move, with the reason. `furthest_…`: of the furthest volume from its target, as
    a share of it.
    """

    moves: list[DiskMove]
    left_out: list[tuple[DiskReplica, str]]
    furthest_before: float = 0.0
    furthest_after: float = 0.0


@dataclass
class Volume:
    """A volume, or a log dir of unknown volume.

    room     bytes that may still come, None if unknown. What leaves makes none: its log stays until its copy is done
    held     bytes of its replicas
    replicas by log dir, before any comes
    """

    dirs: list[DiskDir]
    room: int | None
    held: int = 0
    target: float = 0.0
    replicas: dict[str, int] = field(default_factory=dict)
    _fewest: list[tuple[int, str]] = field(default_factory=list)
    """A heap, from the first `take` on."""

    @property
    def excess(self) -> float:
        return self.held - self.target

    @property
    def distance(self) -> float:
        """From the target, as a share of it."""
        return abs(self.excess) / self.target if self.target else 0.0

    def has_room(self, size: int) -> bool:
        return self.room is None or self.room >= size

    def take(self, size: int) -> str:
        """Its log dir with the fewest replicas, which is returned, gets one more."""
        if not self._fewest:
            self._fewest = sorted((count, path) for path, count in self.replicas.items())
        count, path = self._fewest[0]
        heapreplace(self._fewest, (count + 1, path))
        self.held += size
        if self.room is not None:
            self.room -= size
        return path

    def give(self, size: int) -> None:
        self.held -= size


def open_volumes(disks: BrokerDisks, goal: DiskGoal) -> list[Volume]:
    """Those that may get replicas; their `replicas` count only log dirs that may."""
    usable = [
        one
        for one in sorted(disks.dirs, key=lambda one: one.path)
        if one.online and not one.cordoned and one.path not in goal.empty
    ]
    copying, on_volume = dict(disks.copying), Counter[int | None]()
    for one in disks.dirs:
        on_volume[one.volume] += copying.get(one.path, 0)
    by_volume: dict[object, list[DiskDir]] = {}
    for one in usable:
        by_volume.setdefault(one.path if one.volume is None else one.volume, []).append(one)
    found = [Volume(dirs, _room(dirs, goal, on_volume[dirs[0].volume])) for dirs in by_volume.values()]
    for volume in found:
        volume.replicas = {one.path: 0 for one in volume.dirs}
    of_dir = {path: volume for volume in found for path in volume.replicas}
    for replica in disks.replicas:
        if (on := of_dir.get(replica.log_dir)) is not None:
            on.replicas[replica.log_dir] += 1
            on.held += replica.bytes
    return found


def weights(volumes: Iterable[Volume]) -> list[int]:
    """Sizes, or equal if one size is unknown."""
    sizes = [one.dirs[0].size for one in volumes]
    return sizes if all(size > 0 for size in sizes) else [1] * len(sizes)


def set_targets(volumes: Iterable[Volume]) -> None:
    found = list(volumes)
    total, of_each = sum(one.held for one in found), weights(found)
    for volume, weight in zip(found, of_each, strict=True):
        volume.target = total * weight / sum(of_each)


def _room(dirs: list[DiskDir], goal: DiskGoal, copying: int) -> int | None:
    if dirs[0].size < 0 or any(one.free < 0 for one in dirs):
        return None
    free = min(one.free for one in dirs)
    return max(0, free - int(dirs[0].size * goal.headroom) - goal.arriving - copying)
