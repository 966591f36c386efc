"""Whether partitions that a plan leaves out cannot be moved. Knows the planner's reasons by their words alone."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from kafka_reassign_rpc.pipeline.broker_lists import (
    NOBODY,
    Ints,
    Mask,
    among,
    are_same,
    counted_by,
    in_some,
    inside,
    listed,
    packed,
    repeated,
    sizes,
    stable,
    texts_of,
    told,
)
from kafka_reassign_rpc.pipeline.planning.verify_facts import COMBINE, DRAIN, EXPAND, HEAL, SET_FACTOR, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_rules import empties, is_healed
from kafka_reassign_rpc.pipeline.planning.verify_snapshot import (
    MANY,
    Racks,
    Stood,
    is_led_by,
    less_even_over_racks,
    mends_racks,
    why_unusable,
)
from kafka_reassign_rpc.support.counted import counted, those
from kafka_reassign_rpc.support.human_units import duration

RULE = "left-out"
SENTENCE = "what is left out cannot be moved, for the reason that the plan gives"
_NO_TIME = "^there is no time for it within .*[(]--within[)]$"
_DOES_THAT = "its reassignment, in flight or waiting, does that already"
_GOALS = {", ".join([*([HEAL] * healed), *([DRAIN] * drained)]) or EXPAND: healed + 2 * drained
          for healed in (0, 1) for drained in (0, 1)}  # fmt: skip
_NONE = -1


class LeftOut(NamedTuple):
    """Rows of the table of partitions left out, in order of keys; what the snapshot says of them is in `stood`.

    reason      a row of `texts`
    bytes       NOBODY: unknown
    """

    key: Ints
    replicas: Ints
    reason: Ints
    bytes: Ints
    stood: Stood
    texts: "Texts"

    def rows(self, chosen: Ints | Mask) -> "LeftOut":
        stood = Stood._make(column[chosen] for column in self.stood)
        key, replicas = self.key[chosen], self.replicas[chosen]
        return LeftOut(key, replicas, self.reason[chosen], self.bytes[chosen], stood, self.texts)


class Texts:
    """By distinct text: which of `_REASONS` it is, and the goals that it begins with, as `_GOALS` numbers them."""

    def __init__(self, texts: Sequence[str], kind: str) -> None:
        self.texts = texts
        parts = [text.partition(": ") if kind == COMBINE else ("", "", text) for text in texts]
        self.said = np.array([reason for _, _, reason in parts], object)
        self.goals_said = [goals for goals, _, _ in parts]
        self.goals = np.array([_GOALS.get(goals, _NONE) for goals in self.goals_said], np.int64)
        found = [[place for place, one in enumerate(_REASONS) if one.words.search(reason)] for reason in self.said]
        self.reason = np.array([places[0] if places else _NONE for places in found], np.int64)
        self.does_that: Mask = np.array([reason == _DOES_THAT for reason in self.said], bool)
        self.no_time: Mask = np.array([bool(re.search(_NO_TIME, reason)) for reason in self.said], bool)
        self.lacks_room: Mask = np.array(["room" in text for text in texts], bool)


class Fault(NamedTuple):
    """`rows`: of `LeftOut`. `text`: of a row."""

    rows: Mask
    text: Callable[[int], str]


def faults(left: LeftOut, facts: PlanFacts, moved: Mask) -> Iterator[Fault]:
    """`moved`: those that the plan also moves. In the order in which they are told."""
    stood, texts, there = left.stood, left.texts, left.stood.there
    several = np.searchsorted(left.key, left.key, "right") - np.searchsorted(left.key, left.key)
    yield Fault(several > 1, lambda row: f"{several[row]} rows")
    yield Fault(~there, lambda _: "the snapshot does not have it")
    may = stood.concerned | (texts.no_time[left.reason] & facts.balances)
    yield Fault(there & ~may, lambda _: "the goal does not concern it, or it can move")

    def replicas(row: int) -> str:
        return f"the plan has the replicas {listed(left.replicas[row])}, the snapshot {listed(stood.replicas[row])}"

    def size(row: int) -> str:
        return f"the plan has {told(left.bytes[row])} bytes, the snapshot {told(stood.bytes[row])}"

    def said(row: int) -> str:
        return str(texts.said[left.reason[row]])

    def goals(row: int) -> str:
        return f"{texts.goals_said[left.reason[row]] or 'no goal'} is said to ask for it"

    yield Fault(there & ~are_same(left.replicas, stood.replicas), replicas)
    yield Fault(there & (left.bytes != stood.bytes), size)
    if facts.kind == COMBINE:
        healed, drained = (in_some(of) for of in _leaving(stood.replicas, facts))
        others = texts.goals[left.reason] != healed + 2 * drained
        yield Fault(there & others, goals)
    reason = texts.reason[left.reason]
    yield Fault(there & (reason == _NONE), lambda row: f"{said(row)!r} is none of the reasons")
    true = np.ones(len(reason), bool)
    for place in np.unique(reason[reason != _NONE]).tolist():
        rows, one = np.nonzero(reason == place)[0], _REASONS[place]
        some = left.rows(rows).stood
        true[rows] = one.holds(some, facts)
        true[rows] &= np.any([texts.said[left.reason[rows]] == text for text in one.tells(some, facts)], axis=0)
    yield Fault(there & ~true, lambda row: f"it is not so that {said(row)}")

    def elsewhere(row: int) -> str:
        return f"its reassignment leads to {listed(stood.destination[row])}, which is not the goal"

    reaches = _reaches_goal(stood.destination, facts)
    yield Fault(there & true & texts.does_that[left.reason] & ~reaches, elsewhere)
    yield Fault(moved, lambda _: "it also moves")


def misses_goal(stood: Stood, facts: PlanFacts) -> Mask:
    """The goal does not only even out brokers, and no reassignment on its way brings it. A partition on a broker of
    unknown rack is not called uneven.
    """
    emptied = in_some(empties(stood.replicas, facts))
    if facts.kind == SET_FACTOR:
        forced = sizes(stood.replicas) != facts.factor
    elif facts.demoted:
        forced = is_led_by(facts.demoted, stood.replicas, stood.leader)
    elif facts.mends:
        is_named = Racks(facts).has_named(stood.replicas)
        forced = is_named & ~mends_racks(stood.replicas, stood.replicas, facts)
    else:
        forced = np.zeros(len(emptied), bool)
    missed: Mask = (emptied | forced) & ~(stood.in_flight & _reaches_goal(stood.destination, facts))
    return missed


def _reaches_goal(replicas: Ints, facts: PlanFacts) -> Mask:
    if facts.mends:
        return mends_racks(replicas, replicas, facts)
    if facts.kind == SET_FACTOR:
        found: Mask = sizes(replicas) == facts.factor
        return found
    # of a partition to be demoted the snapshot does not tell the order of a destination
    return (sizes(replicas) > 0) & ~in_some(empties(replicas, facts)) & (not facts.demoted)


def _leaving(replicas: Ints, facts: PlanFacts) -> tuple[Mask, Mask]:
    return is_healed(replicas, facts), among(replicas, facts.drained)


# -- room --------------------------------------------------------------------------------------------------------------


def find_room(stood: Stood, facts: PlanFacts, rooms: Mapping[int, int | None]) -> Ints:
    """Targets that keep all rules; empty rows where none was found. `rooms`: by broker that may get replicas, bytes
    that certainly fit after the plan; None: nothing is known of its disks.
    """
    replicas, brokers = stood.replicas, np.array(sorted(rooms), np.int64)
    nothing = np.full((len(replicas), 1), NOBODY, np.int64)
    if facts.balances:
        return nothing  # copies of a balancing plan that were taken back had taken room
    known = [rooms[broker] for broker in sorted(rooms)]
    room, size = np.array([MANY if one is None else one for one in known], np.int64), stood.bytes[:, None]
    free = (room == MANY) | ((size != NOBODY) & (size <= room))
    wanted = facts.factor if facts.kind == SET_FACTOR else sizes(replicas)
    kept = np.where(empties(replicas, facts), NOBODY, replicas)
    if facts.mends:
        kept = _without_too_many(replicas, facts)
        free &= ~_has(replicas, brokers)
    racks = Racks(facts)
    of_brokers = racks.of_each(brokers)
    found = packed(kept)
    possible = (sizes(found) >= wanted) | (len(brokers) > 0)
    while len(rows := np.nonzero(possible & (sizes(found) < wanted))[0]):
        open_now = free[rows] & ~_has(found[rows], brokers)
        held = counted_by(racks.of_each(found[rows]), racks.count + 1)[:, of_brokers]
        chosen = np.where(open_now, held, MANY).argmin(axis=1)  # the lowest id among equals
        possible[rows] = in_some(open_now)
        rows, added = rows[possible[rows]], brokers[chosen[possible[rows]]]
        found = np.concatenate([found, nothing], axis=1)
        found[rows, -1] = added
        found = packed(found)[:, : int(sizes(found).max(initial=1))]
    if facts.mends:
        possible &= mends_racks(replicas, found, facts)
    else:
        elsewhere = (found != NOBODY) & ~among(found, facts.staying)
        if facts.healed:
            elsewhere &= ~inside(found, replicas)
        possible &= ~less_even_over_racks(replicas, found, facts) & ~in_some(elsewhere)
    return np.where(possible[:, None], found, NOBODY)


def _without_too_many(replicas: Ints, facts: PlanFacts) -> Ints:
    """Drops as few as it takes for the rest to become even; all stay if that is none."""
    racks, wanted, rows = Racks(facts), sizes(replicas), np.arange(len(replicas))
    kept, found = replicas.copy(), replicas.copy()
    is_open, looks = racks.room(replicas) > 0, np.ones(len(replicas), bool)
    for gone in range(1, int(wanted.max(initial=1))):
        looks &= gone < wanted
        of = racks.of_each(kept)
        in_rack = np.take_along_axis(counted_by(of, racks.count + 1), np.maximum(of, 0), axis=1)
        kept[rows, np.where(of == NOBODY, _NONE, in_rack).argmax(axis=1)] = NOBODY
        held = counted_by(racks.of_each(kept), racks.count + 1)
        without = (is_open & (held[:, :-1] == 0)).sum(axis=1)
        done = looks & ((gone <= without) | (held.max(axis=1) * is_open.sum(axis=1) <= wanted))
        found[done] = kept[done]
        looks &= ~done
    return found


def _has(table: Ints, brokers: Ints) -> Mask:
    """By row and broker."""
    found = np.zeros((len(table), len(brokers)), bool)
    for place in range(table.shape[1]):
        found |= table[:, [place]] == brokers
    return found


# -- reasons -----------------------------------------------------------------------------------------------------------


def _is_unusable(stood: Stood, _: PlanFacts) -> Mask:
    return ~stood.usable


def _has_lost_replica(stood: Stood, facts: PlanFacts) -> Mask:
    """heal and drain replace some lost replicas, a smaller factor may take them away."""
    replicas = stood.replicas
    live = among(replicas, facts.live)
    stuck: Mask = in_some((replicas != NOBODY) & ~live & ~empties(replicas, facts))
    if facts.kind != SET_FACTOR:
        return stuck
    return np.where(sizes(replicas) > facts.factor, live.sum(axis=1) < facts.factor, stuck)


def _cannot_become_fewer(stood: Stood, facts: PlanFacts) -> Mask:
    found = np.full(len(stood.leader), facts.kind == SET_FACTOR)
    live = packed(np.where(among(stood.replicas, facts.live), stood.replicas, NOBODY))
    for places in combinations(range(live.shape[1]), facts.factor):
        chosen = live[:, list(places)]
        found &= (sizes(chosen) < facts.factor) | less_even_over_racks(stood.replicas, chosen, facts)
    return found


def _has_too_few_brokers(stood: Stood, facts: PlanFacts) -> Mask:
    places, replicas = facts.staying - facts.cordoned, np.where(repeated(stood.replicas), NOBODY, stood.replicas)
    others = (replicas != NOBODY) & ~among(replicas, places) & ~empties(replicas, facts)
    wanted = facts.factor if facts.kind == SET_FACTOR else sizes(stood.replicas)
    found: Mask = len(places) + others.sum(axis=1) < wanted
    return found


def _none_can_lead(stood: Stood, facts: PlanFacts) -> Mask:
    others = among(stood.replicas, facts.live - facts.demoted) & inside(stood.replicas, stood.isr)
    return ~in_some(others) & bool(facts.demoted)


def _needs_an_election_alone(stood: Stood, facts: PlanFacts) -> Mask:
    """One in sync is first, and the demoted brokers are last already."""
    replicas = stood.replicas
    place = np.where(replicas == NOBODY, 2, among(replicas, facts.demoted))
    first = inside(replicas[:, :1], stood.isr)[:, 0]
    return are_same(replicas, stable(replicas, place)) & first & bool(facts.demoted)


def _none_is_in_sync(stood: Stood, facts: PlanFacts) -> Mask:
    return ~in_some(among(stood.isr, facts.live))


def _is_below_min_isr(stood: Stood, facts: PlanFacts) -> Mask:
    least = np.minimum(sizes(stood.replicas), stood.min_isr)
    return (facts.factor < least) & (facts.kind == SET_FACTOR)


def _needs_copies(stood: Stood, facts: PlanFacts) -> Mask:
    """Room is checked once all arrivals are known."""
    larger = (facts.factor > sizes(stood.replicas)) & (facts.kind == SET_FACTOR)
    return larger | facts.mends | in_some(empties(stood.replicas, facts))


def _of_odd_row(stood: Stood, _: PlanFacts) -> Iterator[Ints]:
    yield why_unusable(stood.replicas, stood.leader, stood.isr)


def _of_lost(stood: Stood, facts: PlanFacts) -> Iterator[Ints]:
    """Of a plan that balances no brokers are named."""
    yield np.array("it has a replica on a broker that is not live: heal it first", object)
    lost = np.where(among(stood.replicas, facts.live) | empties(stood.replicas, facts), NOBODY, stood.replicas)
    yield texts_of(lost, lambda row: f"{those(row, verb='are')} not live: heal it first")


def _of_min_isr(stood: Stood, facts: PlanFacts) -> Iterator[Ints]:
    few = f"producers could not write to {counted(facts.factor, 'replica')}"
    yield texts_of(stood.min_isr[:, None], lambda row: f"min.insync.replicas is {row[0]}: {few}")


def _of_factor(stood: Stood, facts: PlanFacts) -> Iterator[Ints]:
    """What can hold a replica is open, or has one and keeps it."""
    wanted = np.full(len(stood.leader), facts.factor) if facts.kind == SET_FACTOR else sizes(stood.replicas)
    keeps = among(stood.replicas, facts.staying & facts.cordoned).sum(axis=1)

    def text(row: list[int]) -> str:
        brokers = counted(row[1], "broker")
        return f"replication factor {row[0]} is larger than the {brokers} that can hold a replica{_cordoned(row[2])}"

    numbers = (wanted, len(facts.receivers) + keeps, _other_cordoned(stood, facts))
    yield texts_of(np.stack(numbers, axis=1), text)


def _of_room(stood: Stood, facts: PlanFacts) -> Iterator[Ints]:
    if facts.to:
        yield np.array("no broker of --to has room for it and leaves it as even over racks as it was", object)
        return
    texts = ["no broker has room for it", "no broker has room that leaves the partition as even over racks as it was"]
    others = texts_of(_other_cordoned(stood, facts)[:, None], lambda row: _cordoned(row[0]))
    yield from (text + others for text in (["no broker of another rack has room for it"] if facts.mends else texts))


def _other_cordoned(stood: Stood, facts: PlanFacts) -> Ints:
    """They might have taken the replica."""
    closed = facts.staying & facts.cordoned
    held: Ints = (among(stood.replicas, closed) & ~repeated(stood.replicas)).sum(axis=1)
    return len(closed) - held


def _cordoned(others: int) -> str:
    return f"; {counted(others, 'other', 'are')} cordoned" if others else ""


def _always(text: str) -> Callable[[Stood, PlanFacts], Iterator[Ints]]:
    return lambda *_: iter([np.array(text, object)])


class _Reason(NamedTuple):
    """`tells`: the texts that it may have, one for all rows or one for each."""

    words: re.Pattern[str]
    holds: Callable[[Stood, PlanFacts], Mask]
    tells: Callable[[Stood, PlanFacts], Iterator[Ints]]


def _no_time(stood: Stood, facts: PlanFacts) -> Mask:
    return (stood.concerned | facts.balances) & (facts.within is not None)


def _of_time(_: Stood, facts: PlanFacts) -> Iterator[Ints]:
    yield np.array(f"there is no time for it within {duration(facts.within or 0)} (--within)", object)


_REASONS = tuple(
    _Reason(re.compile(words), holds, tells if callable(tells) else _always(tells))
    for words, holds, tells in (
        ("^it has (no replicas|a broker twice)|^its leader or ISR is outside", _is_unusable, _of_odd_row),
        (_NO_TIME, _no_time, _of_time),
        (f"^{_DOES_THAT}", lambda stood, _: stood.in_flight, _DOES_THAT),
        ("^its reassignment", lambda stood, _: stood.in_flight, "its reassignment is in flight"),
        ("^no other live replica", _none_can_lead, "no other live replica is in sync: none can lead in its place"),
        (
            "^another replica is preferred already",
            _needs_an_election_alone,
            "another replica is preferred already: a preferred election lets it lead",
        ),
        ("^no live replica", _none_is_in_sync, "no live replica is in sync: there is nothing to copy from"),
        ("not live: heal it first$", _has_lost_replica, _of_lost),
        ("^min.insync.replicas is", _is_below_min_isr, _of_min_isr),
        (
            "^its live replicas are less even",
            _cannot_become_fewer,
            "its live replicas are less even over racks than all of them: heal it first",
        ),
        ("^replication factor .* is larger than", _has_too_few_brokers, _of_factor),
        ("room", _needs_copies, _of_room),
    )
)
"""Whether each reason is true of a partition, by its words. Each forbids any change."""
