"""What every broker should hold, and how little would have to be copied for that."""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.planner.balance_goals import measured
from kafka_reassign_rpc.planner.values import MEASURES, UNKNOWN, Goal, Kind, Load, Options, PlannerBroker, Weights


class Targets(msgspec.Struct, frozen=True):
    """By broker and measure (see MEASURES): its share of what there is, 0.0 where there is nothing.

    Bytes are shared by what brokers can hold where that is known of all, everything else equally.
    """

    targets: dict[int, tuple[float, ...]]
    weights: Weights

    @classmethod
    def of(cls, loads: Mapping[int, Load], brokers: list[PlannerBroker], weights: Weights) -> "Targets":
        totals = [sum(load[turn] for load in loads.values()) for turn in range(len(MEASURES))]
        sizes = {broker.id: _capacity(broker, loads) for broker in brokers}
        if any(size <= 0 for size in sizes.values()):
            sizes = dict.fromkeys(sizes, 1)
        whole = sum(sizes.values())
        targets = {
            broker: (totals[0] * size / whole, *(total / len(sizes) for total in totals[1:]))
            for broker, size in sizes.items()
        }
        return cls(targets, weights)

    def standing(self, broker: int, load: Load) -> tuple[float, ...]:
        """The load as shares of the broker's targets; 1.0 where there is nothing to share."""
        targets = self.targets.get(broker)
        if targets is None:
            return (1.0,) * len(MEASURES)
        return tuple(value / target if target else 1.0 for value, target in zip(load, targets, strict=True))

    def inverse(self, broker: int) -> tuple[float, ...]:
        """1 / target; 0.0 where there is nothing to share."""
        targets = self.targets.get(broker, (0.0,) * len(MEASURES))
        return tuple([1 / target if target else 0.0 for target in targets])

    def prices(self, broker: int) -> tuple[float, ...]:
        """What each unit of a load counts for in `worth`."""
        weights = measured(self.weights)
        total = sum(weights) or 1.0
        return tuple([weight * part / total for weight, part in zip(weights, self.inverse(broker), strict=True)])

    def worth(self, broker: int, load: Load) -> float:
        """A load in one number: the weighted mean of its shares of the broker's targets."""
        return sum([price * value for price, value in zip(self.prices(broker), load, strict=True)])

    def imbalance(self, loads: Mapping[int, Load]) -> dict[str, float]:
        """By measure: how far the worst broker is from its target, as a share of it."""
        worst = dict.fromkeys(MEASURES, 0.0)
        for broker in self.targets:
            for name, share in zip(MEASURES, self.standing(broker, loads[broker]), strict=True):
                worst[name] = max(worst[name], abs(share - 1))
        return worst


def _capacity(broker: PlannerBroker, loads: Mapping[int, Load]) -> int:
    """What it can hold of what is shared out: other data on its disks counts as if the disks were smaller."""
    if broker.free != UNKNOWN:
        return broker.free + loads[broker.id].bytes
    return broker.capacity if broker.capacity != UNKNOWN else 0


def lower_bound(
    goal: Goal,
    before: Mapping[int, Load],
    after: Mapping[int, Load],
    targets: Targets,
    leaving: frozenset[int],
    options: Options,
) -> int:
    """Bytes that any plan must copy which comes as far as this one.

    HEAL, DRAIN       what has left the brokers that were to be left: each of its bytes has to lie elsewhere
    SET_FACTOR        what there is more of in the end
    EXPAND, REBALANCE the larger of: what brokers above the band (or where the plan left them, if that is higher)
                      must give, and what those below it must get; moves for other goals than bytes cost extra
    """
    if goal.kind in (Kind.HEAL, Kind.DRAIN):
        return sum(before[broker].bytes - after[broker].bytes for broker in leaving if broker in before)
    if goal.kind is Kind.SET_FACTOR:
        return max(0, sum(load.bytes for load in after.values()) - sum(load.bytes for load in before.values()))
    given = taken = 0.0
    for broker, (share, *_) in targets.targets.items():
        low, high = share * (1 - options.tolerance), share * (1 + options.tolerance)
        given += max(0.0, before[broker].bytes - max(high, after[broker].bytes))
        taken += max(0.0, min(low, after[broker].bytes) - before[broker].bytes)
    return int(taken if goal.kind is Kind.EXPAND else max(given, taken))
