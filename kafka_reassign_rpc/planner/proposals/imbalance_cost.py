"""What a broker away from its targets costs. Loads are shares of the targets. Inside the band (low … high) a broker
costs nothing; outside, each measure costs its weight times the square of the distance.
"""

from collections.abc import Callable, Mapping, Sequence

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import OUT, load_changes

BALANCE = "balance"
"""The rule of a move that no broker needs by itself."""


def distance(share: float, low: float, high: float) -> float:
    if share > high:
        return share - high
    return low - share if share < low else 0.0


def broker_costs(
    targets: BrokerTargets, weights: Sequence[float], low: float, high: float
) -> Callable[[int, Load], float]:
    """What a broker costs that holds a load. A round asks for each bucket of each broker: what does not depend on
    these is looked at once.
    """
    counted = [(place, weight) for place, weight in enumerate(weights) if weight]
    nothing = (0.0,) * len(weights)

    def cost(broker: int, load: Load) -> float:
        of_broker = targets.targets.get(broker, nothing)
        shares = [(weight, load[place] / of_broker[place] if of_broker[place] else 1.0) for place, weight in counted]
        return sum([weight * distance(share, low, high) ** 2 for weight, share in shares])

    return cost


def balance_reason(partition: PlannerPartition, size: int, shares: Mapping[int, Sequence[float]]) -> tuple[str, str]:
    """Why a partition moves that nothing forces, and the measure: of the brokers that lose what they had too much of
    before the plan, or get what they lacked, the one that was furthest from its target. Where there is none, other
    moves lead the broker nearer.

    shares    load / target before the plan, of brokers that have targets; 1.0 of measures that do not count
    """
    found = [
        (share > 1 if change.side == OUT else share < 1, abs(share - 1), -place, -change.broker, share)
        for change in load_changes(partition, size, partition.replicas, partition.original)
        for place, (share, part) in enumerate(zip(shares.get(change.broker, ()), change.load, strict=False))
        if part and share != 1
    ]
    if not found:
        return "other moves need it, to even out brokers", BALANCE
    helps, _, place, broker, share = max(found)
    name = MEASURES[-place]
    return f"broker {-broker} has {share:.0%} of its share of {name}{'' if helps else ' (with other moves)'}", name
