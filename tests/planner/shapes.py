"""Clusters as operators have them: racks of 40, 30, 20 and 10 % of the brokers, two capacities, factors 1 to 4."""

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import (
    UNKNOWN,
    PlannerBroker,
    PlannerCluster,
    PlannerPartition,
    PlannerTopic,
)
from tests.planner.clusters import MIB, topic

SHAPES = ("plain", "giant", "unknown", "moving", "one rack", "few big")
PLAIN_FIRST = tuple(pytest.param(shape, marks=() if shape == "plain" else pytest.mark.long) for shape in SHAPES)
"""For tests whose plans take long: `make check` tries one shape."""
_RACKS = {"r0": 0.4, "r1": 0.3, "r2": 0.2, "r3": 0.1}


def shaped(
    shape: str, brokers: int, partitions: int, *, seed: int = 1, lost: int = 0, fresh: int = 0
) -> PlannerCluster:
    """Brokers 0, 1, …, unevenly full; sizes are log-normal. The first `lost` are dead, the last `fresh` hold nothing.

    plain       as the module says
    giant       one partition is as large as twenty others of its broker
    unknown     a fifth of the sizes is unknown
    moving      a twentieth of the partitions moves already
    one rack    all brokers are in one rack
    few big     one of six brokers has ten times the capacity of the others
    """
    chance = random.Random(f"{shape} {seed}")
    racks = [name for name, share in _RACKS.items() for _ in range(max(1, round(share * brokers)))][:brokers]
    chance.shuffle(racks)
    if shape == "one rack":
        racks = ["r0"] * brokers
    large = [chance.choice((1, 2)) for _ in range(brokers)]
    if shape == "few big":
        large = [10 if broker % 6 == 3 else 1 for broker in range(brokers)]
    weights = [part * chance.uniform(0.6, 1.4) for part in large[: brokers - fresh]]
    held: Counter[int] = Counter()
    topics: list[PlannerTopic] = []
    left = partitions
    while left > 0:
        count = min(left, max(1, int(chance.lognormvariate(3, 1))))
        factor = min(chance.choice((1, 2, 3, 3, 3, 4)), len(weights))
        parts = []
        for index in range(count):
            replicas = _replicas(chance, weights, racks, factor)
            size = int(MIB * chance.lognormvariate(0, 1.5))
            if shape == "giant" and not topics and not index:
                size = MIB * 60 * partitions // brokers
            if shape == "unknown" and not chance.randrange(5):
                size = UNKNOWN
            isr = tuple(broker for broker in replicas if broker >= lost)
            moving = shape == "moving" and not chance.randrange(20)
            rates = chance.randrange(1000), chance.randrange(1000)
            parts.append(PlannerPartition(index, replicas, isr[0] if isr else -1, isr, moving, size, *rates))
            for broker in replicas:
                held[broker] += max(size, 0)
        topics.append(topic(f"t{len(topics)}", *parts))
        left -= count
    unit = 2.2 * sum(held.values()) / sum(large)
    listed = [
        PlannerBroker(n, racks[n], n >= lost, int(unit * large[n]), max(0, int(unit * large[n]) - held[n]))
        for n in range(brokers)
    ]
    return PlannerCluster(listed, topics)


def _replicas(chance: random.Random, weights: list[float], racks: list[str], factor: int) -> tuple[int, ...]:
    """Mostly in distinct racks: one partition in seven is placed without a look at racks."""
    minds, found = chance.random() < 0.85, list[int]()
    while len(found) < factor:
        broker = chance.choices(range(len(weights)), weights)[0]
        held = {racks[one] for one in found}
        if broker not in found and not (minds and racks[broker] in held and len(held) < len(set(racks))):
            found.append(broker)
    return tuple(found)


def roomy(cluster: PlannerCluster) -> PlannerCluster:
    """The same cluster with room for anything on each broker."""
    return PlannerCluster([PlannerBroker(one.id, one.rack, one.live) for one in cluster.brokers], cluster.topics)


def without_gain(cluster: PlannerCluster, moves: Iterable[PlannedMove], places: Iterable[int]) -> list[str]:
    """Moves that copy a replica into a rack that another replica has, while a rack without one has a place."""
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    offered = {racks[broker] for broker in places}
    found = []
    for move in moves:
        for copy in set(move.target) - set(move.original):
            others = {racks[broker] for broker in move.target if broker != copy}
            if racks[copy] in others and offered - others:
                found.append(f"{move.topic}-{move.partition}: {move.original} to {move.target}")
    return found
