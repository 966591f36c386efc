"""What a caller asks the planner for: a goal, the weights of the soft goals, and options."""

from enum import StrEnum

import msgspec

from kafka_reassign_rpc.planner.network_limits import NetworkLimits


class PlanError(Exception):
    """The planner cannot plan this goal for this cluster; the message says what to change."""


class GoalKind(StrEnum):
    """What a plan is for."""

    HEAL = "heal"
    DRAIN = "drain"
    EXPAND = "expand"
    REBALANCE = "rebalance"
    SET_FACTOR = "set-rf"
    RACKS = "racks"

    @property
    def forces_changes(self) -> bool:
        """Whether the goal says which partitions must change; the others only balance."""
        return self not in (GoalKind.EXPAND, GoalKind.REBALANCE)


class Goal(msgspec.Struct, frozen=True):
    """What the caller wants.

    brokers    HEAL: the lost brokers to heal (empty: every broker that is not live); DRAIN: the brokers to empty;
               EXPAND: the new brokers
    factor     SET_FACTOR: the replication factor
    topics     plan only these topics (empty: all)
    racks      REBALANCE: first mend all rack violations, as RACKS does
    """

    kind: GoalKind
    brokers: tuple[int, ...] = ()
    factor: int = 0
    topics: tuple[str, ...] = ()
    racks: bool = False

    @property
    def mends_racks(self) -> bool:
        """Whether partitions must move that are uneven over racks."""
        return self.racks or self.kind is GoalKind.RACKS


class GoalWeights(msgspec.Struct, frozen=True):
    """How much each soft goal counts; 0 disables it.

    topic    replicas of one topic on one broker; this weight influences destinations and starts no move of its own
    time     that the copying ends soon, where a goal forces changes: a broker that gets twice its part of all that is
             copied (its part by its bandwidth) is as unwelcome as one that holds `time` times its target more. It
             starts no move of its own
    """

    bytes: float = 1.0
    replicas: float = 0.5
    leaders: float = 0.5
    produce: float = 0.25
    fetch: float = 0.25
    topic: float = 0.1
    time: float = 30.0

    def by_measure(self) -> tuple[float, ...]:
        """The weights of `broker_load.MEASURES`, in their order."""
        return self.bytes, self.replicas, self.leaders, self.produce, self.fetch


class PlanOptions(msgspec.Struct, frozen=True):
    """How the planner plans.

    seed         another seed gives another plan of the same quality; the same seed gives the same plan
    tolerance    the planner leaves a broker alone that is within this share of its target (0.1: 90 to 110 %)
    headroom     share of a broker's capacity that the plan never fills
    max_bytes    EXPAND and REBALANCE copy no more than this (-1: no limit)
    network      what each broker can send and receive: slow ones get and send less, so do leaders of busy partitions
    lead_first   another replica in sync leads before the copy where a broker would send too much (no byte is copied)
    rounds       EXPAND and REBALANCE end after this number of rounds at the latest
    """

    seed: int = 0
    tolerance: float = 0.1
    headroom: float = 0.05
    max_bytes: int = -1
    rounds: int = 40
    network: NetworkLimits = NetworkLimits(100_000_000)
    lead_first: bool = True
    weights: GoalWeights = GoalWeights()
