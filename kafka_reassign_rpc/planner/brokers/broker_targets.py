"""What every broker should hold: its share of the cluster's load, by measure."""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.goals_and_options import GoalWeights
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN


class BrokerTargets(msgspec.Struct, frozen=True):
    """By broker and measure (see MEASURES): its share of the cluster's load; 0.0 where there is no load to share.

    Bytes are shared in proportion to what brokers can hold if that is known of all; every other measure equally. What
    they can hold does not depend on the plan.
    """

    targets: dict[int, tuple[float, ...]]
    weights: GoalWeights

    @classmethod
    def of(cls, loads: Mapping[int, Load], holdable: Mapping[int, int], weights: GoalWeights) -> "BrokerTargets":
        """holdable: the bytes that each broker can hold which may hold replicas; UNKNOWN: not known."""
        totals = [sum(load[place] for load in loads.values()) for place in range(len(MEASURES))]
        sizes = dict(holdable)
        if UNKNOWN in sizes.values() or not any(sizes.values()):
            sizes = dict.fromkeys(sizes, 1)
        whole = sum(sizes.values())
        targets = {
            broker: (totals[0] * size / whole, *(total / len(sizes) for total in totals[1:]))
            for broker, size in sizes.items()
        }
        return cls(targets, weights)

    def shares(self, broker: int, load: Load) -> tuple[float, ...]:
        """The load as shares of the broker's targets; 1.0 where there is no load to share."""
        targets = self.targets.get(broker)
        if targets is None:
            return (1.0,) * len(MEASURES)
        return tuple(value / target if target else 1.0 for value, target in zip(load, targets, strict=True))

    def inverse(self, broker: int) -> tuple[float, ...]:
        """1 / target; 0.0 where there is no load to share."""
        targets = self.targets.get(broker, (0.0,) * len(MEASURES))
        return tuple([1 / target if target else 0.0 for target in targets])

    def fullness_factors(self, broker: int) -> tuple[float, ...]:
        """By measure: what one unit of load adds to the broker's fullness."""
        weights = self.weights.by_measure()
        total = sum(weights) or 1.0
        return tuple([weight * part / total for weight, part in zip(weights, self.inverse(broker), strict=True)])

    def fullness(self, broker: int, load: Load) -> float:
        """A load as one number: the weighted mean of its shares of the broker's targets."""
        return sum([factor * value for factor, value in zip(self.fullness_factors(broker), load, strict=True)])

    def imbalance(self, loads: Mapping[int, Load]) -> dict[str, float]:
        """By measure: how far the worst broker is from its target, as a share of the target."""
        worst = dict.fromkeys(MEASURES, 0.0)
        for broker in self.targets:
            for name, share in zip(MEASURES, self.shares(broker, loads[broker]), strict=True):
                worst[name] = max(worst[name], abs(share - 1))
        return worst
