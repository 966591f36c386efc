"""The hard rules about single moves. Tests compare this module with all placements that a small cluster allows."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

SET_FACTOR, HEAL, DRAIN, EXPAND, RACKS = "set-rf", "heal", "drain", "expand", "racks"
COMBINE, DEMOTE = "combine", "demote"
_NO_RACK = "no rack"


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


class MovedPartition(NamedTuple):
    """A row of the table of moves, with that of the snapshot.

    original, target, copied, first_leader    in the plan; None: the leader stays
    replicas, leader, isr, size      in the snapshot; None: it has no such partition, or no size
    told_leader, priority            in the plan: the leader before, and when the move starts; None: unsaid
    concerned                        the goal forces a change; None: not known
    """

    topic: str
    partition: int
    original: Sequence[int]
    target: Sequence[int]
    copied: int
    replicas: Sequence[int] | None
    leader: int | None
    isr: Sequence[int] | None
    in_flight: bool | None
    size: int | None
    first_leader: int | None = None
    told_leader: int | None = None
    priority: int | None = None
    concerned: bool | None = None
    reason: str = "unsaid"


class PlanFacts(NamedTuple):
    """What the rules depend on beside the move.

    drained, new     brokers that it empties, and to which it expands
    demoted          brokers that are to lead nothing
    least_bytes      smaller partitions stay as they are
    racks            by broker, if known
    staying          live brokers that the plan does not empty
    cordoned         live brokers that get no new replica
    min_isrs, least_isr    min.insync.replicas of the topics that set it, and of the others
    mends            the goal mends racks, alone or before it balances
    leaders_stay     no replica leads first
    typical          bytes of a partition of unknown size; None: unsaid
    first_places     by batch: the place of its first move in the order of the plan
    disk_sizes       bytes, of brokers that tell it
    holdable         bytes of replicas that disks can hold, if known; None: that cannot be said
    within           the plan has a time limit
    heals, healed    the plan heals lost brokers: these, or all if it names none
    to               the only brokers that get replicas; empty: any
    roomy            brokers that have room for all that the plan copies
    searched         the plan has taken back each copy that it needs for nothing
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
    within: bool = False
    heals: bool = False
    healed: frozenset[int] = frozenset()
    roomy: frozenset[int] = frozenset()
    searched: bool = False
    demoted: frozenset[int] = frozenset()
    least_bytes: int = 0

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
        found = cls(*of_goal, mends=kind == RACKS, cordoned=closed)
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

    def places(self, replicas: Iterable[int]) -> frozenset[int]:
        """A cordoned broker keeps what it has."""
        return self.staying - (self.cordoned - frozenset(replicas))

    @property
    def receivers(self) -> frozenset[int]:
        return (self.staying & self.to if self.to else self.staying) - self.cordoned

    @property
    def opened(self) -> frozenset[int]:
        """A copy that is made anyway may come to any of these, as far as room and goal are concerned."""
        if self.kind == COMBINE and self.new:
            return frozenset()
        found = self.receivers & self.roomy & (self.new or self.staying)
        return frozenset(broker for broker in found if self.racks.get(broker, _NO_RACK) != _NO_RACK)

    def min_isr(self, topic: str) -> int:
        return self.min_isrs.get(topic, self.least_isr)


def known_racks(brokers: Sequence[ListedBroker]) -> dict[int, str]:
    """If no live broker has a rack, all are in the same. Otherwise live brokers without one share one more, and a lost
    one's is unknown.
    """
    if not any(one.live and one.rack for one in brokers):
        return {one.id: _NO_RACK for one in brokers if one.live}
    return {one.id: f"rack {one.rack}" if one.rack else _NO_RACK for one in brokers if one.live or one.rack}


def broken_rules(move: MovedPartition, facts: PlanFacts) -> list[str]:
    """docs/pipeline.md explains them."""
    if move.replicas is None:
        return ["unknown-partition"]
    added = [broker for broker in move.target if broker not in move.original]
    checks = {
        "stale": list(move.replicas) != list(move.original),
        "no-move": list(move.target) == list(move.original),
        "in-flight": bool(move.in_flight),
        "snapshot-leader": move.told_leader is not None
        and move.told_leader != (-1 if move.leader is None else move.leader),
        "unconcerned": not facts.balances and move.concerned is False,
        "heal-first": not _may_be_lost(move, facts),
        "unusable": is_unusable(move.replicas, move.leader, move.isr or ()),
        "topics": bool(facts.topics) and move.topic not in facts.topics,
        "least-bytes": move.size is not None and move.size < facts.least_bytes,
        "distinct-replicas": len(set(move.target)) < len(move.target),
        "replication-factor": len(move.target) != (facts.factor if facts.kind == SET_FACTOR else len(move.original)),
        "live-brokers": not _on_live_brokers(move, added, facts),
        "cordoned": not facts.cordoned.isdisjoint(added),
        "keeps-others": not _keeps_others(move, added, facts),
        "racks": less_even_over_racks(move.original, move.target, facts),
        "emptiest-rack": _shares_a_rack(move, added, facts),
        "source": not any(broker in facts.live for broker in move.isr or ()),
        "bytes": _copies_other_bytes(move, added, facts),
        "priority": move.priority is not None and move.priority != _start_priority(move, facts),
        "min-isr": facts.kind == SET_FACTOR and len(move.target) < min(len(move.original), facts.min_isr(move.topic)),
        "leader": facts.kind == SET_FACTOR and _loses_its_leader(move, facts),
        "first-leader": move.first_leader is not None and not (added and _may_lead_first(move, facts)),
        "leaders-stay": facts.leaders_stay and move.first_leader is not None,
        "mends-racks": facts.kind == RACKS and not mends_racks(move.original, move.target, facts),
        "leaves-brokers": any(facts.empties(broker) for broker in move.target),
        "only-to-named-brokers": bool(facts.to) and not facts.to.issuperset(added),
        "only-to-new-brokers": bool(facts.new) and not _only_to_new(move, added, facts),
        "demotes": bool(facts.demoted) and not _demotes(move, facts),
        "reason": not move.reason or not _is_reason(move, facts),
        "asked-by": facts.kind == COMBINE and not move.reason.startswith(f"{goals_of(move, facts)}: "),
    }
    return [rule for rule, broken in checks.items() if broken]


