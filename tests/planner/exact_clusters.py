"""Random clusters that are small enough for a solver to find the best plan (`benchmarks exact`)."""

import math
import random
from collections import Counter
from collections.abc import Sequence

from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerPartition, PlannerTopic

SIZE_UNIT = 1 << 20
"""Sizes are whole multiples of this."""


def cluster(seed: int) -> PlannerCluster:
    """6 to 12 brokers in 2 to 4 racks with 30 to 200 partitions, as even over racks as can be, uneven over brokers."""
    chance = random.Random(f"exact {seed}")
    racks = chance.randint(2, 4)
    count = racks * chance.choice([each for each in range(2, 7) if 6 <= racks * each <= 12])
    brokers = [PlannerBroker(number, f"r{number % racks}", True) for number in range(count)]
    liked = [chance.uniform(0.5, 2.0) for _ in brokers]
    factor, has_rates = chance.choice((2, 3, 3)), chance.random() < 0.3
    topics: list[PlannerTopic] = []
    left = chance.randint(30, 200)
    while left > 0:
        size = min(left, chance.choice((1, 3, 6, 12, 24, 48)))
        typical = chance.uniform(20, 400)
        parts = [_partition(chance, index, factor, racks, liked, typical, has_rates) for index in range(size)]
        topics.append(PlannerTopic(f"t{len(topics)}", parts))
        left -= size
    return PlannerCluster(brokers, topics)


def _partition(
    chance: random.Random,
    index: int,
    factor: int,
    racks: int,
    liked: Sequence[float],
    typical: float,
    has_rates: bool,
) -> PlannerPartition:
    replicas: list[int] = []
    most = math.ceil(factor / racks)
    while len(replicas) < factor:
        held = Counter(broker % racks for broker in replicas)
        fitting = [one for one in range(len(liked)) if one not in replicas and held[one % racks] < most]
        replicas.append(chance.choices(fitting, [liked[one] for one in fitting])[0])
    size = max(1, int(typical * chance.lognormvariate(0, 0.7))) * SIZE_UNIT
    rates = (chance.randrange(1, 1000), chance.randrange(1, 2000)) if has_rates else (0, 0)
    return PlannerPartition(index, tuple(replicas), replicas[0], tuple(replicas), False, size, *rates)
