"""The verifier's rules of one move, against a reference that tries every placement of a small cluster.

The reference knows the rules from their text alone (docs/pipeline.md). Moves come from the planner, or are drawn at
random, so that most of them break something.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.pipeline.broker_lists import NOBODY
from kafka_reassign_rpc.pipeline.planning.verify_chunk import Chunk
from kafka_reassign_rpc.pipeline.planning.verify_facts import ListedBroker, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_rules import broken_rules
from kafka_reassign_rpc.pipeline.planning.verify_snapshot import less_even_over_racks, most_in_a_rack
from kafka_reassign_rpc.pipeline.planning.verify_texts import REASON, broken_reasons
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanError, PlanOptions
from kafka_reassign_rpc.planner.plan_result import PlannerSummary
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from tests.pipeline.verified_rows import said
from tests.planner.clusters import clusters, goals
from tests.planner.column_plans import make_plan
from tests.tables import for_each


class Reference:
    """The rules in other words: `breaks_racks` and `breaks_brokers`, by trying."""

    def __init__(self, brokers: Sequence[ListedBroker], goal: Goal) -> None:
        self.brokers = {one.id: one for one in brokers}
        self.goal = goal
        self.live = [one.id for one in brokers if one.live]
        self.remaining = [one for one in self.live if one not in goal.drained]
        self.closed = {one.id for one in brokers if one.live and one.cordoned}
        self.aware = any(one.live and one.rack for one in brokers)

    def _is_known(self, broker: int) -> bool:
        one = self.brokers.get(broker)
        return one is not None and (one.live or (self.aware and bool(one.rack)))

    def _are_apart(self, one: int, other: int) -> bool:
        return self.aware and (self.brokers[one].rack or None) != (self.brokers[other].rack or None)

    def counts(self, replicas: Sequence[int]) -> tuple[int, ...]:
        """How many replicas share each rack, most first; those of which nothing is known share the fullest."""
        groups: list[list[int]] = []
        for one in filter(self._is_known, replicas):
            group = next((group for group in groups if not self._are_apart(group[0], one)), None)
            groups.append([one]) if group is None else group.append(one)
        known = sorted(map(len, groups), reverse=True) or [0]
        return (known[0] + len(replicas) - sum(known), *known[1:])

    def breaks_racks(self, before: Sequence[int], after: Sequence[int]) -> bool:
        """Whether no series of exchanges leads from the racks that the former replicas would have now to those of the
        present ones. Each takes a replica from a rack to one with at least two fewer."""
        places = [one for one in self.remaining if one in before or one not in self.closed]
        racks = [[one for one in places if not self._are_apart(one, first)] for first in places]
        rooms = [len(found) for place, found in enumerate(racks) if found[0] == places[place]]
        firsts = [found[0] for place, found in enumerate(racks) if found[0] == places[place]]
        known = [one for one in before if self._is_known(one)]
        held = [
            min(room, len([one for one in known if not self._are_apart(first, one)]))
            for first, room in zip(firsts, rooms, strict=True)
        ]
        while sum(held) < len(known) and held != rooms:
            held[min((count, place) for place, count in enumerate(held) if count < rooms[place])[1]] += 1
        while sum(held) > len(after):  # a smaller factor takes those of unknown rack first: they are on lost brokers
            held[held.index(max(held))] -= 1
        held = sorted(held, reverse=True) or [0]
        held[0] += len(after) - sum(held)
        return tuple(filter(None, self.counts(after))) not in exchanges(tuple(held))

    def breaks_brokers(self, before: Sequence[int], after: Sequence[int]) -> bool:
        """A replica on a broker where none may be: lost or drained, but for lost ones that the plan does not heal."""
        for broker in after:
            stays_lost = broker in before and self.goal.heals_some
            if broker not in self.remaining and not stays_lost:
                return True
        return False


def exchanges(counts: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The counts, most first and without zeros, that exchanges lead to."""
    # A rack more than there are is no harm: one that is not there has no replica to count.
    start = tuple(sorted([*counts, *[0] * sum(counts)], reverse=True))
    found, left = {start}, [start]
    while left:
        one = left.pop()
        for giving, taking in permutations(range(len(one)), 2):
            if one[giving] >= one[taking] + 2:
                after = list(one)
                after[giving] -= 1
                after[taking] += 1
                after.sort(reverse=True)
                if tuple(after) not in found:
                    found.add(tuple(after))
                    left.append(tuple(after))
    return {tuple(filter(None, one)) for one in found}


