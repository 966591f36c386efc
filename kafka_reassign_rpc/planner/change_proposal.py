"""A proposal to change one partition's replicas, and the loads that it takes from brokers and brings to them."""

from collections.abc import Iterator
from typing import NamedTuple

from kafka_reassign_rpc.planner.broker_load import Load, replica_load
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition

OUT, IN = 0, 1

CLASSES = 4
"""Forced proposals: one class for each priority. Balance proposals: classes by their gain for a byte."""
BUCKETS_PER_CLASS = 64
ALL_BUCKETS = BUCKETS_PER_CLASS * CLASSES

GAIN_UNIT = 1e-15
"""Gains are whole multiples of this, so that sums are exact."""


class LoadChange(NamedTuple):
    """One broker loses (OUT) or gets (IN) this load."""

    broker: int
    side: int
    load: Load


class ChangeProposal(NamedTuple):
    """The change that one partition proposes for this round. A round accepts proposals bucket by bucket, lowest first.

    position_in_chunk    index of the topic in its chunk, then index of the partition in its topic
    gain                 balance proposals: the cost that the change saves, in GAIN_UNIT
    """

    position_in_chunk: tuple[int, int]
    replicas: tuple[int, ...]
    bucket: int
    load_changes: list[LoadChange]
    priority: int
    reason: str
    rule: str
    gain: int = 0


def load_changes(partition: PlannerPartition, size: int, target: tuple[int, ...]) -> list[LoadChange]:
    """The load changes when the partition goes from its replicas to `target`."""
    return list(_load_changes(partition, size, partition.replicas, target))


def _load_changes(
    partition: PlannerPartition, size: int, old: tuple[int, ...], new: tuple[int, ...]
) -> Iterator[LoadChange]:
    leadership = Load(leaders=1, fetch=partition.fetch)
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
