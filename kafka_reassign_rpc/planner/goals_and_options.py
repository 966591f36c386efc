"""What a caller asks the planner for."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from kafka_reassign_rpc.planner.network_limits import NetworkLimits

BrokerLimits = Mapping[str, Mapping[int, int]]
"""By measure and broker."""


class PlanError(Exception):
    """The goal cannot be planned for this cluster; the message says what to change."""


class GoalKind(StrEnum):
    HEAL = "heal"
    DRAIN = "drain"
    EXPAND = "expand"
    REBALANCE = "rebalance"
    SET_FACTOR = "set-rf"
    RACKS = "racks"
    COMBINE = "combine"
    DEMOTE = "demote"


class Goal(msgspec.Struct, frozen=True):
    """If several kinds share an effect, other modules ask for the effect, not for the kind.

    brokers    HEAL: the lost brokers (empty: all that are not live); DRAIN: those to empty; EXPAND: the new ones;
               DEMOTE: those that are to lead nothing
    parts      COMBINE: the brokers of each kind that it combines
    topics     plan only these (empty: all)
    racks      REBALANCE: first mend all rack violations, as RACKS does
    least_bytes    EXPAND, REBALANCE: smaller partitions stay as they are
    to         HEAL, DRAIN, SET_FACTOR: the only brokers that get new replicas (empty: any may)
    """

    kind: GoalKind
    brokers: tuple[int, ...] = ()
    factor: int = 0
    topics: tuple[str, ...] = ()
    racks: bool = False
    to: tuple[int, ...] = ()
    parts: Mapping[GoalKind, tuple[int, ...]] = {}
    least_bytes: int = 0

    def brokers_of(self, kind: GoalKind) -> tuple[int, ...] | None:
        """The brokers named for HEAL (empty: all lost ones), DRAIN or EXPAND; None if the goal does not do that."""
        if self.kind is GoalKind.COMBINE:
            return self.parts.get(kind)
        return self.brokers if self.kind is kind else None

    @property
    def drained(self) -> tuple[int, ...]:
        return self.brokers_of(GoalKind.DRAIN) or ()

    @property
    def demoted(self) -> frozenset[int]:
        return frozenset(self.brokers_of(GoalKind.DEMOTE) or ())

    @property
    def joining(self) -> tuple[int, ...]:
        """Only these get replicas for balance, and they keep theirs."""
        return self.brokers_of(GoalKind.EXPAND) or ()

    @property
    def heals_some(self) -> bool:
        """Replicas may stay on other lost brokers."""
        return bool(self.brokers_of(GoalKind.HEAL))

    @property
    def empties(self) -> bool:
        return bool(self.drained) or self.brokers_of(GoalKind.HEAL) is not None

    def leaving(self, held: Iterable[int], live: frozenset[int]) -> frozenset[int]:
        """The brokers whose replicas must leave; `held`: those that have some."""
        lost = self.brokers_of(GoalKind.HEAL)
        if lost is not None and not lost:
            lost = tuple(broker for broker in held if broker not in live)
        return frozenset((*self.drained, *(lost or ())))

    @property
    def balances(self) -> bool:
        """Rounds even out brokers: alone, or after those that force changes."""
        return bool(self.joining) or self.kind in (GoalKind.EXPAND, GoalKind.REBALANCE)

    @property
    def forces_changes(self) -> bool:
        return self.racks or self.kind not in (GoalKind.EXPAND, GoalKind.REBALANCE)

    @property
    def mends_racks(self) -> bool:
        return self.racks or self.kind is GoalKind.RACKS


class GoalWeights(msgspec.Struct, frozen=True):
    """docs/pipeline.md, "What counts"; 0 disables a goal. `topic` and `time` start no move of their own.

    time     of a goal that forces changes: a broker that gets twice its part (by bandwidth) of all copied bytes is as
             unwelcome as one that holds `time` times its target more
    """

    bytes: float = 1.0
    replicas: float = 0.5
    leaders: float = 0.5
    produce: float = 0.25
    fetch: float = 0.25
    bytes_in: float = 0.25
    potential_out: float = 0.0
    messages_in: float = 0.0
    topic: float = 0.1
    time: float = 30.0
    topic_replicas: float = 0.0
    topic_leaders: float = 0.0
    cpu: float = 0.0

    @property
    def spread_topics(self) -> bool:
        return self.topic_replicas > 0 or self.topic_leaders > 0

    def by_measure(self) -> tuple[float, ...]:
        """In the order of MEASURES."""
        of_leaders_and_rates = (self.leaders, self.produce, self.fetch, self.bytes_in, self.potential_out)
        return self.bytes, self.replicas, *of_leaders_and_rates, self.messages_in, self.cpu


class Effort(StrEnum):
    """How long a rebalance of few partitions searches for what its rounds do not find.

    NONE     not at all: the rounds alone
    QUICK    a small part of FULL, in one pass
    FULL     until more would find little, some seconds
    """

    NONE = "none"
    QUICK = "quick"
    FULL = "full"


class PlanOptions(msgspec.Struct, frozen=True):
    """tolerance    a broker within this share of its target stays as it is (0.1: 90 to 110 %)
    headroom     share of a broker's capacity that is never filled
    max_bytes    EXPAND and REBALANCE copy no more than this (-1: no limit)
    locality     copies stay in the rack of the replica that they replace, as far as the rules and the tolerance allow
    broker_max   by measure and broker: what a plan brings to it ends where it would hold more
    network      slow brokers get and send less, and so do leaders of busy partitions
    lead_first   another in-sync replica leads before the copy if a broker would send too much
    rounds       the most of EXPAND and REBALANCE
    effort       of the search of REBALANCE; the rules hold with any

    Another `seed` gives a plan of about the same quality.
    """

    seed: int = 0
    tolerance: float = 0.1
    headroom: float = 0.05
    max_bytes: int = -1
    rounds: int = 40
    network: NetworkLimits = NetworkLimits()
    lead_first: bool = True
    weights: GoalWeights = GoalWeights()
    broker_weights: Mapping[int, Mapping[str, float]] = {}
    broker_max: BrokerLimits = {}
    locality: bool = False
    effort: Effort = Effort.FULL


class BatchLimits(msgspec.Struct, frozen=True):
    """Of one batch, -1 for none. A move larger than a limit on bytes gets its own batch.

    moves_per_broker, bytes_per_broker    as a receiver and as a sender
    moves_per_batch                       also counts moves that copy nothing
    """

    moves_per_broker: int = 10
    bytes_per_broker: int = -1
    bytes_per_batch: int = -1
    moves_per_batch: int = 1000