def facts_of(brokers: Sequence[ListedBroker], goal: Goal) -> PlanFacts:
    return PlanFacts.of(
        str(goal.kind),
        brokers,
        goal.brokers,
        goal.factor or None,
        goal.topics,
        {str(kind): named for kind, named in goal.parts.items()},
    )


@given(st.data())
@settings(max_examples=60)
def test_dp_3_the_verifier_finds_nothing_in_plans_and_what_the_reference_finds_in_any_other_move(
    data: st.DataObject,
) -> None:
    cluster = data.draw(clusters(most=5))
    goal = data.draw(goals(cluster))
    closed = data.draw(st.sets(st.sampled_from([one.id for one in cluster.brokers]), max_size=3))
    brokers = [ListedBroker(one.id, one.rack, one.live, one.id in closed) for one in cluster.brokers]
    listed = [msgspec.structs.replace(one, cordoned=one.id in closed) for one in cluster.brokers]
    cluster = PlannerCluster(listed, cluster.topics)
    facts, reference = facts_of(brokers, goal), Reference(brokers, goal)
    stood = {(one.name, held.index): held for one in cluster.topics for held in one.partitions}

    def row(topic: str, index: int, target: Sequence[int], copied: int, *why: str) -> dict[str, Any]:
        held = stood[topic, index]
        size = held.bytes if held.bytes >= 0 else None
        known: dict[str, Any] = {"leader": held.leader, "isr": held.isr, "in_flight": held.moving, "size": size}
        known |= {"produce": held.produce, "fetch": held.fetch}
        return moved(held.replicas, target, copied, *why, topic=topic, partition=index, **known)

    try:
        made = make_plan(cluster, goal, PlanOptions(rounds=3, effort=Effort.QUICK))
    except PlanError:
        return
    planned = [row(move.topic, move.partition, move.target, move.bytes, move.reason, move.rule) for move in made.moves]
    sizes = [held.bytes for held in stood.values() if held.bytes >= 0]
    known = facts._replace(shares_before=shares_before(made.summary), typical=sum(sizes) // max(1, len(sizes)))
    assert broken(known, *planned, told=True) == [[]] * len(planned)
    targets = {
        name: data.draw(st.lists(st.sampled_from(sorted(reference.brokers)), min_size=1, max_size=5)) for name in stood
    }
    found = broken(facts, *(row(*name, target, 0) for name, target in targets.items()))
    for rules, (name, target) in zip(found, targets.items(), strict=True):
        before = stood[name].replicas
        assert ("racks" in rules) == reference.breaks_racks(before, target)
        assert ("cordoned" in rules) == bool(reference.closed & {*target} - {*before})
        assert ("live-brokers" in rules) == reference.breaks_brokers(before, target)


def moved(
    before: Sequence[int], after: Sequence[int], copied: int, reason: str = "why", rule: str = "", **stood: Any
) -> dict[str, Any]:
    """A row of a plan that says nothing of priority and place."""
    move = (before, after, stood.get("leader"), copied, 1, None, stood.pop("first", None), None, reason, rule)
    named = {"topic": "t", "partition": 0, "moves": [move], "forward": [], "back": [], "left_out": []}
    return named | {"replicas": before} | stood


def shares_before(summary: PlannerSummary) -> Mapping[str, Mapping[int, float]]:
    """With the usual weights."""
    weights = GoalWeights().by_measure()
    return {
        name: {
            broker: summary.before[broker][place] / target[place]
            for broker, target in summary.targets.items()
            if target[place]
        }
        for place, (name, weight) in enumerate(zip(MEASURES, weights, strict=True))
        if weight
    }


def broken(facts: PlanFacts, *rows: Mapping[str, Any], told: bool = False) -> list[list[str]]:
    """By row, the rules that it breaks. `told`: also whether its reason is right."""
    moves = Chunk(said(*({**row, "partition": place} for place, row in enumerate(rows))), facts).moves
    found: list[list[str]] = [[] for _ in rows]
    reasons = broken_reasons(moves, facts, np.zeros(len(rows), np.int64), {})
    for rule, places in {**broken_rules(moves, facts), **reasons}.items():
        if rule == REASON and not told:
            continue
        for key in moves.key[places].tolist():
            found[(key & 0xFFFFFFFF) - 2**31].append(rule)
    return [sorted(rules) for rules in found]


BROKERS = [ListedBroker(n, rack, n != 9) for n, rack in ((1, "a"), (2, "b"), (3, "a"), (4, "b"), (5, "c"), (9, None))]
FINE: dict[str, Any] = {
    "before": [1, 2, 5], "after": [3, 2, 5], "copied": 10, "leader": 2, "isr": [1, 2, 5], "in_flight": False,
    "size": 10,
}  # fmt: skip
REBALANCE, DRAIN, HEAL = Goal(GoalKind.REBALANCE), Goal(GoalKind.DRAIN, (1,)), Goal(GoalKind.HEAL)
RACKS = Goal(GoalKind.RACKS)
TWO = Goal(GoalKind.SET_FACTOR, factor=2)
NINE = Goal(GoalKind.HEAL, (9,))
NO_NEW = Goal(GoalKind.COMBINE, parts={GoalKind.HEAL: (9,), GoalKind.DRAIN: (1,)})
ALL = Goal(GoalKind.COMBINE, parts={GoalKind.HEAL: (), GoalKind.DRAIN: (1,), GoalKind.EXPAND: (4,)})
MOVES = [
    (REBALANCE, FINE, []),
    (DRAIN, FINE, []),
    (REBALANCE, FINE | {"size": None, "copied": 77}, []),
    (REBALANCE, FINE | {"replicas": None}, ["unknown-partition"]),
    (REBALANCE, FINE | {"before": [2, 1, 5], "replicas": [1, 2, 5]}, ["stale"]),
    (REBALANCE, FINE | {"after": [1, 2, 5], "copied": 0}, ["no-move"]),
    (REBALANCE, FINE | {"in_flight": True}, ["in-flight"]),
    (REBALANCE, FINE | {"leader": 77}, ["unusable"]),
    (REBALANCE, FINE | {"isr": [1, 2, 5, 77]}, ["unusable"]),
    (Goal(GoalKind.REBALANCE, topics=("u",)), FINE, ["topics"]),
    (REBALANCE, FINE | {"after": [3, 2, 2]}, ["distinct-replicas", "racks"]),
    (REBALANCE, FINE | {"after": [3, 2, 5, 4], "copied": 20}, ["replication-factor"]),
    (REBALANCE, FINE | {"after": [9, 2, 5]}, ["live-brokers", "racks"]),
    (REBALANCE, FINE | {"after": [4, 2, 5]}, ["racks"]),
    (REBALANCE, FINE | {"isr": [9]}, ["source"]),
    (REBALANCE, FINE | {"isr": []}, ["source"]),
    (REBALANCE, FINE | {"copied": 11}, ["bytes"]),
    (REBALANCE, FINE | {"first": 5}, []),
    (REBALANCE, FINE | {"first": 2}, ["first-leader"]),
    (REBALANCE, FINE | {"first": 3}, ["first-leader"]),
    (REBALANCE, FINE | {"first": 5, "isr": [2]}, ["first-leader"]),
    (REBALANCE, FINE | {"first": 9, "isr": [2, 9]}, ["first-leader"]),
    (REBALANCE, FINE | {"after": [2, 1, 5], "copied": 0, "first": 1}, ["first-leader"]),
    (DRAIN, FINE | {"after": [1, 4, 5]}, ["live-brokers", "keeps-others", "leaves-brokers"]),
    (Goal(GoalKind.EXPAND, (4,)), FINE, ["only-to-new-brokers"]),
    (Goal(GoalKind.EXPAND, (3,)), FINE, []),
    (TWO, FINE | {"after": [2, 5], "copied": 0}, []),
    (TWO, FINE | {"after": [1, 5], "copied": 0}, ["leader"]),
    (TWO, FINE | {"before": [1, 3, 2], "after": [1, 3], "leader": 1, "copied": 0}, ["racks"]),
    # The rack of lost broker 9 is not known; the other two are in a and b, as before.
    (HEAL, FINE | {"before": [1, 2, 9], "after": [1, 2, 3]}, []),
    (
        HEAL,
        FINE | {"before": [1, 2, 9], "after": [1, 3, 9], "isr": [1]},
        ["live-brokers", "keeps-others", "racks", "leaves-brokers"],
    ),
    (REBALANCE, FINE | {"before": [1, 3, 2, 4], "after": [1, 3, 2, 5]}, []),
    (DRAIN, FINE | {"before": [1, 3, 2, 4], "after": [5, 3, 2, 4]}, []),
    (Goal(GoalKind.SET_FACTOR, factor=3), FINE | {"before": [1, 2], "after": [1, 2, 3]}, []),
    (RACKS, FINE | {"before": [1, 2, 3], "after": [1, 2, 5]}, []),
    (RACKS, FINE | {"before": [1, 2, 3], "after": [1, 4, 5], "copied": 20}, ["mends-racks"]),
    (RACKS, FINE | {"before": [1, 3], "after": [1, 5], "leader": 1}, []),
    (RACKS, FINE | {"before": [1, 3, 2, 4], "after": [1, 3, 5, 4]}, []),
    (RACKS, FINE, ["mends-racks", "unconcerned"]),
    (ALL, FINE | {"reason": "drain: why"}, []),
    (ALL, FINE | {"reason": "expand: why"}, ["asked-by"]),
    (ALL, FINE | {"after": [3, 4, 5], "copied": 20, "reason": "drain, expand: why"}, []),
    (ALL, FINE | {"after": [1, 4, 5], "reason": "drain: why"}, ["live-brokers", "leaves-brokers"]),
    (ALL, FINE | {"before": [3, 2, 5], "after": [3, 4, 5], "reason": "expand: why"}, []),
    (
        ALL,
        FINE | {"before": [2, 5], "after": [3, 5], "reason": "expand: why"},
        ["only-to-new-brokers"],
    ),
    (ALL, FINE | {"before": [1, 9], "after": [3, 4], "copied": 20, "leader": 1, "isr": [1],
                 "reason": "heal, drain: why"}, []),
    (NO_NEW, FINE | {"before": [1, 2, 9], "after": [3, 4, 5], "copied": 30,
                    "reason": "heal, drain, expand: why"}, ["keeps-others"]),
    (NINE, FINE | {"before": [1, 2, 9], "after": [3, 2, 9]}, ["keeps-others", "leaves-brokers"]),
]  # fmt: skip


@for_each(("goal", "move", "rules"), MOVES)
def test_dp_3_every_rule_of_a_move_is_found(goal: Goal, move: dict[str, Any], rules: list[str]) -> None:
    stood = move.get("replicas", move["before"])
    if stood is not None and "unusable" not in rules:
        move = move | {"isr": [broker for broker in move["isr"] if broker in stood]}
    assert broken(facts_of(BROKERS, goal), moved(**move)) == [sorted(rules)]


def test_dp_3_a_new_broker_in_one_rack_does_not_make_the_other_racks_disappear() -> None:
    """Kafka's racks a, b, c stay what they are when the only broker that gets replicas is in rack a."""
    goal = Goal(GoalKind.EXPAND, (3,))
    facts = facts_of([one for one in BROKERS if one.id != 4], goal)
    assert broken(facts, moved(**FINE), moved(**FINE | {"after": [1, 3, 5]})) == [[], ["racks"]]


EVEN = [ListedBroker(n, rack, True) for n, rack in enumerate("aaabbb", 1)]


@pytest.mark.parametrize(
    ("before", "after", "is_broken"),
    [
        ([1, 2, 4, 5], [3, 2, 4, 5], False),
        ([1, 2, 4, 5], [6, 2, 4, 5], True),
        ([1, 2, 3, 4], [6, 2, 3, 4], False),
        ([1, 2, 3, 4], [1, 2, 3, 5], False),
    ],
)
def test_dp_10_a_move_that_puts_more_replicas_into_one_rack_than_before_is_found(
    before: list[int], after: list[int], is_broken: bool
) -> None:
    move = FINE | {"before": before, "after": after, "leader": 4, "isr": before}
    assert broken(facts_of(EVEN, REBALANCE), moved(**move)) == [["racks"] * is_broken]


@pytest.mark.parametrize(
    ("racks", "lost", "before"),
    [((None, None, None, "a", "a"), (2, 4), [1, 2, 3, 4]), (("b", "c", "b", "a", "c"), (4,), [1, 3, 4])],
)
def test_dp_10_a_smaller_factor_that_gives_up_a_rack_which_a_repair_would_keep_is_found(
    racks: tuple[str | None, ...], lost: tuple[int, ...], before: list[int]
) -> None:
    listed = [ListedBroker(n, rack, n not in lost) for n, rack in enumerate(racks, 1)]
    facts = facts_of(listed, Goal(GoalKind.SET_FACTOR, factor=2))
    found = less_even_over_racks(np.array([before] * 2), np.array([[1, 3, NOBODY], [3, 5, NOBODY]]), facts)
    assert found.tolist() == [True, False]


@pytest.mark.parametrize(
    ("replicas", "sizes", "most"), [(3, [1, 1], 1), (3, [2, 1], 2), (2, [3], 2), (4, [1, 3], 3), (4, [2, 2, 2], 2)]
)
def test_dp_10_a_rack_has_no_more_replicas_than_needed_or_as_many_as_it_can_have(
    replicas: int, sizes: list[int], most: int
) -> None:
    assert most_in_a_rack(np.array([replicas]), np.array([sizes])).tolist() == [most]
