"""The texts of a plan, made again word by word: the reason and the rule of each move, as they follow from the snapshot;
the notes of the summary, as they follow from the snapshot and from what was asked for.
"""

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
from kafka_reassign_rpc.pipeline.planning.verify_facts import (
    COMBINE,
    DRAIN,
    EXPAND,
    HEAL,
    SET_FACTOR,
    Fault,
    ListedBroker,
    PlanFacts,
)
from kafka_reassign_rpc.pipeline.planning.verify_rules import Moves, changes_of_loads, empties, is_healed
from kafka_reassign_rpc.pipeline.planning.verify_snapshot import Racks, are_uneven
from kafka_reassign_rpc.pipeline.planning.verify_sums import BrokerDelta, NamedRows, SnapshotSums
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import disk_notes, size_notes, stricter_rate_notes
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of, those

REASON, ASKED = "reason", "asked-by"
SENTENCES = {
    REASON: "a move has the reason and the rule that the snapshot gives it",
    ASKED: "a combined plan names the goals that ask for a move",
}
_OF_TOPIC = re.compile(r"broker (\d{1,10}) has (\d{1,9}) (replicas|leaders) of the topic, (\d{1,9}) would be even")
_NEEDED = "other moves need it, to even out brokers"
_GOALS = [", ".join(goal for bit, goal in enumerate((HEAL, DRAIN, EXPAND)) if goals >> bit & 1) for goals in range(8)]
_USUAL = {"produce": 0.25, "fetch": 0.25, "bytes_in": 0.25, "potential_out": 0.0, "messages_in": 0.0, "cpu": 0.0}
"""The weights of rates that nobody has given."""
_NAMED = 20
_FIRST = 5

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


def faults_of_notes(
    path: StorePath, listed: Sequence[ListedBroker], sums: SnapshotSums, facts: PlanFacts, summary: PlanSummary
) -> Iterator[Fault]:
    follow = [
        *disk_notes(path),
        *size_notes(path),
        *_of_cordoned(facts),
        *_of_rows(sums, {one.id for one in listed}),
        *_of_departure(sums, facts),
        *stricter_rate_notes(path, summary.throttle, sorted(facts.live)),
        *_of_cordons(facts),
        *_of_sizes(sums),
        *_of_rackless(listed),
        *_of_limits(sums, facts, summary),
        *_of_weights(sums, summary),
        *_of_disks(facts, summary),
    ]
    for note in dict.fromkeys([*summary.notes, *follow]):
        says, counts = summary.notes.count(note), follow.count(note)
        if says != counts:
            yield "summary", "notes", f"{'do not say' if says < counts else 'say without ground'}: {note}"
    if sorted(summary.notes) == sorted(follow) and summary.notes != follow:
        yield "summary", "notes", "are in another order"


def _of_cordoned(facts: PlanFacts) -> Iterator[str]:
    if facts.cordoned:
        yield f"{those(facts.cordoned, verb='are')} cordoned: the plan brings no replica there"


def _of_rows(sums: SnapshotSums, listed: set[int]) -> Iterator[str]:
    if count := sums.unusable.count:
        stay, them = counted(count, "partition", "stay"), agreeing(count, "them")
        yield f"{stay} as the cluster shows {them}, since no change can begin there: {_named(sums.unusable, '; ')}"
    for broker, names in sorted(sums.unlisted.items()):
        if broker not in listed:
            first = f"{', '.join(names.first[:_FIRST])}{', …' if names.count > _FIRST else ''}"
            but = "but the snapshot does not list it: the plan takes it for lost"
            yield f"broker {broker} holds replicas, {but} ({first})"
    if sums.unsized.count:
        yield f"no size is known of {_named(sums.unsized)}"


def _of_departure(sums: SnapshotSums, facts: PlanFacts) -> Iterator[str]:
    held, them = ("its replicas", "it") if len(facts.drained) == 1 else ("their replicas", "them")
    for lost, verb, what in (
        (sums.last_in_sync, "lose", "the last in-sync replica"),
        (sums.below_min_isr, "fall", "under min.insync.replicas"),
    ):
        if lost.count:
            fewer = f"{counted(lost.count, 'partition', verb)} {what} without {them} ({_named(lost)})"
            yield f"{those(facts.drained)} may not go before the plan has moved {held}: {fewer}"


def _of_cordons(facts: PlanFacts) -> Iterator[str]:
    if not facts.drained or facts.topics:
        return
    server = "where the controller is a kafka-reassign-rpc server (--no-cordon: not)"
    yield f"`submit` cordons {those(facts.drained)} first {server}"
    if lost := facts.drained - facts.live:
        them = agreeing(len(lost), "them")
        yield (
            f"{those(lost, verb='are')} lost: the cordon keeps {them} empty after a return, until somebody opens {them}"
        )


def _of_sizes(sums: SnapshotSums) -> Iterator[str]:
    if not sums.known and sums.partitions:
        yield "no size is known: replicas are counted instead of bytes"
    elif sums.unknown_sizes:
        yield (
            f"{sums.unknown_sizes} of {counted(sums.partitions, 'partition')} {agreeing(sums.unknown_sizes, 'have')} no"
            f" known size: the plan assumes {sums.typical} bytes for each, the mean of the others"
        )


def _of_rackless(listed: Sequence[ListedBroker]) -> Iterator[str]:
    without = [one.id for one in listed if one.live and not one.rack]
    if without and any(one.live and one.rack for one in listed):
        them = agreeing(len(without), "them")
        yield f"{those(without, verb='have')} no rack: the plan takes {them} for one more rack"


def _of_limits(sums: SnapshotSums, facts: PlanFacts, summary: PlanSummary) -> Iterator[str]:
    loads = {broker: _load(sums, broker) for broker in facts.receivers}
    for name, limits in summary.requested.broker_max.items():
        over = [broker for broker, load in loads.items() if broker in limits and load[name] > limits[broker]]
        if over:
            what = "nothing" if name in ("bytes", "replicas") else "no more of that"
            flag = f"--broker-max-{name.replace('_', '-')}"
            them = agreeing(len(over), "them")
            yield f"{those(over, verb='hold')} more than {flag} allows already: {what} comes to {them}"


def _of_weights(sums: SnapshotSums, summary: PlanSummary) -> Iterator[str]:
    for name, usual in _USUAL.items():
        given = summary.requested.weights.get(name, usual)
        if given > usual and not any(getattr(load, name) for load in sums.loads.values()):
            yield f"--weight {name}={given:g} changes nothing: the snapshot has no such rate (`export --rates`)"


def _of_disks(facts: PlanFacts, summary: PlanSummary) -> Iterator[str]:
    staying = {broker for broker in facts.staying if not facts.empties(broker)}
    unknown = [broker for broker in staying if not facts.disk_sizes.get(broker)]
    if facts.balances and unknown and not summary.requested.broker_weights:
        whose = "any broker" if len(unknown) == len(staying) else those(unknown)
        yield f"the disks of {whose} are not known: all brokers count alike (--broker-weights)"


def _load(sums: SnapshotSums, broker: int) -> Mapping[str, int]:
    load = sums.loads.get(broker, BrokerDelta())
    return load._asdict() | {"bytes": load.bytes + load.unknown * sums.typical}


def _named(rows: NamedRows, between: str = ", ") -> str:
    return first_of(rows.first, _NAMED, of=rows.count, between=between)
