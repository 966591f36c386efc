"""The volumes of a broker during a plan."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapreplace

from kafka_reassign_rpc.planner.disks.disk_values import BrokerDisks, DiskDir, DiskGoal


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
