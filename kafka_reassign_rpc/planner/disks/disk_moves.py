"""The plan of one broker: which of its replicas go to another of its log dirs. Pure.

The same disks and goal give the same plan. A replica moves once at the most.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator

from kafka_reassign_rpc.planner.disks.disk_room import Volume, open_volumes, set_targets, weights
from kafka_reassign_rpc.planner.disks.disk_values import (
    CANNOT_EMPTY,
    NOT_ASKED,
    BrokerDisks,
    DiskGoal,
    DiskMove,
    DiskPlan,
    DiskReplica,
)
from kafka_reassign_rpc.planner.goals_and_options import PlanError


def plan_disks(broker: int, disks: BrokerDisks, goal: DiskGoal) -> DiskPlan:
    """Raises PlanError where the goal names a log dir that the broker does not have, or leaves it none."""
    volumes = open_volumes(disks, goal)
    if not goal.empty:
        return _even(disks, goal, volumes)
    known = {one.path: one.online for one in disks.dirs}
    for path in sorted(goal.empty):
        if path not in known:
            raise PlanError(f"broker {broker} has no log dir {path}; it has {', '.join(sorted(known)) or 'none'}")
        if not known[path]:
            raise PlanError(f"{path} of broker {broker} is offline: `plan heal` or self-healing moves what it holds")
    if not volumes:
        raise PlanError(f"broker {broker} has no other log dir that may get replicas")
    return _empty(disks, goal, volumes)


# -- empty -------------------------------------------------------------------------------------------------------------


def _empty(disks: BrokerDisks, goal: DiskGoal, volumes: list[Volume]) -> DiskPlan:
    leaving = [one for one in disks.replicas if one.log_dir in goal.empty and one.stays != NOT_ASKED]
    weight = weights(volumes)
    made = DiskPlan([], [])
    for replica in sorted(leaving, key=lambda one: (-one.bytes, one.topic, one.partition)):
        fitting = [place for place, one in enumerate(volumes) if one.has_room(replica.bytes)]
        if replica.stays or not fitting:
            made.left_out.append((replica, replica.stays or CANNOT_EMPTY))
            continue
        place = min(fitting, key=lambda at: ((volumes[at].held + replica.bytes) / weight[at], at))
        target = volumes[place].take(replica.bytes)
        made.moves.append(DiskMove(replica, target, f"{replica.log_dir} is to be emptied"))
    return made


# -- even out ----------------------------------------------------------------------------------------------------------


class _Movable:
    """The replicas of a volume that may move, by size."""

    def __init__(self) -> None:
        self._by_size: list[tuple[int, str, int, DiskReplica]] = []

    def add(self, replica: DiskReplica) -> None:
        insort(self._by_size, (replica.bytes, replica.topic, replica.partition, replica))

    def take(self, wanted: float, most: float) -> DiskReplica | None:
        """The largest of at most `wanted` bytes, else the smallest if it has less than `most`."""
        place = bisect_right(self._by_size, wanted, key=lambda one: one[0]) - 1
        if place < 0 and self._by_size and self._by_size[0][0] < most:
            place = 0
        return self._by_size.pop(place)[3] if place >= 0 else None


def _even(disks: BrokerDisks, goal: DiskGoal, volumes: list[Volume]) -> DiskPlan:
    set_targets(volumes)
    before = _furthest(volumes)
    movable = [_Movable() for _ in volumes]
    of_dir = {path: place for place, volume in enumerate(volumes) for path in volume.replicas}
    for replica in disks.replicas:
        if replica.log_dir in of_dir and not replica.stays and replica.bytes > 0:
            movable[of_dir[replica.log_dir]].add(replica)
    moves = list(_even_moves(volumes, movable, goal))
    return DiskPlan(moves, [], before, _furthest(volumes))


def _even_moves(volumes: list[Volume], movable: list[_Movable], goal: DiskGoal) -> Iterator[DiskMove]:
    budget = float("inf") if goal.max_bytes < 0 else goal.max_bytes
    while (worst := _furthest(volumes)) > goal.tolerance:
        found = _best_move(volumes, movable, budget, worst)
        if found is None:
            return
        replica, source, target = found
        budget -= replica.bytes
        volumes[source].give(replica.bytes)
        path = volumes[target].take(replica.bytes)
        yield DiskMove(replica, path, f"{replica.log_dir} holds more than its share of bytes")


def _best_move(
    volumes: list[Volume], movable: list[_Movable], budget: float, worst: float
) -> tuple[DiskReplica, int, int] | None:
    """From the fullest volume to the emptiest that it helps. No volume gets further than `worst` from its target."""
    order = sorted(range(len(volumes)), key=lambda place: (-volumes[place].excess, place))
    for source in order:
        for target in reversed(order):
            excess, lack = volumes[source].excess, -volumes[target].excess
            if source == target or excess <= 0 or lack <= 0:
                continue
            room = volumes[target].room
            limit = min(budget, float("inf") if room is None else room)
            beyond = [side + worst * volumes[place].target for side, place in ((excess, source), (lack, target))]
            replica = movable[source].take(min(excess, lack, limit), min(excess + lack, *beyond, limit + 1))
            if replica is not None:
                return replica, source, target
    return None


def _furthest(volumes: list[Volume]) -> float:
    return max((one.distance for one in volumes), default=0.0)
