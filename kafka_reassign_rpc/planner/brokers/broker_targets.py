"""What every broker should hold: how much beside the others, and of a cluster's load."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.goals_and_options import GoalWeights
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker

BrokerShares = Sequence[Mapping[int, int | float]]
"""Weights by measure and broker that may hold replicas; one of each measure is above 0."""

ALIKE = 1e-9
"""Distances that differ by less are the same, but for rounding."""


def is_within(distance: float, tolerance: float) -> bool:
    """Also at its edge: 44 of 40 are 10 %, whatever floating point makes of it."""
    return distance <= tolerance + ALIKE


class BrokerTargets(msgspec.Struct, frozen=True):
    """What every broker should hold: its share of the cluster's load; 0.0 if there is none. A plan reports distances
    from these; where racks keep brokers further away than the tolerance, it aims at `reachable_targets`.
    """

    targets: dict[int, tuple[float, ...]]
    weights: GoalWeights

    @classmethod
    def of(cls, loads: Mapping[int, Load], shares: BrokerShares, weights: GoalWeights) -> "BrokerTargets":
        targets = []
        for place, by_broker in enumerate(shares):
            total, whole = sum(load[place] for load in loads.values()), sum(by_broker.values())
            targets.append([total * share / whole for share in by_broker.values()])
        return cls(dict(zip(shares[0], zip(*targets, strict=True), strict=True)), weights)

    def shares(self, broker: int, load: Load) -> tuple[float, ...]:
        targets = self.targets.get(broker)
        if targets is None:
            return (1.0,) * len(MEASURES)
        return tuple(value / target if target else 1.0 for value, target in zip(load, targets, strict=True))

    def counted_shares(self, loads: Mapping[int, Load]) -> dict[int, tuple[float, ...]]:
        """1.0 of measures that do not count."""
        weights = self.weights.by_measure()
        return {
            broker: tuple(
                share if weight else 1.0
                for share, weight in zip(self.shares(broker, loads[broker]), weights, strict=True)
            )
            for broker in self.targets
        }

    def inverse(self, broker: int) -> tuple[float, ...]:
        targets = self.targets.get(broker, (0.0,) * len(MEASURES))
        return tuple([1 / target if target else 0.0 for target in targets])

    def fullness_factors(self, broker: int) -> tuple[float, ...]:
        """What one unit of each measure adds to the fullness."""
        weights = self.weights.by_measure()
        total = sum(weights) or 1.0
        return tuple([weight * part / total for weight, part in zip(weights, self.inverse(broker), strict=True)])

    def fullness(self, broker: int, load: Load) -> float:
        return sum([factor * value for factor, value in zip(self.fullness_factors(broker), load, strict=True)])

    def furthest(self, loads: Mapping[int, Load]) -> dict[str, tuple[float, int]]:
        """By measure: how far the worst broker is from its target, as a share of the target, and which one; without
        measures by which all are at theirs.
        """
        worst: dict[str, tuple[float, int]] = {}
        for broker in sorted(self.targets):
            for name, share in zip(MEASURES, self.shares(broker, loads[broker]), strict=True):
                if abs(share - 1) > worst.get(name, (0.0,))[0] + ALIKE:
                    worst[name] = abs(share - 1), broker
        return worst

    def imbalance(self, loads: Mapping[int, Load]) -> dict[str, float]:
        return dict.fromkeys(MEASURES, 0.0) | {name: far for name, (far, _) in self.furthest(loads).items()}


def broker_shares(
    brokers: Collection[PlannerBroker], holdable: Mapping[int, int], given: Mapping[int, Mapping[str, float]]
) -> BrokerShares:
    """`brokers`: those that may hold replicas.

    holdable    bytes that each can hold, or UNKNOWN
    given       weights by broker and measure; a measure that one of the brokers lacks follows the disks: bytes what
                they can hold, all others their size, equally if that is not known of all
    """
    ids = sorted(one.id for one in brokers)
    equal, sizes = dict.fromkeys(ids, 1), {one.id: max(one.capacity, 0) for one in brokers}
    by_size = equal if without_size(brokers) else {broker: sizes[broker] for broker in ids}
    room = {broker: holdable[broker] for broker in ids}
    by_room = room if any(room.values()) and UNKNOWN not in room.values() else equal
    found = []
    for name in MEASURES:
        named = {broker: given[broker][name] for broker in ids if name in given.get(broker, {})}
        found.append(named if len(named) == len(ids) else by_room if name == "bytes" else by_size)
    return found


def without_size(brokers: Collection[PlannerBroker]) -> list[int]:
    return sorted(one.id for one in brokers if one.capacity <= 0)
