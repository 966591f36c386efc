"""What a broker away from its targets costs. Loads are shares of the targets. Inside the band (low … high) a broker
costs nothing; outside, each measure costs its weight times the square of the distance.
"""

from collections.abc import Callable, Sequence

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.proposals.round_parameters import BalanceParameters, RoundParameters


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


def reason_and_rule(
    source: int, destination: int, balance: BalanceParameters, params: RoundParameters
) -> tuple[str, str]:
    """The measure of which one of both brokers is furthest outside the band."""
    parts = []
    for place, (name, weight) in enumerate(zip(MEASURES, params.weights.by_measure(), strict=True)):
        for broker in (source, destination):
            share = balance.shares[broker][place]
            parts.append((weight * distance(share, balance.low, balance.high), -place, name, broker, share))
    _, _, name, broker, share = max(parts)
    return f"broker {broker} has {share:.0%} of its share of {name}", name
