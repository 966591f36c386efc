"""The hard rules of single moves: each is a function of columns that says which moves break it. Tests compare them with
all placements that a small cluster allows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from kafka_reassign_rpc.pipeline.broker_lists import (
    NOBODY,
    Ints,
    Mask,
    among,
    are_same,
    in_all,
    in_some,
    inside,
    looked_up,
    packed,
    repeated,
    sizes,
    stable,
    widened,
)
from kafka_reassign_rpc.pipeline.planning.verify_facts import (
    DRAIN,
    HEAL,
    RACKS,
    SET_FACTOR,
    PlanFacts,
)
from kafka_reassign_rpc.pipeline.planning.verify_snapshot import (
    MANY,
    Racks,
    Stood,
    less_even_over_racks,
    mends_racks,
    rack_losses,
)

ROWS = 50_000
"""Moves that are judged at a time: a table of racks or brokers has as many rows."""
WELL_INSIDE = 0.9
"""Of the tolerance."""


@dataclass(frozen=True)
class Moves:
    """Rows of the table of moves, with what the snapshot says of their partitions. NOBODY: null.

    leader      before the move, as the plan says; priority: when it starts
    reason      a place in `reasons`; rule: in `rules`
    """

    key: Ints
    original: Ints
    target: Ints
    copied: Ints
    leader: Ints
    batch: Ints
    priority: Ints
    first_leader: Ints
    start: Ints
    reason: Ints
    rule: Ints
    stood: Stood
    reasons: Sequence[str]
    rules: Sequence[str]

    @cached_property
    def added(self) -> Ints:
        return np.where(inside(self.target, self.original), NOBODY, self.target)

    @cached_property
    def left(self) -> Ints:
        return np.where(inside(self.original, self.target), NOBODY, self.original)

    @property
    def size(self) -> Ints:
        return self.stood.bytes

    @property
    def sender(self) -> Ints:
        return np.where(self.first_leader == NOBODY, self.leader, self.first_leader)

    def rows(self, chosen: Ints | slice) -> "Moves":
        columns = [one.name for one in fields(self) if one.name not in ("stood", "reasons", "rules")]
        taken = {name: getattr(self, name)[chosen] for name in columns}
        return replace(self, **taken, stood=Stood._make(column[chosen] for column in self.stood))


Rule = Callable[[Moves, PlanFacts], Mask]
RULES: dict[str, Rule] = {}
SENTENCES: dict[str, str] = {}


def _rule(name: str, sentence: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES[name], SENTENCES[name] = function, sentence
        return function

    return register


def broken_rules(moves: Moves, facts: PlanFacts) -> dict[str, Ints]:
    """By rule: the rows that break it. What the snapshot does not know is judged by nothing else."""
    found: dict[str, list[Ints]] = {name: [] for name in RULES}
    known = np.nonzero(moves.stood.there)[0]
    for first in range(0, len(known), ROWS):
        rows = known[first : first + ROWS]
        some = moves.rows(rows)
        for name, rule in RULES.items():
            found[name].append(rows[rule(some, facts)])
    broken = {name: np.concatenate(rows) for name, rows in found.items() if rows}
    return {name: rows for name, rows in (broken | {UNKNOWN: np.nonzero(~moves.stood.there)[0]}).items() if len(rows)}


UNKNOWN = "unknown-partition"
SENTENCES[UNKNOWN] = "the snapshot has the partition"


def _none(moves: Moves) -> Mask:
    return np.zeros(len(moves.key), bool)


@_rule("stale", "the snapshot has the replicas that the plan moves away from")
def _stale(moves: Moves, _: PlanFacts) -> Mask:
    return ~are_same(moves.stood.replicas, moves.original)


@_rule("no-move", "the target is another than what there is")
def _no_move(moves: Moves, _: PlanFacts) -> Mask:
    return are_same(moves.target, moves.original)


@_rule("in-flight", "no partition moves whose reassignment is in flight or waits")
def _in_flight(moves: Moves, _: PlanFacts) -> Mask:
    return moves.stood.in_flight


@_rule("snapshot-leader", "the leader is that of the snapshot")
def _snapshot_leader(moves: Moves, _: PlanFacts) -> Mask:
    found: Mask = moves.leader != moves.stood.leader
    return found


@_rule("unconcerned", "a goal that forces changes moves no other partition")
def _unconcerned(moves: Moves, facts: PlanFacts) -> Mask:
    return _none(moves) if facts.balances else ~moves.stood.concerned


@_rule("heal-first", "a partition with a lost replica moves only to replace it")
def _heal_first(moves: Moves, facts: PlanFacts) -> Mask:
    """heal and drain replace a lost replica, set-rf takes it away, other goals leave the partition."""
    if facts.kind in (HEAL, DRAIN, SET_FACTOR):
        return _none(moves)
    lost = (moves.original != NOBODY) & ~among(moves.original, facts.live)
    return in_some(lost) & ~in_some(empties(moves.original, facts))


@_rule("unusable", "replicas are there once each, leader and ISR are among them")
def _unusable(moves: Moves, _: PlanFacts) -> Mask:
    return ~moves.stood.usable


@_rule("topics", "the topic is one of those that were asked for")
def _topics(moves: Moves, _: PlanFacts) -> Mask:
    return ~moves.stood.chosen


@_rule("least-bytes", "no partition moves that is smaller than --least-bytes")
def _least_bytes(moves: Moves, facts: PlanFacts) -> Mask:
    found: Mask = (moves.size != NOBODY) & (moves.size < facts.least_bytes)
    return found


@_rule("distinct-replicas", "a target has each broker once")
def _distinct(moves: Moves, _: PlanFacts) -> Mask:
    return in_some(repeated(moves.target))


@_rule("replication-factor", "a target has as many replicas as before, or as set-rf asks for")
def _factor(moves: Moves, facts: PlanFacts) -> Mask:
    found: Mask = sizes(moves.target) != (facts.factor if facts.kind == SET_FACTOR else sizes(moves.original))
    return found


@_rule("live-brokers", "replicas are on live brokers that stay")
def _live_brokers(moves: Moves, facts: PlanFacts) -> Mask:
    """A replica may stay on a lost broker only if the plan heals others by name."""
    return _any_other(moves.added if facts.healed else moves.target, facts.staying)


@_rule("cordoned", "no replica comes to a cordoned broker")
def _cordoned(moves: Moves, facts: PlanFacts) -> Mask:
    return in_some(among(moves.added, facts.cordoned))


@_rule("keeps-others", "replicas that the goal does not ask to replace keep their places")
def _keeps_others(moves: Moves, facts: PlanFacts) -> Mask:
    """The first replica is the preferred leader. A larger factor adds behind all replicas."""
    before, after = moves.original, moves.target
    fewer = sizes(before) - sizes(after)
    if facts.kind == SET_FACTOR:
        front = np.where(np.arange(after.shape[1]) < sizes(before)[:, None], after, NOBODY)
        rest = packed(np.where(inside(before, after), before, NOBODY))
        return np.where(fewer <= 0, ~are_same(front, before), ~are_same(after, rest))
    if not facts.only_forces:
        return _none(moves)
    width = max(before.shape[1], after.shape[1])
    old, new = widened(before, width), widened(after, width)
    replaced = old != new
    may_go = np.ones(old.shape, bool) if facts.kind == RACKS else empties(old, facts)
    fine = ~inside(new, before) & ~inside(old, after) & may_go
    found: Mask = (fewer == 0) & in_some(replaced & ~fine)
    return found


@_rule("racks", "replicas are spread over racks at least as evenly as before")
def _racks(moves: Moves, facts: PlanFacts) -> Mask:
    return less_even_over_racks(moves.original, moves.target, facts)


@_rule("emptiest-rack", "a copy comes to no rack that has more of the partition than another open one")
def _emptiest_rack(moves: Moves, facts: PlanFacts) -> Mask:
    """Of racks where a broker has room for all that the plan copies."""
    racks, target = Racks(facts), moves.target
    opened = among(target, facts.opened) & ~repeated(target)
    free = racks.sizes(facts.opened) - racks.held(np.where(opened, target, NOBODY))
    held = racks.held(target)
    fewest = np.where(free > 0, held, MANY - 1).min(axis=1)
    rack = looked_up(moves.added, racks.of)
    in_rack = np.take_along_axis(held, np.maximum(rack, 0), axis=1)
    shares: Mask = in_some((rack != NOBODY) & (in_rack - 1 > fewest[:, None]))
    return shares & racks.has_named(moves.original) & racks.has_named(target)


@_rule("locality", "with --locality what leaves an emptied broker stays in its rack, where that is one of the emptiest")
def _locality(moves: Moves, facts: PlanFacts) -> Mask:
    """And where a broker of it has room for all that the plan copies."""
    racks, target = Racks(facts), moves.target
    opened = among(target, facts.opened) & ~repeated(target)
    free = racks.sizes(facts.opened) - racks.held(np.where(opened, target, NOBODY))
    before, after = racks.held(moves.original), racks.held(target)
    could_stay = (after < before) & (free > 0) & racks.named
    fewest = np.where(could_stay, after, MANY - 1).min(axis=1)
    found: Mask = in_some((after > before) & (after - 1 >= fewest[:, None]))
    return found & (facts.locality and facts.only_forces and not facts.mends)


@_rule("source", "a live replica is in sync: there is something to copy from")
def _source(moves: Moves, facts: PlanFacts) -> Mask:
    return ~in_some(among(moves.stood.isr, facts.live))


@_rule("bytes", "a move copies the partition's size once for each new replica")
def _bytes(moves: Moves, facts: PlanFacts) -> Mask:
    """An unknown size counts as the mean of the known ones."""
    size = np.where(moves.size == NOBODY, NOBODY if facts.typical is None else facts.typical, moves.size)
    found: Mask = (size != NOBODY) & (moves.copied != np.maximum(size, 0) * sizes(moves.added))
    return found


@_rule("priority", "heal begins with what cannot be written to, then with what the next loss would lose")
def _priority(moves: Moves, facts: PlanFacts) -> Mask:
    in_sync = among(moves.stood.isr, facts.live).sum(axis=1)
    urgent = np.where(in_sync < moves.stood.min_isr, 0, np.where(in_sync == 1, 1, 2))
    right = np.where(in_some(is_healed(moves.original, facts)), urgent, 2)
    found: Mask = (moves.priority != NOBODY) & (moves.priority != right)
    return found


@_rule("min-isr", "a smaller factor is none below min.insync.replicas")
def _min_isr(moves: Moves, facts: PlanFacts) -> Mask:
    least = np.minimum(sizes(moves.original), moves.stood.min_isr)
    return (sizes(moves.target) < least) & (facts.kind == SET_FACTOR)


@_rule("leader", "a smaller factor keeps the leader")
def _leader(moves: Moves, facts: PlanFacts) -> Mask:
    leader = moves.stood.leader[:, None]
    leaves = inside(leader, moves.original) & ~inside(leader, moves.target) & among(leader, facts.live)
    return leaves[:, 0] & (facts.kind == SET_FACTOR)


@_rule("first-leader", "a replica that leads first is live, in sync and not the leader, and something is copied")
def _first_leader(moves: Moves, facts: PlanFacts) -> Mask:
    first = moves.first_leader[:, None]
    may = inside(first, moves.stood.isr) & inside(first, moves.original) & among(first, facts.live)
    right = may[:, 0] & (moves.first_leader != moves.stood.leader) & (sizes(moves.added) > 0)
    found: Mask = (moves.first_leader != NOBODY) & ~right
    return found


@_rule("leaders-stay", "with --leaders-stay no replica leads first")
def _leaders_stay(moves: Moves, facts: PlanFacts) -> Mask:
    found: Mask = (moves.first_leader != NOBODY) & facts.leaders_stay
    return found


@_rule("mends-racks", "racks mends the racks, by as few copies as possible")
def _mends_racks(moves: Moves, facts: PlanFacts) -> Mask:
    return ~mends_racks(moves.original, moves.target, facts) if facts.kind == RACKS else _none(moves)


@_rule("leaves-brokers", "no replica is left on a broker that the plan empties")
def _leaves_brokers(moves: Moves, facts: PlanFacts) -> Mask:
    return in_some(empties(moves.target, facts))


@_rule("only-to-named-brokers", "with --to replicas come to the named brokers alone")
def _only_to_named(moves: Moves, facts: PlanFacts) -> Mask:
    return _any_other(moves.added, facts.to) if facts.to else _none(moves)


@_rule("only-to-new-brokers", "what replaces no replica of an emptied broker comes to a new one")
def _only_to_new(moves: Moves, facts: PlanFacts) -> Mask:
    others = ((moves.added != NOBODY) & ~among(moves.added, facts.new)).sum(axis=1)
    found: Mask = others > empties(moves.left, facts).sum(axis=1)
    return found & bool(facts.new)


@_rule("demotes", "one in sync leads, demoted brokers come last, all others keep their order, nothing is copied")
def _demotes(moves: Moves, facts: PlanFacts) -> Mask:
    if not facts.demoted:
        return _none(moves)
    first, original = moves.target[:, :1], moves.original
    leads = inside(first, moves.stood.isr) & among(first, facts.live - facts.demoted)
    place = np.where(original == first, 0, np.where(among(original, facts.demoted), 2, 1))
    return ~leads[:, 0] | ~are_same(moves.target, stable(original, np.where(original == NOBODY, 3, place)))


USELESS = "useless-copy"


@_rule(USELESS, "a rebalance that has searched each partition copies nothing without which brokers are as even")
def _useless_copy(moves: Moves, facts: PlanFacts) -> Mask:
    """Without the move no broker would be further from its target, but for some that are well inside the tolerance."""
    makes_even = np.any([*rack_losses(moves.target, moves.original, facts).values()], axis=0)
    useless: Mask = (moves.copied > 0) & ~makes_even & facts.searched
    if not useless.any():
        return useless
    brokers, changes = changes_of_loads(moves, facts)
    for name, loads in facts.loads.items():
        change = changes[name]
        after, *aims = _loads(brokers, loads)
        for aim in aims:
            counts = (change != 0) & (aim != 0)
            whole = np.where(counts, aim, 1.0)
            now, then = np.abs(after / whole - 1), np.abs((after + change) / whole - 1)
            useless &= in_all(~counts | (then <= np.maximum(now, WELL_INSIDE * facts.tolerance)))
    return useless


def _loads(brokers: Ints, loads: Mapping[int, tuple[float, float, float]]) -> Ints:
    """What they hold afterwards, and two aims; 0 of those that the summary does not have."""
    rows = looked_up(brokers, {broker: row for row, broker in enumerate(loads)})
    values = np.array([*loads.values(), (0.0, 0.0, 0.0)])
    found: Ints = np.moveaxis(values[np.where(rows == NOBODY, -1, rows)], -1, 0)
    return found


# -- what rules share --------------------------------------------------------------------------------------------------


def changes_of_loads(moves: Moves, facts: PlanFacts) -> tuple[Ints, dict[str, Ints]]:
    """The brokers of each move; and by measure how much more each of them had before it."""
    stood, one = moves.stood, np.ones(len(moves.key), np.int64)
    size = np.where(moves.size == NOBODY, facts.typical or 0, moves.size)
    holds = {"bytes": size, "replicas": one, "produce": stood.produce, "potential_out": stood.fetch}
    leads = {"leaders": one, "fetch": stood.fetch, "bytes_in": stood.produce, "messages_in": stood.messages}
    leads["cpu"] = stood.cpu
    brokers = np.concatenate([moves.left, moves.target], axis=1)
    held = inside(brokers, moves.original) * 1 - inside(brokers, moves.target)
    led = (brokers == moves.original[:, :1]) * 1 - (brokers == moves.target[:, :1])
    found = {name: held * of_each[:, None] for name, of_each in holds.items()}
    return brokers, found | {name: led * of_each[:, None] for name, of_each in leads.items()}


def empties(table: Ints, facts: PlanFacts) -> Mask:
    """Of each place: whether the plan empties its broker."""
    return among(table, facts.drained) | is_healed(table, facts)


def is_healed(table: Ints, facts: PlanFacts) -> Mask:
    if facts.healed or not facts.heals:
        return among(table, facts.healed)
    found: Mask = (table != NOBODY) & ~among(table, facts.live)
    return found


def _any_other(table: Ints, brokers: frozenset[int]) -> Mask:
    return in_some((table != NOBODY) & ~among(table, brokers))
