"""Which share of each broker's replicas a balancing round considers: somewhat more than have to go."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets

_MARGIN = 3.0
_LEAST_REPLICAS = 200


class BalancedBrokers(NamedTuple):
    """Who gives and gets load.

    eligible    they may get replicas
    new         EXPAND: the brokers that get replicas, and give only `to_give`; None: all give and get
    to_give     measures by which a broker above its target gives load away
    """

    eligible: Collection[int]
    new: Collection[int] | None
    to_give: Collection[str]


def sampling_rates(
    shares: Mapping[int, tuple[float, ...]],
    loads: Mapping[int, Load],
    targets: BrokerTargets,
    brokers: BalancedBrokers,
    band: tuple[float, float],
    idle: int,
) -> dict[int, float]:
    """By broker. `shares`: load over target, of live brokers; `idle`: rounds without progress so far."""
    (low, high), weights, pulled = band, targets.weights.by_measure(), 0.0
    for place, weight in enumerate(weights):
        if weight:
            missing = sum(
                max(0.0, low - shares[broker][place]) * targets.targets[broker][place] for broker in brokers.eligible
            )
            total = sum(loads[broker][place] for broker in shares)
            pulled = max(pulled, missing / total if total else 0.0)
    margin = _MARGIN * 2**idle
    rates = {}
    for broker, of_broker in shares.items():
        is_new = brokers.new is not None and broker in brokers.new
        pushed = 0.0
        if is_new or brokers.new is None:
            pushed = max(
                max(0.0, share - high) / share if weight and share and name in brokers.to_give else 0.0
                for name, weight, share in zip(MEASURES, weights, of_broker, strict=True)
            )
        wanted = pushed if is_new else max(pulled, pushed)
        held = loads[broker].replicas
        if wanted > 0 and held:
            rates[broker] = min(1.0, max(margin * wanted, _LEAST_REPLICAS / held))
    return rates
