"""The plan of one broker: each replica moves at most once. The same disks and goal give the same plan."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from kafka_reassign_rpc.planner.brokers.broker_targets import is_within
from kafka_reassign_rpc.planner.disks.disk_room import (
    CANNOT_EMPTY,
    NOT_ASKED,
    BrokerDisks,
    DiskGoal,
    DiskMove,
    DiskPlan,
    DiskReplica,
    Volume,
    open_volumes,
    set_targets,
    weights,
)
from kafka_reassign_rpc.planner.goals_and_options import PlanError


def plan_disks(broker: int, disks: BrokerDisks, goal: DiskGoal) -> DiskPlan:
    """Raises PlanError if the goal names a log dir that the broker does not have, or leaves it none."""
    volumes = open_volumes(disks, goal)
    if not goal.empty:
        return _even(disks, goal, volumes)
    known = {one.path: one.online for one in disks.dirs}
    for path in sorted(goal.empty):
        if path not in known:
            raise PlanError(f"broker {broker} has no log dir {path}; it has {', '.join(sorted(known)) or 'none'}")
        if not known[path]:
            raise PlanError(
                f"{path} of broker {broker} is offline: self-healing moves what it holds, or `plan drain` all that the"
                " broker has"
            )
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
    """Replicas by size."""

    def __init__(self, replicas: list[DiskReplica]) -> None:
        self._by_size = sorted((one.bytes, one.topic, one.partition, one) for one in replicas)

    @property
    def smallest(self) -> int | None:
        return self._by_size[0][0] if self._by_size else None

    def take(self, wanted: float, most: float) -> DiskReplica | None:
        """The largest of at most `wanted` bytes, else the smallest if it has less than `most`."""
        place = bisect_right(self._by_size, wanted, key=lambda one: one[0]) - 1
        if place < 0 and self._by_size and self._by_size[0][0] < most:
            place = 0
        return self._by_size.pop(place)[3] if place >= 0 else None


class _Standings:
    """Volumes by excess. A move changes two places, so that thousands are not sorted again."""

    def __init__(self, volumes: list[Volume]) -> None:
        self.volumes = volumes
        self.by_excess = sorted((-one.excess, place) for place, one in enumerate(volumes))
        self.receivers = [key for key in self.by_excess if self._may_receive(key[1])]
        self._distances = sorted(one.distance for one in volumes)

    @property
    def furthest(self) -> float:
        return self._distances[-1] if self._distances else 0.0

    def move(self, replica: DiskReplica, source: int, target: int) -> str:
        for place in (source, target):
            self._drop(place)
        self.volumes[source].give(replica.bytes)
        path = self.volumes[target].take(replica.bytes)
        for place in (source, target):
            self._put(place)
        return path

    def _may_receive(self, place: int) -> bool:
        """Room never grows."""
        room = self.volumes[place].room
        return room is None or room > 0

    def _drop(self, place: int) -> None:
        key = -self.volumes[place].excess, place
        for keys in (self.by_excess, self.receivers) if self._may_receive(place) else (self.by_excess,):
            del keys[bisect_left(keys, key)]
        del self._distances[bisect_left(self._distances, self.volumes[place].distance)]

    def _put(self, place: int) -> None:
        key = -self.volumes[place].excess, place
        for keys in (self.by_excess, self.receivers) if self._may_receive(place) else (self.by_excess,):
            insort(keys, key)
        insort(self._distances, self.volumes[place].distance)


def _even(disks: BrokerDisks, goal: DiskGoal, volumes: list[Volume]) -> DiskPlan:
    set_targets(volumes)
    standings = _Standings(volumes)
    before = standings.furthest
    on_volume: list[list[DiskReplica]] = [[] for _ in volumes]
    of_dir = {path: place for place, volume in enumerate(volumes) for path in volume.replicas}
    for replica in disks.replicas:
        if replica.log_dir in of_dir and not replica.stays and replica.bytes > 0:
            on_volume[of_dir[replica.log_dir]].append(replica)
    moves = list(_even_moves(standings, [_Movable(replicas) for replicas in on_volume], goal))
    return DiskPlan(moves, [], before, standings.furthest)


def _even_moves(standings: _Standings, movable: list[_Movable], goal: DiskGoal) -> Iterator[DiskMove]:
    budget = float("inf") if goal.max_bytes < 0 else goal.max_bytes
    while not is_within(standings.furthest, goal.tolerance):
        found = _best_move(standings, movable, budget)
        if found is None:
            return
        replica, source, target = found
        budget -= replica.bytes
        path = standings.move(replica, source, target)
        yield DiskMove(replica, path, f"{replica.log_dir} holds more than its share of bytes")


def _best_move(standings: _Standings, movable: list[_Movable], budget: float) -> tuple[DiskReplica, int, int] | None:
    """From the fullest volume to the emptiest that it helps. None gets further from its target than the furthest is."""
    volumes, worst = standings.volumes, standings.furthest
    most_lack = standings.receivers[-1][0] if standings.receivers else 0.0
    for fullness, source in standings.by_excess:
        excess, smallest = -fullness, movable[source].smallest
        if excess <= 0:
            return None
        beyond = excess + worst * volumes[source].target
        if smallest is None or smallest > max(min(excess, most_lack), min(excess + most_lack, beyond)):
            continue
        for lack, target in reversed(standings.receivers):
            if lack <= 0:
                break
            room = volumes[target].room
            limit = min(budget, float("inf") if room is None else room)
            most = min(excess + lack, beyond, lack + worst * volumes[target].target, limit + 1)
            replica = movable[source].take(min(excess, lack, limit), most)
            if replica is not None:
                return replica, source, target
    return None
