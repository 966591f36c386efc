"""The hard rules of a plan that concern one move by itself, written from their text in docs/pipeline.md.

This module shares nothing with the planner, so that an error of the planner does not check itself. Its own tests
compare it with all placements that a small cluster allows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

SET_FACTOR, HEAL, DRAIN, EXPAND, RACKS = "set-rf", "heal", "drain", "expand", "racks"
_NO_RACK = "no rack"


class RuleViolation(NamedTuple):
    """A rule, and the row that breaks it. `name`: of a partition, a broker or a batch."""

    rule: str
    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.name}: {self.detail}"


class ListedBroker(NamedTuple):
    """A broker of the snapshot."""

    id: int
    rack: str | None
    live: bool


class MovedPartition(NamedTuple):
    """A row of the table of moves, and the row of the same partition in the snapshot.

    original, target, copied         what the plan says: replicas before and after, bytes copied
    first_leader                     what the plan says: the replica that leads before the copy; None: the leader stays
    replicas, leader, isr, size      what the snapshot says; None: it has no such partition, or no size of it
    in_flight                        a reassignment of the partition is in flight
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


class PlanFacts(NamedTuple):
    """What the rules depend on beside the move.

    named     the brokers that the goal names: to heal, to drain, to expand to
    racks     the rack of each broker of which it is known
    staying   live brokers that the plan does not empty
    """

    kind: str
    named: frozenset[int]
    factor: int
    topics: frozenset[str]
    racks: Mapping[int, Any]
    live: frozenset[int]
    staying: frozenset[int]

    @classmethod
    def of(
        cls, kind: str, brokers: Iterable[ListedBroker], named: Iterable[int], factor: int | None, topics: Iterable[str]
    ) -> "PlanFacts":
        listed, chosen = list(brokers), frozenset(named)
        live = frozenset(one.id for one in listed if one.live)
        staying = live - chosen if kind == DRAIN else live
        return cls(kind, chosen, factor or 0, frozenset(topics), known_racks(listed), live, staying)


def known_racks(brokers: Sequence[ListedBroker]) -> dict[int, str]:
    """The rack of each broker, as far as it is known.

    Racks count where a live broker has one. The live brokers without are in one more then. Of a lost broker without
    one, the rack is not known. Where racks do not count, all live brokers are in the same.
    """
    if not any(one.live and one.rack for one in brokers):
        return {one.id: _NO_RACK for one in brokers if one.live}
    return {one.id: f"rack {one.rack}" if one.rack else _NO_RACK for one in brokers if one.live or one.rack}


def broken_rules(move: MovedPartition, facts: PlanFacts) -> list[str]:
    """The names of the rules that the move breaks."""
    if move.replicas is None:
        return ["unknown-partition"]
    added = [broker for broker in move.target if broker not in move.original]
    checks = {
        "stale": list(move.replicas) != list(move.original),
        "no-move": list(move.target) == list(move.original),
        "in-flight": bool(move.in_flight),
        "topics": bool(facts.topics) and move.topic not in facts.topics,
        "distinct-replicas": len(set(move.target)) < len(move.target),
        "replication-factor": len(move.target) != (facts.factor if facts.kind == SET_FACTOR else len(move.original)),
        "live-brokers": not _on_live_brokers(move, added, facts),
        "racks": _less_even_over_racks(move, facts),
        "source": not any(broker in facts.live for broker in move.isr or ()),
        "bytes": move.size is not None and move.copied != move.size * len(added),
        "leader": facts.kind == SET_FACTOR and _loses_its_leader(move, facts),
        "first-leader": move.first_leader is not None and not (added and _may_lead_first(move, facts)),
        "mends-racks": facts.kind == RACKS and not _mends_racks(move, added, facts),
        "leaves-brokers": facts.kind in (DRAIN, HEAL) and not facts.named.isdisjoint(move.target),
        "only-to-new-brokers": facts.kind == EXPAND and not facts.named.issuperset(added),
    }
    return [rule for rule, broken in checks.items() if broken]


def _on_live_brokers(move: MovedPartition, added: Sequence[int], facts: PlanFacts) -> bool:
    """A replica may stay on a lost broker only where the plan heals other brokers, by name."""
    heals_others = facts.kind == HEAL and facts.named
    return facts.staying.issuperset(added if heals_others else move.target)


def _loses_its_leader(move: MovedPartition, facts: PlanFacts) -> bool:
    return move.leader in facts.live and move.leader in move.original and move.leader not in move.target


def _may_lead_first(move: MovedPartition, facts: PlanFacts) -> bool:
    """Another replica than the leader, in sync and on a live broker: it leads without a byte copied."""
    first = move.first_leader
    return first != move.leader and first in facts.live and first in (move.isr or ()) and first in move.original


def _less_even_over_racks(move: MovedPartition, facts: PlanFacts) -> bool:
    """More replicas in the fullest rack than before, or in the two fullest together, and so on.

    Replicas that cannot stay in their rack, because too few of its brokers stay, go to the racks with the fewest. A
    smaller factor takes from the racks with the most. What a larger one adds goes where there is room.
    """
    room = Counter(facts.racks[broker] for broker in facts.staying if broker in facts.racks)
    before, after = (_by_rack(replicas, facts) for replicas in (move.original, move.target))
    unknown = len(move.original) - before.total()
    allowed = before & room
    fewer = min(len(move.original), len(move.target))
    while allowed.total() + unknown < fewer and (free := room - allowed):
        allowed[min(free, key=lambda rack: allowed[rack])] += 1
    while allowed.total() + unknown > fewer and +allowed:
        allowed[max(allowed, key=lambda rack: allowed[rack])] -= 1
    most, held = (_fullest_first(counts, len(move.target)) for counts in (allowed, after))
    return any(sum(held[:n]) > sum(most[:n]) for n in range(1, len(held) + 1))


def _by_rack(replicas: Iterable[int], facts: PlanFacts) -> Counter[Any]:
    return Counter(facts.racks[broker] for broker in replicas if broker in facts.racks)


def _fullest_first(counts: Counter[Any], replicas: int) -> list[int]:
    """Replicas whose rack is not known count with the fullest."""
    known = sorted(counts.values(), reverse=True) or [0]
    return [known[0] + replicas - sum(known), *known[1:]]


def _mends_racks(move: MovedPartition, added: Sequence[int], facts: PlanFacts) -> bool:
    """In as many racks with names as live brokers have, no more in one than needed, by as few copies as that takes."""
    before, after = (_by_rack(replicas, facts) for replicas in (move.original, move.target))
    named = Counter(facts.racks[broker] for broker in facts.live if facts.racks[broker] != _NO_RACK)
    possible, most = min(len(move.target), len(named)), most_in_a_rack(len(move.target), named.values())
    is_even = len(after) >= possible and max(after.values(), default=0) <= most
    too_many = sum(max(0, count - most) for count in before.values())
    return _NO_RACK not in after and is_even and len(added) == max(too_many, possible - len(before))


def most_in_a_rack(replicas: int, sizes: Iterable[int]) -> int:
    """How many of the replicas a rack must have at least somewhere. sizes: the brokers of each rack."""
    held = list(sizes)
    return next((most for most in range(1, replicas) if sum(min(size, most) for size in held) >= replicas), replicas)