def goals_of(move: MovedPartition, facts: PlanFacts) -> str:
    """Of a combined plan: what asks for the move, in the order of its reasons."""
    left = [broker for broker in move.original if facts.empties(broker)]
    asking = [HEAL] if any(facts.is_healed(broker) for broker in left) else []
    asking += [DRAIN] if any(broker in facts.drained for broker in left) else []
    copies = sum(broker not in move.original for broker in move.target)
    return ", ".join([*asking, EXPAND] if copies > len(left) or not left else asking)


_NAMED = re.compile(r"\bbrokers? (\d+(?:, \d+)*)( is lost| are lost| lost| is to be drained| are to be drained)?")


def _is_reason(move: MovedPartition, facts: PlanFacts) -> bool:
    """A broker that is said to be lost or drained is that, and loses its replica. Others are live, or hold one."""
    for brokers, what in _NAMED.findall(move.reason):
        for broker in map(int, brokers.split(", ")):
            leaves = broker in move.original and broker not in move.target
            if "lost" in what:
                fits = leaves and facts.is_healed(broker)
            elif what:
                fits = leaves and broker in facts.drained
            else:
                fits = broker in facts.live or broker in move.original
            if not fits:
                return False
    return True


def _may_be_lost(move: MovedPartition, facts: PlanFacts) -> bool:
    """heal and drain replace a lost replica, set-rf takes it away, other goals leave the partition."""
    if facts.kind in (HEAL, DRAIN, SET_FACTOR) or facts.live.issuperset(move.original):
        return True
    return any(facts.empties(broker) for broker in move.original)


def _only_to_new(move: MovedPartition, added: Sequence[int], facts: PlanFacts) -> bool:
    """What replaces no replica of an emptied broker comes to a new one."""
    emptied = sum(facts.empties(broker) for broker in move.original if broker not in move.target)
    return sum(broker not in facts.new for broker in added) <= emptied


def is_unusable(replicas: Sequence[int], leader: int | None, isr: Sequence[int]) -> bool:
    return not replicas or len(set(replicas)) < len(replicas) or not {leader, *isr} - {None, -1} <= set(replicas)


def _on_live_brokers(move: MovedPartition, added: Sequence[int], facts: PlanFacts) -> bool:
    """A replica may stay on a lost broker only if the plan heals others by name."""
    return facts.staying.issuperset(added if facts.healed else move.target)


def _keeps_others(move: MovedPartition, added: Sequence[int], facts: PlanFacts) -> bool:
    """What the goal does not ask to replace keeps its place: the first replica is the preferred leader. A larger
    factor adds behind all replicas.
    """
    before, after = list(move.original), list(move.target)
    if facts.kind == SET_FACTOR:
        if len(after) >= len(before):
            return after[: len(before)] == before
        return after == [broker for broker in before if broker in after]
    if not facts.only_forces or len(before) != len(after):
        return True
    replaced = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    may_go = facts.kind == RACKS or all(facts.empties(old) for old, _ in replaced)
    return may_go and all(new in added and old not in after for old, new in replaced)


def _copies_other_bytes(move: MovedPartition, added: Sequence[int], facts: PlanFacts) -> bool:
    size = facts.typical if move.size is None else move.size
    return size is not None and move.copied != size * len(added)


def _start_priority(move: MovedPartition, facts: PlanFacts) -> int:
    """heal begins with what cannot be written to, then with what the next loss would lose."""
    in_sync = sum(broker in facts.live for broker in move.isr or ())
    if not any(facts.is_healed(broker) for broker in move.original):
        return 2
    return 0 if in_sync < facts.min_isr(move.topic) else 1 if in_sync == 1 else 2


def _loses_its_leader(move: MovedPartition, facts: PlanFacts) -> bool:
    return move.leader in facts.live and move.leader in move.original and move.leader not in move.target


