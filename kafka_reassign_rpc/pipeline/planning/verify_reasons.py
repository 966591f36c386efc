"""Whether each move has the reason, and the rule, that follow from the snapshot: each text is made again here."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kafka_reassign_rpc.pipeline.broker_lists import (
    NOBODY,
    Ints,
    Mask,
    among,
    in_some,
    inside,
    looked_up,
    sizes,
    texts_of,
)
from kafka_reassign_rpc.pipeline.planning.verify_facts import COMBINE, DRAIN, EXPAND, HEAL, SET_FACTOR, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_rules import Moves, changes_of_loads, empties, is_healed
from kafka_reassign_rpc.pipeline.planning.verify_snapshot import Racks, are_uneven
from kafka_reassign_rpc.support.counted import those

REASON, ASKED = "reason", "asked-by"
SENTENCES = {
    REASON: "a move has the reason and the rule that the snapshot gives it",
    ASKED: "a combined plan names the goals that ask for a move",
}
_OF_TOPIC = re.compile(r"broker (\d{1,9}) has (\d{1,9}) (replicas|leaders) of the topic, (\d{1,9}) would be even")
_NEEDED = "other moves need it, to even out brokers"
_GOALS = [", ".join(goal for bit, goal in enumerate((HEAL, DRAIN, EXPAND)) if goals >> bit & 1) for goals in range(8)]

TopicCounts = Mapping[tuple[str, int, int], tuple[int, int]]
"""By measure, piece of a topic and broker: what it holds of that before the plan, and the most that is even."""


class Reason(NamedTuple):
    """Columns of texts. `goals`: what a combined plan puts in front."""

    goals: Ints
    text: Ints
    rule: Ints


def broken_reasons(moves: Moves, facts: PlanFacts, pieces: Ints, topics: TopicCounts) -> dict[str, Ints]:
    """By rule: the rows that break it. `pieces`: of the moves' topics."""
    told, there = _told(moves, facts), moves.stood.there
    wrong: Mask = np.ones(len(there), bool)
    for text, rule in _possible(moves, facts):
        wrong &= (told.text != text) | (told.rule != rule)
    if topics:
        rows = np.nonzero(wrong)[0]
        wrong[rows] = [not _spreads_topic(moves, row, told, int(pieces[row]), topics) for row in rows.tolist()]
    wrong |= told.text == ""
    goals = told.goals != _asking(moves, facts)
    found = {REASON: np.nonzero(wrong & there)[0], ASKED: np.nonzero(goals & there)[0]}
    return {name: rows for name, rows in found.items() if len(rows)}


def _told(moves: Moves, facts: PlanFacts) -> Reason:
    parts = [text.partition(": ") if facts.kind == COMBINE else ("", "", text) for text in moves.reasons]
    goals, texts = ([part[place] for part in parts] for place in (0, 2))
    return Reason(_column(goals)[moves.reason], _column(texts)[moves.reason], _column(moves.rules)[moves.rule])


def _possible(moves: Moves, facts: PlanFacts) -> Iterator[tuple[Ints, Ints]]:
    """Texts and rules, of which each row has one."""
    original = moves.original
    if facts.demoted:
        behind = np.where(among(original, facts.demoted), original, NOBODY)
        yield texts_of(behind, lambda row: f"{those(row, verb='are')} to lead nothing"), _column("demote")
    elif facts.kind == SET_FACTOR:
        factors = sizes(original)[:, None]
        yield (
            texts_of(factors, lambda row: f"replication factor {row[0]} to {facts.factor}"),
            _column("replication-factor"),
        )
    else:
        forced = in_some(empties(original, facts))
        lost = np.where(is_healed(original, facts) & ~among(original, facts.drained), original, NOBODY)
        drained = np.where(among(original, facts.drained), original, NOBODY)
        healed = texts_of(lost, lambda row: f"{those(row, verb='are')} lost" if row else "")
        emptied = texts_of(drained, lambda row: f"{those(row, verb='are')} to be drained" if row else "")
        both = np.where((healed != "") & (emptied != ""), ", ", "").astype(object)
        rule = np.where(healed != "", "live-brokers", "drain").astype(object)
        balance, measure = _of_balance(moves, facts) if facts.balances else (_column(""), _column(""))
        yield np.where(forced, healed + both + emptied, balance), np.where(forced, rule, measure)
    if facts.mends:
        uneven = are_uneven(original, facts)
        yield np.where(uneven, _of_racks(original, facts), ""), _column("racks")


def _of_racks(original: Ints, facts: PlanFacts) -> Ints:
    racks = Racks(facts)
    names = sorted((name, code) for name, code in racks.codes.items())

    def text(row: list[int]) -> str:
        counts = ", ".join(f"{row[code]} in {name}" for name, code in names if row[code])
        return f"uneven over racks: {counts}"

    return texts_of(racks.held(original), text)


def _of_balance(moves: Moves, facts: PlanFacts) -> tuple[Ints, Ints]:
    """Of the brokers that lose what they had too much before the plan, or get what they lacked, the one that was
    furthest from its target: of equal ones the first measure, and the lowest id. Where there is none, of all brokers
    of the move.
    """
    brokers, changes = changes_of_loads(moves, facts)
    texts, rules = (np.full(len(moves.key), text, object) for text in (_NEEDED, "balance"))
    for suffix, all_count in ((" (with other moves)", True), ("", False)):
        most = np.zeros(len(moves.key))
        for name, shares in facts.shares_before.items():
            place = looked_up(brokers, {broker: at for at, broker in enumerate(shares)})
            share = np.array([*shares.values(), 1.0])[np.where(place == NOBODY, -1, place)]
            counts = changes[name] != 0 if all_count else changes[name] * (share - 1) > 0
            far = np.where(counts, np.abs(share - 1), 0.0)
            further = np.nonzero(far.max(axis=1) > most)[0]
            most[further] = far[further].max(axis=1)
            lowest = np.where(far == most[:, None], brokers, np.iinfo(np.int64).max).argmin(axis=1)[further]
            named = zip(brokers[further, lowest].tolist(), share[further, lowest].tolist(), strict=True)
            told = [f"broker {broker} has {part:.0%} of its share of {name}{suffix}" for broker, part in named]
            texts[further], rules[further] = told, name
    return texts, rules


def _spreads_topic(moves: Moves, row: int, told: Reason, piece: int, topics: TopicCounts) -> bool:
    text, rule = told.text[row], told.rule[row]
    if (found := _OF_TOPIC.fullmatch(text)) is None:
        return False
    broker, what = int(found[1]), found[3]
    leaves = inside(np.array([[broker]]), moves.left[[row]])[0, 0]
    steps_back = what == "leaders" and moves.original[row, 0] == broker != moves.target[row, 0]
    held, most = topics.get((what, piece, broker), (0, 0))
    return bool(
        (leaves or steps_back)
        and rule == f"topic_{what}"
        and held > most
        and found[2] == str(held)
        and found[4] == str(most)
    )


def _asking(moves: Moves, facts: PlanFacts) -> Ints:
    if facts.kind != COMBINE:
        return _column("")
    left = empties(moves.original, facts)
    more = (sizes(moves.added) > left.sum(axis=1)) | ~in_some(left)
    asking = [in_some(is_healed(moves.original, facts)), in_some(among(moves.original, facts.drained)), more]
    found: Ints = _column(_GOALS)[np.sum([one.astype(np.int64) << bit for bit, one in enumerate(asking)], axis=0)]
    return found


def _column(texts: Sequence[str]) -> Ints:
    """Of one text: the same for all rows."""
    return np.array(texts, object)
