from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.planner.brokers.broker_choice import WeightedBrokers
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_room import NO_LIMIT, Spare
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerShares, BrokerTargets
from kafka_reassign_rpc.planner.goals_and_options import GoalWeights
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import (
    BucketSums,
    threshold_at_bytes,
    threshold_within,
    thresholds_at_least_cost,
)
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS, IN, OUT
from kafka_reassign_rpc.planner.proposals.imbalance_cost import distance
from kafka_reassign_rpc.planner.proposals.round_parameters import BalanceParameters, SpreadParameters
from kafka_reassign_rpc.planner.proposals.round_sums import TOPIC_EXCESS, TOTAL_COPIED, Thresholds

_MARGIN = 3.0
_LEAST_REPLICAS = 200


class BalancedBrokers(NamedTuple):
    """eligible    they may get replicas
    new         EXPAND: they get replicas, and give only `to_give`; None: all give and get
    to_give     measures by which a broker above its target gives load away
    """

    eligible: Collection[int]
    new: Collection[int] | None
    to_give: Collection[str]


def balance_parameters(
    live: Mapping[int, Load],
    targets: BrokerTargets,
    brokers: BalancedBrokers,
    destinations: WeightedBrokers,
    band: tuple[float, float],
    idle: int,
    *,
    inside_racks: bool = False,
) -> BalanceParameters:
    """`idle`: rounds without progress so far."""
    (low, high), weights = band, targets.weights.by_measure()
    shares = {broker: targets.shares(broker, load) for broker, load in live.items()}
    inverse_targets = {broker: targets.inverse(broker) for broker in live}
    replicas = max(1, sum(load.replicas for load in live.values()))
    totals = [sum(load[place] for load in live.values()) for place in range(len(MEASURES))]
    steepest = max(
        2
        * weight
        * distance(shares[broker][place], low, high)
        * inverse_targets[broker][place]
        * totals[place]
        / replicas
        for broker in live
        for place, weight in enumerate(weights)
    )
    return BalanceParameters(
        sampling_rates=_sampling_rates(shares, live, targets, brokers, band, idle),
        shares=shares,
        inverse_targets=inverse_targets,
        destinations=destinations,
        low=low,
        high=high,
        best_gain_per_byte=steepest / max(1.0, totals[0] / replicas),
        inside_racks=inside_racks,
    )


def balance_thresholds(
    buckets: Mapping[tuple[int, int], BucketSums],
    loads: Mapping[int, Load],
    cost_of: Callable[[int, Load], float],
    room: Callable[[int], Spare],
    new: Collection[int] | None,
) -> Thresholds:
    """With EXPAND only `new` brokers have to give a replica away; None: any."""
    limits, needed = {}, {}
    for (broker, side), sums in buckets.items():
        if (broker, side) == TOTAL_COPIED:
            continue
        sign, free = (-1, NO_LIMIT) if side == OUT else (1, room(broker))
        key, is_old = (broker, side), new is not None and broker not in new
        need, limits[key] = thresholds_at_least_cost(sums, loads[broker], sign, partial(cost_of, broker), free)
        needed[key] = 0 if is_old and side == OUT else need
    return Thresholds(limits, needed=needed)


def _sampling_rates(
    shares: Mapping[int, tuple[float, ...]],
    loads: Mapping[int, Load],
    targets: BrokerTargets,
    brokers: BalancedBrokers,
    band: tuple[float, float],
    idle: int,
) -> dict[int, float]:
    """Somewhat more than have to go."""
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


_ROUNDS = 6
Buckets = Mapping[tuple[int, int], Sequence[tuple[int, Load, int]]]


class SpreadRounds:
    """The rounds of a rebalance that spread topics, or measure them: `before`, `after` count what is more than even."""

    before = after = Load()

    def __init__(self, shares: BrokerShares, weights: GoalWeights, tolerance: float) -> None:
        self._replicas = _most_shares(shares, "replicas", weights.topic_replicas, tolerance)
        self._leaders = _most_shares(shares, "leaders", weights.topic_leaders, tolerance)
        self._round, self.goes_on, self.is_measured, self.has_begun = 0, True, False, False
        self._copies_leaders = False

    def measure(self) -> None:
        self.goes_on, self.is_measured = True, True

    def parameters(self, balances: bool) -> SpreadParameters:
        """`balances`: other goals are done. Before them the first round of all measures."""
        now = self.goes_on and (balances or not self.has_begun)
        proposes = balances and not self.is_measured
        return SpreadParameters(self._replicas, self._leaders, now, proposes, self._copies_leaders)

    def decide(self, buckets: Buckets, room: Callable[[int], Spare], left_to_copy: int) -> Thresholds:
        """`left_to_copy`: bytes, -1: no limit."""
        found = buckets.get(TOPIC_EXCESS, ())
        excess = found[0][1] if found else Load()
        if not self.has_begun:
            self.before = excess
        self.after, self.has_begun = excess, True
        limits = {}
        for (broker, side), sums in buckets.items():
            if broker >= 0:
                limits[broker, side] = threshold_within(sums, (room(broker) if side == IN else NO_LIMIT).load())
        copied = buckets.get(TOTAL_COPIED, ())
        return Thresholds(limits, ALL_BUCKETS if left_to_copy < 0 else threshold_at_bytes(copied, left_to_copy))

    def take(self, accepted: int, *, balances: bool) -> None:
        if not balances:
            return
        self._round += 1
        is_last = not accepted or self._round % _ROUNDS == 0
        copies_next = is_last and bool(self._leaders) and not self._copies_leaders
        self.goes_on = (copies_next or not is_last) and not self.is_measured
        self._copies_leaders = self._copies_leaders or copies_next


def _most_shares(shares: BrokerShares, name: str, weight: float, tolerance: float) -> dict[int, float]:
    by_broker = shares[MEASURES.index(name)]
    whole = sum(by_broker.values())
    return {broker: share / whole * (1 + tolerance) for broker, share in by_broker.items()} if weight else {}