def _may_lead_first(move: MovedPartition, facts: PlanFacts) -> bool:
    first = move.first_leader
    return first != move.leader and first in facts.live and first in (move.isr or ()) and first in move.original


def less_even_over_racks(original: Sequence[int], target: Sequence[int], facts: PlanFacts) -> bool:
    """The rack rule of docs/pipeline.md: no more replicas in the fullest rack than before, or in the two fullest
    together, and so on.
    """
    room = _by_rack(facts.places(original), facts)
    before, after = (_by_rack(replicas, facts) for replicas in (original, target))
    allowed = before & room
    while allowed.total() < before.total() and (free := room - allowed):
        allowed[min(free, key=lambda rack: allowed[rack])] += 1
    for _ in range(allowed.total() - len(target)):
        allowed[max(allowed, key=lambda rack: allowed[rack])] -= 1
    most, held = (_fullest_first(counts, len(target)) for counts in (allowed, after))
    return any(sum(held[:n]) > sum(most[:n]) for n in range(1, len(held) + 1))


def rack_losses(original: Sequence[int], target: Sequence[int], facts: PlanFacts) -> Iterable[str]:
    """As the docstring of `ImpactFigures` defines."""
    of_live = {broker: rack for broker, rack in facts.racks.items() if broker in facts.live}
    before, after = (Counter(of_live[one] for one in side if one in of_live) for side in (original, target))
    if len(after) < min(len(before), len(target)):
        return ["fewer_racks"]
    most, held = (sorted(side.values(), reverse=True) for side in (before, after))
    is_fuller = any(sum(held[:n]) > sum(most[:n]) for n in range(1, len(held) + 1))
    return ["less_even"] if before.total() == after.total() and is_fuller else []


def _by_rack(replicas: Iterable[int], facts: PlanFacts) -> Counter[Any]:
    return Counter(facts.racks[broker] for broker in replicas if broker in facts.racks)


def _fullest_first(counts: Counter[Any], replicas: int) -> list[int]:
    """Replicas of unknown rack count in the fullest."""
    known = sorted(counts.values(), reverse=True) or [0]
    return [known[0] + replicas - sum(known), *known[1:]]


def mends_racks(original: Sequence[int], target: Sequence[int], facts: PlanFacts) -> bool:
    """Replicas are in as many named racks as live brokers have, no more in one than needed, by as few copies as
    possible.
    """
    before, after = (_by_rack(replicas, facts) for replicas in (original, target))
    added = set(target) - set(original)
    possible, most = _widest(target, facts)
    is_even = len(after) >= possible and max(after.values(), default=0) <= most
    possible, most = _widest(original, facts)
    too_many = sum(max(0, count - most) for count in before.values())
    return _NO_RACK not in after and is_even and len(added) == max(too_many, possible - len(before))


def is_led_by(brokers: frozenset[int], replicas: Sequence[int], leader: int | None) -> bool:
    """Now, or after the next preferred election."""
    return not brokers.isdisjoint((*replicas[:1], -1 if leader is None else leader))


def _demotes(move: MovedPartition, facts: PlanFacts) -> bool:
    """One in sync leads, the demoted brokers come last, and all others keep their order."""
    first = move.target[0] if move.target else -1
    others = [broker for broker in move.original if broker not in facts.demoted and broker != first]
    behind = [broker for broker in move.original if broker in facts.demoted]
    leads = first in facts.live and first in (move.isr or ()) and first not in facts.demoted
    return leads and list(move.target) == [first, *others, *behind]


def _shares_a_rack(move: MovedPartition, added: Sequence[int], facts: PlanFacts) -> bool:
    """A copy comes to a rack although another one that is open has fewer replicas of the partition."""
    opened = facts.opened - set(move.target)
    if not opened or not has_racks([*move.original, *move.target], facts):
        return False
    held = _by_rack(move.target, facts)
    fewest = min(held[facts.racks[broker]] for broker in opened)
    return any(held[facts.racks[broker]] - 1 > fewest for broker in added)


def has_racks(replicas: Sequence[int], facts: PlanFacts) -> bool:
    return all(facts.racks.get(broker, _NO_RACK) != _NO_RACK for broker in replicas)


def _widest(replicas: Sequence[int], facts: PlanFacts) -> tuple[int, int]:
    """In how many named racks so many replicas can be, and how many of them one has to have."""
    named = Counter(
        rack for broker in facts.places(replicas) if (rack := facts.racks.get(broker, _NO_RACK)) != _NO_RACK
    )
    return min(len(replicas), len(named)), most_in_a_rack(len(replicas), named.values())


def most_in_a_rack(replicas: int, sizes: Iterable[int]) -> int:
    """The least that some rack must have. `sizes`: the brokers of each. With fewer brokers than replicas, the largest
    is full.
    """
    held = list(sizes)
    most = min(replicas, max(held, default=replicas))
    return next((few for few in range(1, most) if sum(min(size, few) for size in held) >= replicas), most)
