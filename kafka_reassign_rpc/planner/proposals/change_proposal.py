from collections.abc import Iterator
from typing import NamedTuple

from kafka_reassign_rpc.planner.brokers.broker_load import Load, leadership_load, replica_load
from kafka_reassign_rpc.planner.planner_cluster import Place, PlannerPartition

OUT, IN = 0, 1

PartitionName = tuple[str, int]

CLASSES = 4
"""Classes of balance proposals by gain for a byte, each four times as good as the next."""
BUCKETS_PER_CLASS = 64
ALL_BUCKETS = BUCKETS_PER_CLASS * CLASSES

_PRIORITIES = 3
_LARGE_STEPS, _PER_LARGE_STEP = 6, 6
_PER_SMALL_STEP = ALL_BUCKETS // _PRIORITIES - _LARGE_STEPS * _PER_LARGE_STEP

GAIN_UNIT = 1e-15
"""Gains are whole multiples, so that sums are exact."""


def forced_bucket(size: int, priority: int, even: float, chance: int, *, urgent_first: bool) -> int:
    """Large partitions come first, so that small ones fill the gaps.

    even            what is copied to each broker at best: a step for partitions of twice that or more, one for those
                    half as large, and so on; the last step has all that are small
    urgent_first    there is not room for all: priority comes before size
    """
    step = 0
    while step < _LARGE_STEPS and (not even or size << step < 2 * even):
        step += 1
    width = _PER_LARGE_STEP if step < _LARGE_STEPS else _PER_SMALL_STEP
    place = chance % width
    if urgent_first:
        return priority * (ALL_BUCKETS // _PRIORITIES) + step * _PER_LARGE_STEP + place
    return _PRIORITIES * _PER_LARGE_STEP * step + priority * width + place


class LoadChange(NamedTuple):
    broker: int
    side: int
    load: Load


class SearchedReplicas(NamedTuple):
    replicas: tuple[int, ...]
    reason: str
    rule: str


class ChangeProposal(NamedTuple):
    """A round accepts bucket by bucket, the lowest first.

    first_leader         leads before the copy; -1 if the proposal changes replicas
    name                 set if the coordinator gets to see the proposal (`Collects`)
    searched             with a known size, if the coordinator chooses its replicas (`ExchangeSearch`)
    """

    position_in_chunk: Place
    replicas: tuple[int, ...]
    bucket: int
    load_changes: list[LoadChange]
    priority: int
    reason: str
    rule: str
    first_leader: int = -1
    name: PartitionName | None = None
    searched: PlannerPartition | None = None

    @property
    def copies(self) -> bool:
        """Whether a broker gets a replica, or sends in place of another."""
        return any(change.side == IN and change.load.replicas > 0 for change in self.load_changes)

    def found(self, target: SearchedReplicas | None) -> "ChangeProposal | None":
        """None: the partition stays."""
        one = self.searched
        if one is None or target is None:
            return None
        changes = load_changes(one, one.bytes, target.replicas)
        return self._replace(replicas=target.replicas, load_changes=changes, reason=target.reason, rule=target.rule)

    def with_brokers(self, chosen: tuple[int, ...]) -> "ChangeProposal":
        if self.first_leader >= 0:
            changes = [change for change in self.load_changes if change.side == OUT or change.broker == chosen[0]]
            return self._replace(first_leader=chosen[0], load_changes=changes)
        instead = dict(zip(self.replicas, chosen, strict=True))
        changes = [
            change._replace(broker=instead[change.broker]) if change.side == IN else change
            for change in self.load_changes
        ]
        return self._replace(replicas=chosen, load_changes=changes)


def load_changes(
    partition: PlannerPartition, size: int, target: tuple[int, ...], original: tuple[int, ...] = ()
) -> list[LoadChange]:
    """`original`: in place of the replicas that there are."""
    return list(_load_changes(partition, size, original or partition.replicas, target))


def _load_changes(
    partition: PlannerPartition, size: int, old: tuple[int, ...], new: tuple[int, ...]
) -> Iterator[LoadChange]:
    leadership = leadership_load(partition)
    for place, broker in enumerate(old):
        if broker not in new:
            yield LoadChange(broker, OUT, replica_load(partition, size, leads=place == 0))
        elif place == 0 and new[0] != broker:
            yield LoadChange(broker, OUT, leadership)
    for place, broker in enumerate(new):
        if broker not in old:
            yield LoadChange(broker, IN, replica_load(partition, size, leads=place == 0))
        elif place == 0 and old[0] != broker:
            yield LoadChange(broker, IN, leadership)
