"""Whether a partition that a plan leaves out cannot be moved. Knows the planner's reasons by their words alone.
Executors import this module, so it needs only the standard library.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, Protocol

from kafka_reassign_rpc.pipeline.planning.verify_rules import (
    COMBINE,
    DRAIN,
    EXPAND,
    HEAL,
    SET_FACTOR,
    PlanFacts,
    has_racks,
    is_led_by,
    is_unusable,
    less_even_over_racks,
    mends_racks,
)

_NO_TIME = re.compile("^there is no time for it within .*[(]--within[)]$")
_DOES_THAT = "its reassignment, in flight or waiting, does that already"


class LeftOutRow(NamedTuple):
    """`bytes`: None if unknown, or if the plan is of an earlier release."""

    replicas: Sequence[int]
    reason: str
    bytes: int | None = None


class LeftOut(Protocol):
    """As `PlannedPartition`."""

    @property
    def topic(self) -> str: ...
    @property
    def concerned(self) -> bool | None: ...
    @property
    def replicas(self) -> Sequence[int] | None: ...
    @property
    def leader(self) -> int | None: ...
    @property
    def isr(self) -> Sequence[int] | None: ...
    @property
    def in_flight(self) -> bool | None: ...
    @property
    def size(self) -> int | None: ...
    @property
    def destination(self) -> Sequence[int] | None: ...


def faults_of_left_out(one: LeftOut, rows: Sequence[LeftOutRow], facts: PlanFacts) -> Iterator[str]:
    if not rows:
        return
    if len(rows) > 1:
        yield f"{len(rows)} rows"
    replicas = one.replicas
    if replicas is None:
        yield "the snapshot does not have it"
        return
    if not one.concerned and not (
        facts.balances and all(_NO_TIME.search(_of_goals(row.reason, facts)[1]) for row in rows)
    ):
        yield "the goal does not concern it, or it can move"
    for row in rows:
        if list(row.replicas) != list(replicas):
            yield f"the plan has the replicas {list(row.replicas)}, the snapshot {list(replicas)}"
        if row.bytes not in {None, one.size}:
            yield f"the plan has {row.bytes} bytes, the snapshot {one.size}"
        goals, reason = _of_goals(row.reason, facts)
        if goals != _goals_of(one, facts):
            yield f"{goals or 'no goal'} is said to ask for it"
        is_true = next((holds for words, holds in _REASONS if words.search(reason)), None)
        if is_true is None:
            yield f"{reason!r} is none of the reasons"
        elif not is_true(one, facts):
            yield f"it is not so that {reason}"
        elif reason == _DOES_THAT and not reaches_goal(one.destination or (), facts):
            yield f"its reassignment leads to {list(one.destination or ())}, which is not the goal"


def _of_goals(reason: str, facts: PlanFacts) -> tuple[str, str]:
    if facts.kind != COMBINE:
        return "", reason
    goals, _, text = reason.partition(": ")
    return goals, text


def _goals_of(one: LeftOut, facts: PlanFacts) -> str:
    if facts.kind != COMBINE:
        return ""
    healed = any(facts.is_healed(broker) for broker in one.replicas or ())
    drained = not facts.drained.isdisjoint(one.replicas or ())
    return ", ".join([*([HEAL] * healed), *([DRAIN] * drained)]) or EXPAND


def is_forced(one: LeftOut, facts: PlanFacts) -> bool:
    """The goal does not only even out brokers. A partition on a broker of unknown rack is not called uneven."""
    replicas = one.replicas or ()
    if any(facts.empties(broker) for broker in replicas):
        return True
    if facts.kind == SET_FACTOR:
        return len(replicas) != facts.factor
    if facts.demoted:
        return is_led_by(facts.demoted, replicas, one.leader)
    return facts.mends and has_racks(replicas, facts) and not mends_racks(replicas, replicas, facts)


def is_on_its_way(one: LeftOut, facts: PlanFacts) -> bool:
    return bool(one.in_flight) and reaches_goal(one.destination or (), facts)


def reaches_goal(replicas: Sequence[int], facts: PlanFacts) -> bool:
    if facts.mends:
        return mends_racks(replicas, replicas, facts)
    if facts.kind == SET_FACTOR:
        return len(replicas) == facts.factor
    if facts.demoted:
        return False  # the snapshot does not tell their order
    return bool(replicas) and not any(facts.empties(broker) for broker in replicas)


def lacks_room(reason: str) -> bool:
    return "room" in reason


def finds_room(one: LeftOut, facts: PlanFacts, rooms: Mapping[int, int | None]) -> list[int]:
    """A target that keeps all rules; empty if none was found. `rooms`: by broker that may get replicas, bytes that
    certainly fit after the plan; None: nothing is known of its disks.
    """
    replicas, size = list(one.replicas or ()), one.size
    if facts.balances:
        return []  # copies that were taken back had taken room
    fits = [broker for broker, room in sorted(rooms.items()) if room is None or (size is not None and size <= room)]
    kept = [broker for broker in replicas if not facts.empties(broker)]
    wanted = facts.factor if facts.kind == SET_FACTOR else len(replicas)
    if facts.mends:
        kept = _without_too_many(replicas, facts)
    while len(kept) < wanted:
        held = Counter(facts.racks.get(broker) for broker in kept)
        free = [broker for broker in fits if broker not in kept and (broker not in replicas or not facts.mends)]
        if not free:
            return []
        kept.append(min(free, key=lambda broker: (held[facts.racks.get(broker)], broker)))
    if facts.mends:
        return kept if mends_racks(replicas, kept, facts) else []
    return [] if less_even_over_racks(replicas, kept, facts) or not _may_hold(kept, replicas, facts) else kept


def _without_too_many(replicas: Sequence[int], facts: PlanFacts) -> list[int]:
    """Drops as few as it takes for the rest to become even."""
    for gone in range(1, len(replicas)):
        kept = list(replicas)
        for _ in range(gone):
            held = Counter(facts.racks.get(broker) for broker in kept)
            kept.remove(max(kept, key=lambda broker: held[facts.racks.get(broker)]))
        racks = {facts.racks.get(broker) for broker in facts.places(replicas)}
        spread = Counter(facts.racks.get(broker) for broker in kept)
        if gone <= len(racks - spread.keys()) or max(spread.values()) * len(racks) <= len(replicas):
            return kept
    return list(replicas)


def _may_hold(target: Sequence[int], replicas: Sequence[int], facts: PlanFacts) -> bool:
    return all(broker in facts.staying or (facts.healed and broker in replicas) for broker in target)


def _has_lost_replica(one: LeftOut, facts: PlanFacts) -> bool:
    """heal and drain replace some lost replicas, a smaller factor may take them away."""
    replicas = one.replicas or ()
    if facts.kind == SET_FACTOR and len(replicas) > facts.factor:
        return sum(broker in facts.live for broker in replicas) < facts.factor
    return any(broker not in facts.live and not facts.empties(broker) for broker in replicas)


def _cannot_become_fewer(one: LeftOut, facts: PlanFacts) -> bool:
    replicas = one.replicas or ()
    live = [broker for broker in replicas if broker in facts.live]
    return facts.kind == SET_FACTOR and all(
        less_even_over_racks(replicas, chosen, facts) for chosen in combinations(live, facts.factor)
    )


def _has_too_few_brokers(one: LeftOut, facts: PlanFacts) -> bool:
    kept = [broker for broker in one.replicas or () if not facts.empties(broker)]
    return len((facts.staying - facts.cordoned).union(kept)) < (
        facts.factor if facts.kind == SET_FACTOR else len(one.replicas or ())
    )


def _none_can_lead(one: LeftOut, facts: PlanFacts) -> bool:
    others = [broker for broker in one.replicas or () if broker not in facts.demoted]
    return bool(facts.demoted) and not any(broker in facts.live and broker in (one.isr or ()) for broker in others)


def _needs_an_election_alone(one: LeftOut, facts: PlanFacts) -> bool:
    """One in sync is first, and the demoted brokers are last already."""
    replicas = list(one.replicas or ())
    behind = sorted(replicas, key=lambda broker: broker in facts.demoted)
    return bool(facts.demoted) and replicas == behind and replicas[0] in (one.isr or ())


def _needs_copies(one: LeftOut, facts: PlanFacts) -> bool:
    """Room is checked once all arrivals are known."""
    larger = facts.kind == SET_FACTOR and facts.factor > len(one.replicas or ())
    return larger or facts.mends or any(facts.empties(broker) for broker in one.replicas or ())


_REASONS: tuple[tuple[re.Pattern[str], Callable[[LeftOut, PlanFacts], bool]], ...] = tuple(
    (re.compile(words), holds)
    for words, holds in (
        (
            "^it has (no replicas|a broker twice)|^its leader or ISR is outside",
            lambda one, _: is_unusable(one.replicas or (), one.leader, one.isr or ()),
        ),
        (_NO_TIME, lambda one, facts: facts.within and (facts.balances or bool(one.concerned))),
        ("^its reassignment", lambda one, _: bool(one.in_flight)),
        ("^no other live replica is in sync", _none_can_lead),
        ("^another replica is preferred already", _needs_an_election_alone),
        ("^no live replica is in sync", lambda one, facts: facts.live.isdisjoint(one.isr or ())),
        ("not live: heal it first$", _has_lost_replica),
        (
            "^min.insync.replicas is",
            lambda one, facts: (
                facts.kind == SET_FACTOR and facts.factor < min(len(one.replicas or ()), facts.min_isr(one.topic))
            ),
        ),
        ("^its live replicas are less even", _cannot_become_fewer),
        ("^replication factor .* is larger than", _has_too_few_brokers),
        ("room", _needs_copies),
    )
)
"""Whether each reason is true of a partition, by its words. Each forbids any change."""
