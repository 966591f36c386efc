"""What the rules depend on beside the rows of a plan, and how a broken one is told."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

SET_FACTOR, HEAL, DRAIN, EXPAND, RACKS = "set-rf", "heal", "drain", "expand", "racks"
COMBINE, DEMOTE = "combine", "demote"
NO_RACK = "no rack"


Fault = tuple[str, str, str]
"""A rule, what breaks it, and how."""
NAMED_ROWS = 20
"""Of each broken rule; the others are counted."""


class RuleViolation(NamedTuple):
    """`name`: of a partition, a broker or a batch. `rows`: for how many it stands."""

    rule: str
    name: str
    detail: str
    rows: int = 1

    def __str__(self) -> str:
        return f"{self.rule}: {self.name}: {self.detail}"

    @classmethod
    def unnamed(cls, rule: str, rows: int) -> "RuleViolation":
        return cls(rule, f"{rows} more", "not named here", rows)


def first_of_each(found: Iterable[RuleViolation]) -> list[RuleViolation]:
    named: dict[str, list[RuleViolation]] = {}
    more = Counter[str]()
    for one in found:
        of_rule = named.setdefault(one.rule, [])
        if len(of_rule) < NAMED_ROWS:
            of_rule.append(one)
        else:
            more[one.rule] += one.rows
    return [
        one
        for rule, of_rule in named.items()
        for one in (*of_rule, *([RuleViolation.unnamed(rule, more[rule])] if more[rule] else []))
    ]


class ListedBroker(NamedTuple):
    id: int
    rack: str | None
    live: bool
    cordoned: bool = False
    capacity: int | None = None
    free: int | None = None


class PlanFacts(NamedTuple):
    """What the rules depend on beside the move.

    drained, new     brokers that it empties, and to which it expands
    demoted          brokers that are to lead nothing
    least_bytes      smaller partitions stay as they are
    racks            by broker, if known
    listed           all brokers of the snapshot
    staying          live brokers that the plan does not empty
    cordoned         live brokers that get no new replica
    min_isrs, least_isr    min.insync.replicas of the topics that set it, and of the others
    mends            the goal mends racks, alone or before it balances
    leaders_stay     no replica leads first
    typical          bytes of a partition of unknown size; None: unsaid
    first_places     by batch: the place of its first move in the order of the plan
    disk_sizes       bytes, of brokers that tell it
    holdable         bytes of replicas that disks can hold, if known; None: that cannot be said
    within           seconds that the plan may take; None: any
    heals, healed    the plan heals lost brokers: these, or all if it names none
    to               the only brokers that get replicas; empty: any
    roomy            brokers that have room for all that the plan copies
    searched         the plan has taken back each copy that it needs for nothing
    loads            of a searched plan, by measure that counts and by broker: what it holds afterwards, its target,
                     and what racks let the plan aim at
    tolerance        how far from its target a broker may be
    topic_ids        of topics, as far as the snapshot knows them
    locality         copies stay in their racks, where these are among the emptiest
    shares_before    by measure that counts and by broker: its load before the plan over its target, where it has one
    topic_shares     of a plan that spreads topics, by measure and broker: its share of each
    """

    kind: str
    drained: frozenset[int]
    new: frozenset[int]
    factor: int
    topics: frozenset[str]
    racks: Mapping[int, Any]
    live: frozenset[int]
    staying: frozenset[int]
    min_isrs: Mapping[str, int] = {}
    least_isr: int = 1
    mends: bool = False
    leaders_stay: bool = False
    typical: int | None = None
    first_places: Mapping[int, int] = {}
    cordoned: frozenset[int] = frozenset()
    disk_sizes: Mapping[int, int] = {}
    to: frozenset[int] = frozenset()
    holdable: Mapping[int, int] | None = None
    within: int | None = None
    heals: bool = False
    healed: frozenset[int] = frozenset()
    roomy: frozenset[int] = frozenset()
    searched: bool = False
    demoted: frozenset[int] = frozenset()
    least_bytes: int = 0
    loads: Mapping[str, Mapping[int, tuple[float, float, float]]] = {}
    tolerance: float = 0.0
    topic_ids: Mapping[str, str] = {}
    topic_shares: Mapping[str, Mapping[int, float]] = {}
    locality: bool = False
    shares_before: Mapping[str, Mapping[int, float]] = {}
    listed: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        kind: str,
        brokers: Iterable[ListedBroker],
        named: Iterable[int],
        factor: int | None,
        topics: Iterable[str],
        parts: Mapping[str, Iterable[int]] = {},
    ) -> "PlanFacts":
        listed, goals = list(brokers), {goal: frozenset(of) for goal, of in (parts or {kind: named}).items()}
        live = frozenset(one.id for one in listed if one.live)
        drained, new = goals.get(DRAIN, frozenset()), goals.get(EXPAND, frozenset())
        of_goal = (kind, drained, new, factor or 0, frozenset(topics), known_racks(listed), live, live - drained)
        closed = frozenset(one.id for one in listed if one.live and one.cordoned)
        found = cls(*of_goal, mends=kind == RACKS, cordoned=closed, listed=frozenset(one.id for one in listed))
        demoted = goals.get(DEMOTE, frozenset())
        return found._replace(heals=HEAL in goals, healed=goals.get(HEAL, frozenset()), demoted=demoted)

    @property
    def balances(self) -> bool:
        """Any partition may move, and those that cannot are named."""
        return self.kind == "rebalance" or bool(self.new)

    @property
    def only_forces(self) -> bool:
        """Only replicas of some brokers or racks are to move."""
        return self.kind in (HEAL, DRAIN, RACKS, COMBINE) and not self.new

    def is_healed(self, broker: int) -> bool:
        return self.heals and (broker in self.healed if self.healed else broker not in self.live)

    def empties(self, broker: int) -> bool:
        return broker in self.drained or self.is_healed(broker)

    @property
    def receivers(self) -> frozenset[int]:
        return (self.staying & self.to if self.to else self.staying) - self.cordoned

    @property
    def opened(self) -> frozenset[int]:
        """A copy that is made anyway may come to any of these, as far as room and goal are concerned."""
        if self.kind == COMBINE and self.new:
            return frozenset()
        found = self.receivers & self.roomy & (self.new or self.staying)
        return frozenset(broker for broker in found if self.racks.get(broker, NO_RACK) != NO_RACK)

    def min_isr(self, topic: str) -> int:
        return self.min_isrs.get(topic, self.least_isr)


def known_racks(brokers: Sequence[ListedBroker]) -> dict[int, str]:
    """If no live broker has a rack, all are in the same. Otherwise live brokers without one share one more, and a lost
    one's is unknown.
    """
    if not any(one.live and one.rack for one in brokers):
        return {one.id: NO_RACK for one in brokers if one.live}
    return {one.id: f"rack {one.rack}" if one.rack else NO_RACK for one in brokers if one.live or one.rack}
