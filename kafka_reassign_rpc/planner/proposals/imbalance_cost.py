"""What a broker away from its targets costs. Loads are shares of the targets. Inside the band (low … high) a broker
costs nothing; outside, each measure costs its weight times the square of the distance.
"""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.proposals.round_parameters import BalanceParameters


def distance(share: float, low: float, high: float) -> float:
    if share > high:
        return share - high
    return low - share if share < low else 0.0


def broker_cost(shares: Iterable[float], weights: Iterable[float], low: float, high: float) -> float:
    return sum(weight * distance(share, low, high) ** 2 for weight, share in zip(weights, shares, strict=True))


def cost_change(broker: int, sign: int, load: Load, balance: BalanceParameters, weights: tuple[float, ...]) -> float:
    """What changes when a broker loses (-1) or gets (1) a load. A rebalance spends most of its time here, so `distance`
    is written out.
    """
    shares, inverse_targets = balance.shares[broker], balance.inverse_targets[broker]
    low, high, added = balance.low, balance.high, 0.0
    for place, part in enumerate(load):
        weight = weights[place]
        if part and weight:
            now = shares[place]
            then = now + sign * part * inverse_targets[place]
            before = now - high if now > high else low - now if now < low else 0.0
            after = then - high if then > high else low - then if then < low else 0.0
            added += weight * (after * after - before * before)
    return added


def topic_crowding_cost(
    topic_replicas: Mapping[int, int], source: int, destination: int, balance: BalanceParameters, weight: float
) -> float:
    """Of one more replica of a topic (`topic_replicas`, by broker) on the destination, as if it lay one above the
    target. A broker that should hold twice as many may have twice as many of the topic.
    """
    if not weight or source == destination:
        return 0.0
    inverse, at_source = balance.inverse_targets[destination][1], balance.inverse_targets[source][1]
    alike = at_source / inverse if inverse else 1.0
    more = topic_replicas.get(destination, 0) + 1 - topic_replicas.get(source, 0) * alike
    return weight * more * inverse * inverse
