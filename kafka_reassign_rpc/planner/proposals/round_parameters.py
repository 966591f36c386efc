"""What chunks know before a round: small, and the same for all."""

import msgspec

from kafka_reassign_rpc.planner.brokers.broker_choice import BrokerChoice, WeightedBrokers
from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.deterministic_random import random_bits
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalWeights
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import PartitionName
from kafka_reassign_rpc.planner.proposals.piecewise import Collects


class BalanceParameters(msgspec.Struct, frozen=True):
    """sampling_rates      the chance with which this round considers one of the broker's replicas
    shares              load / target
    inverse_targets     1 / target
    destinations        brokers that want replicas, by weight
    low, high           the band in which a broker costs nothing
    best_gain_per_byte  of the best moves: the yardstick for the classes of proposals
    inside_racks        copies stay in their racks
    """

    sampling_rates: dict[int, float]
    shares: dict[int, tuple[float, ...]]
    inverse_targets: dict[int, tuple[float, ...]]
    destinations: WeightedBrokers
    low: float
    high: float
    best_gain_per_byte: float
    inside_racks: bool


class SpreadParameters(msgspec.Struct, frozen=True):
    """replicas, leaders    by broker: which part of a topic's it has at most, rounded up; empty if they do not matter
    now                  this round spreads topics, or measures; other rounds may not undo that
    proposes             it changes something
    copies_leaders       a leader goes where no replica is, since none of those that exist can lead
    """

    replicas: dict[int, float]
    leaders: dict[int, float]
    now: bool
    proposes: bool
    copies_leaders: bool


class RoundParameters(msgspec.Struct, frozen=True):
    """sources          live brokers: replicas can be copied from them
    typical_size     replaces unknown sizes
    even_bytes       what forced changes copy to each broker at best, 0.0 if not yet known
    leading_seconds  how long the copies take, in rounds that choose first leaders; else None
    withdrawn        changes that are taken back, in a round after all others
    searched         one in so many partitions shows itself to the search; 0: no search
    balance          None if the goal forces changes
    spare            by broker and side: what it can lose or get in the round that takes back copies; else None
    shares_before    load / target before the plan, of brokers that have targets; 1.0 of measures that do not count
    """

    goal: Goal
    seed: int
    round_number: int
    leaving: frozenset[int]
    live: frozenset[int]
    sources: frozenset[int]
    choice: BrokerChoice
    typical_size: int
    weights: GoalWeights
    even_bytes: float = 0.0
    collects: Collects | None = None
    balance: BalanceParameters | None = None
    spare: dict[tuple[int, int], Load] | None = None
    spread: SpreadParameters | None = None
    leading_seconds: float | None = None
    searched: int = 0
    withdrawn: frozenset[PartitionName] = frozenset()
    shares_before: dict[int, tuple[float, ...]] = {}

    def size(self, partition: PlannerPartition) -> int:
        return self.typical_size if partition.bytes == UNKNOWN else partition.bytes

    def collected_name(self, topic: str, index: int, size: int, key: int) -> PartitionName | None:
        """None: the coordinator does not see the proposal."""
        collects = self.collects
        if collects is None or size < collects.at_least:
            return None
        if random_bits(key, self.seed + 600) % collects.one_in != collects.part:
            return None
        return topic, index

    def random_bits(self, key: int) -> int:
        """They differ from round to round."""
        return random_bits(key, self.round_number * 104729 + self.seed + 1)
