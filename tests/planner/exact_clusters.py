"""Random clusters that are small enough for a solver to find the best plan (`benchmarks exact`)."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition, PlannerTopic

SIZE_UNIT = 1 << 20
"""Sizes are whole multiples of this."""
_DISK = 10**12


def cluster(seed: int) -> PlannerCluster:
    """6 to 12 brokers in 2 to 4 racks with 30 to 200 partitions, as even over racks as can be, uneven over brokers."""
    chance = random.Random(f"exact {seed}")
    racks = chance.randint(2, 4)
    count = racks * chance.choice([each for each in range(2, 7) if 6 <= racks * each <= 12])
    brokers = [PlannerBroker(number, f"r{number % racks}", True) for number in range(count)]
    liked, of_brokers = [chance.uniform(0.5, 2.0) for _ in brokers], [number % racks for number in range(count)]
    factor, has_rates = chance.choice((2, 3, 3)), chance.random() < 0.3
    topics: list[PlannerTopic] = []
    left = chance.randint(30, 200)
    while left > 0:
        size = min(left, chance.choice((1, 3, 6, 12, 24, 48)))
        typical = chance.uniform(20, 400)
        parts = [_partition(chance, index, factor, of_brokers, liked, typical, has_rates) for index in range(size)]
        topics.append(PlannerTopic(f"t{len(topics)}", parts))
        left -= size
    return PlannerCluster(brokers, topics)


class UnlikeCluster(NamedTuple):
    """`shares`: by measure and broker, what it should hold beside the others; `broker_weights`: as of PlanOptions."""

    cluster: PlannerCluster
    broker_weights: dict[int, dict[str, float]]

    def shares(self, measure: str) -> dict[int, float]:
        """docs/pipeline.md, "What a broker should hold"."""
        given = {broker: of[measure] for broker, of in self.broker_weights.items() if measure in of}
        if given:
            return given
        if measure == "bytes" and self.cluster.brokers[0].capacity > 0:
            held = Counter[int]()
            for topic in self.cluster.topics:
                for one in topic.partitions:
                    held.update(dict.fromkeys(one.replicas, one.bytes))
            return {one.id: float(one.free + held[one.id]) for one in self.cluster.brokers}
        return {one.id: float(max(1, one.capacity)) for one in self.cluster.brokers}


def unlike(seed: int, partitions: tuple[int, int] = (40, 200)) -> UnlikeCluster:
    """As `cluster`, with racks of unequal size, most often of several replication factors, disks or weights.
    `partitions`: the fewest and the most.
    """
    chance = random.Random(f"unlike {seed}")
    sizes = chance.choice(((2, 2, 3), (2, 3, 3), (1, 2, 3), (2, 2, 3, 5), (2, 3, 3, 4), (3, 4, 5), (2, 4), (3, 5)))
    racks = [rack for rack, size in enumerate(sizes) for _ in range(size)]
    liked = [chance.uniform(0.5, 2.0) for _ in racks]
    factors = chance.choice(((2,), (3,), (2, 3), (2, 3, 3), (1, 2, 3)))
    has_rates = chance.random() < 0.3
    topics: list[PlannerTopic] = []
    left = chance.randint(*partitions)
    while left > 0:
        size, factor = min(left, chance.choice((1, 3, 6, 12, 24, 48))), chance.choice(factors)
        typical = chance.uniform(20, 400)
        parts = [_partition(chance, index, factor, racks, liked, typical, has_rates) for index in range(size)]
        topics.append(PlannerTopic(f"t{len(topics)}", parts))
        left -= size
    disks = [chance.choice((3, 4, 5)) if chance.random() < 0.7 else 4 for _ in racks]
    weights: dict[int, dict[str, float]] = {}
    kind = chance.choice(("disks", "disks", "weights", "alike"))
    held = Counter[int]()
    for topic in topics:
        for one in topic.partitions:
            held.update(dict.fromkeys(one.replicas, one.bytes))
    brokers, disk = [], _DISK * max(1, partitions[1] // 200)
    for number, rack in enumerate(racks):
        capacity = disks[number] * disk if kind == "disks" else -1
        free = capacity - held[number] if kind == "disks" else -1
        brokers.append(PlannerBroker(number, f"r{rack}", True, capacity, free))
        if kind == "weights":
            weights[number] = dict.fromkeys(("bytes", "replicas"), float(disks[number]))
    return UnlikeCluster(PlannerCluster(brokers, topics), weights)


def _partition(
    chance: random.Random,
    index: int,
    factor: int,
    racks: Sequence[int],
    liked: Sequence[float],
    typical: float,
    has_rates: bool,
) -> PlannerPartition:
    """`racks`: of each broker."""
    replicas: list[int] = []
    sizes = Counter(racks)
    most = next(few for few in range(1, factor + 1) if sum(min(size, few) for size in sizes.values()) >= factor)
    while len(replicas) < factor:
        held = Counter(racks[broker] for broker in replicas)
        fitting = [one for one in range(len(liked)) if one not in replicas and held[racks[one]] < most]
        replicas.append(chance.choices(fitting, [liked[one] for one in fitting])[0])
    size = max(1, int(typical * chance.lognormvariate(0, 0.7))) * SIZE_UNIT
    rates = (chance.randrange(1, 1000), chance.randrange(1, 2000)) if has_rates else (0, 0)
    return PlannerPartition(index, tuple(replicas), replicas[0], tuple(replicas), False, size, *rates)
