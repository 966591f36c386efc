from collections.abc import Iterable, Iterator
from operator import add, sub
from typing import Any, NamedTuple

from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition


class Load(NamedTuple):
    """docs/pipeline.md, "What counts", has the measures. Whole numbers, so that sums do not depend on their order;
    rates are per second, cpu in microseconds. Only preferred leaders have LEADER_MEASURES.
    """

    bytes: int = 0
    replicas: int = 0
    leaders: int = 0
    produce: int = 0
    fetch: int = 0
    bytes_in: int = 0
    potential_out: int = 0
    messages_in: int = 0
    cpu: int = 0

    def plus(self, other: "Load") -> "Load":
        return Load._make(map(add, self, other))

    def minus(self, other: "Load") -> "Load":
        return Load._make(map(sub, self, other))


def total(loads: Iterable[Load]) -> Load:
    return Load._make(map(sum, zip(*loads, strict=True))) if (loads := list(loads)) else Load()


MEASURES = Load._fields
LEADER_MEASURES = ("leaders", "fetch", "bytes_in", "messages_in", "cpu")


def replica_load(partition: Any, size: Any, *, leads: bool) -> Load:
    """`partition`: a PlannerPartition, or rows with its rates as columns; then a measure is a column, or one number
    for all rows. `size` is in bytes, estimated if unknown.
    """
    produce, fetch = partition.produce, partition.fetch
    if leads:
        return Load(size, 1, 1, produce, fetch, produce, fetch, partition.messages, partition.cpu)
    return Load(size, 1, 0, produce, potential_out=fetch)


def leadership_load(partition: Any) -> Load:
    """What a broker with a replica gets when it begins to lead. `partition`: as of `replica_load`."""
    rates = partition.messages, partition.cpu
    return Load(0, 0, 1, 0, partition.fetch, partition.produce, 0, *rates)


class LoadSums:
    def __init__(self) -> None:
        self._sums: dict[int, list[int]] = {}

    def add(self, broker: int, load: Iterable[int], sign: int = 1) -> None:
        found = self._sums.get(broker)
        if found is None:
            self._sums[broker] = [sign * value for value in load]
            return
        for place, value in enumerate(load):
            found[place] += sign * value

    def add_replicas(self, partition: PlannerPartition, size: int) -> None:
        """Written out for speed."""
        sums, produce, fetch, leads = self._sums, partition.produce, partition.fetch, 1
        for broker in partition.replicas:
            found = sums.get(broker)
            if found is None:
                found = sums[broker] = [0] * len(MEASURES)
            found[0] += size
            found[1] += 1
            found[3] += produce
            found[6] += fetch
            if leads:
                found[2] += 1
                found[4] += fetch
                found[5] += produce
                found[7] += partition.messages
                found[8] += partition.cpu
                leads = 0

    def merge(self, other: "LoadSums") -> "LoadSums":
        for broker, load in other._sums.items():
            self.add(broker, load)
        return self

    def items(self) -> Iterator[tuple[int, Load]]:
        for broker, load in self._sums.items():
            yield broker, Load(*load)
