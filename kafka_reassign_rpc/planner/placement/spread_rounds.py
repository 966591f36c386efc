from collections.abc import Callable, Mapping, Sequence

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_room import NO_LIMIT, Spare
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerShares
from kafka_reassign_rpc.planner.goals_and_options import GoalWeights
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import threshold_at_bytes, threshold_within
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS, IN
from kafka_reassign_rpc.planner.proposals.round_parameters import SpreadParameters
from kafka_reassign_rpc.planner.proposals.round_sums import TOTAL_COPIED, Thresholds
from kafka_reassign_rpc.planner.proposals.topic_spread import TOPIC_EXCESS

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
