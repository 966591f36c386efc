"""Generates snapshots of clusters with topics of Zipf sizes, a long tail of partition sizes, and brokers unevenly
full.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta

RACKS = 5
FACTOR = 3
_CAPACITY = 40 * 10**12


def write(
    path: Path,
    partitions: int,
    brokers: int,
    *,
    lost: int = 0,
    fresh: int = 0,
    seed: int = 1,
    at: int = 1_700_000_000_000,
) -> Path:
    """Write a snapshot row by row. The first `lost` brokers are dead, the last `fresh` ones hold nothing."""
    chance = random.Random(seed)
    dead = set(range(lost))
    with SnapshotWriter(path) as writer:
        for broker in range(brokers):
            live = broker not in dead
            row = (broker, f"rack-{broker % RACKS}", f"broker-{broker}" if live else None, 9092 if live else None)
            writer.brokers.add((*row, _CAPACITY, None, live))
        for topic, index in names(partitions):
            replicas = _replicas(chance, brokers - fresh)
            isr = [broker for broker in replicas if broker not in dead]
            size = int(2e7 * chance.paretovariate(1.3)) % 10**12
            rates = (chance.expovariate(1e-4), chance.expovariate(1e-4))
            writer.partitions.add((topic, index, replicas, isr[0] if isr else None, isr, [], [], size, *rates))
        writer.finish(SnapshotMeta(cluster_id=f"generated-{partitions}-{brokers}-{seed}", at=at))
    return path


def names(partitions: int) -> Iterator[tuple[str, int]]:
    """(topic, partition): the first topic has a tenth of all partitions, the n-th an n-th of that."""
    left, rank = partitions, 1
    while left > 0:
        size = min(left, max(1, partitions // (10 * rank)))
        for index in range(size):
            yield f"topic-{rank:06d}", index
        left, rank = left - size, rank + 1


def _replicas(chance: random.Random, brokers: int) -> list[int]:
    """Replicas in different racks; brokers with high numbers are older and fuller."""
    found: list[int] = []
    while len(found) < FACTOR:
        broker = int(brokers * chance.random() ** 0.9)
        if all(broker % RACKS != other % RACKS for other in found):
            found.append(broker)
    return found
