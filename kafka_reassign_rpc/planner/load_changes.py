"""What a change of one partition's replicas takes from brokers and brings to them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_reassign_rpc.planner.values import Load, PlannerPartition

OUT, IN = 0, 1


class Touch(NamedTuple):
    """One broker loses (OUT) or gets (IN) this load."""

    broker: int
    side: int
    load: Load


class ChangeProposal(NamedTuple):
    """One partition's wish for this round. Proposals are accepted by their buckets: lower ones first."""

    position: tuple[int, int]
    """Where the partition stands in its chunk: the topic's place, then its own."""
    replicas: tuple[int, ...]
    bucket: int
    touches: list[Touch]
    priority: int
    reason: str
    rule: str
    gain: int = 0
    """What it saves in cost, where soft goals propose: in GAIN_UNIT, so that sums are exact."""


GAIN_UNIT = 1e-15


def replica_load(partition: PlannerPartition, size: int, *, leads: bool) -> Load:
    """What one of its replicas brings to a broker; `size`: its bytes, estimated if need be."""
    return Load(size, 1, int(leads), partition.produce, partition.fetch if leads else 0)


def touches(partition: PlannerPartition, size: int, target: tuple[int, ...]) -> list[Touch]:
    """From its replicas to `target`."""
    return list(_touches(partition, size, partition.replicas, target))


def _touches(partition: PlannerPartition, size: int, old: tuple[int, ...], new: tuple[int, ...]) -> Iterator[Touch]:
    leads = Load(leaders=1, fetch=partition.fetch)
    for place, broker in enumerate(old):
        if broker not in new:
            yield Touch(broker, OUT, replica_load(partition, size, leads=place == 0))
        elif place == 0 and new[0] != broker:
            yield Touch(broker, OUT, leads)
    for place, broker in enumerate(new):
        if broker not in old:
            yield Touch(broker, IN, replica_load(partition, size, leads=place == 0))
        elif place == 0 and old[0] != broker:
            yield Touch(broker, IN, leads)


class Loads:
    """Sums of loads by broker; adding up is exact, in any order."""

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
        """Add what a partition brings to each of its brokers. Spelled out: it runs for every replica of a cluster."""
        sums, produce, leads = self._sums, partition.produce, 1
        for broker in partition.replicas:
            found = sums.get(broker)
            if found is None:
                found = sums[broker] = [0, 0, 0, 0, 0]
            found[0] += size
            found[1] += 1
            found[3] += produce
            if leads:
                found[2] += 1
                found[4] += partition.fetch
                leads = 0

    def merge(self, other: "Loads") -> "Loads":
        for broker, load in other._sums.items():
            self.add(broker, load)
        return self

    def items(self) -> Iterator[tuple[int, Load]]:
        for broker, load in self._sums.items():
            yield broker, Load(*load)
