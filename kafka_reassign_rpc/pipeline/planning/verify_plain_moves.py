"""Moves that certainly keep every rule of single moves. `verify_rules` judges the few others."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.planning.verify_arrays import (
    NOBODY,
    Ints,
    Mask,
    among,
    are_same,
    flat,
    fullest_first,
    grouped,
    inside,
    looked_up,
    repeated,
    sizes,
    whole,
    widened,
)
from kafka_reassign_rpc.pipeline.planning.verify_concerned import loads_of
from kafka_reassign_rpc.pipeline.planning.verify_rows import BatchSums, BrokerDelta, BrokerSums, CheckedRows
from kafka_reassign_rpc.pipeline.planning.verify_rules import DRAIN, EXPAND, HEAL, PlanFacts

_KINDS = (HEAL, DRAIN, EXPAND, "rebalance")
"""All moves of other plans are judged row by row."""


class FileColumns(NamedTuple):
    """Fields of `FileEntry`. NOBODY: null; `topic_id`: a code."""

    number: Ints
    replicas: Ints
    expected: Ints
    first_leader: Ints
    topic_id: Ints
    place: Ints


class MoveColumns(NamedTuple):
    """One row in the table, one in the snapshot, and one entry in the files of either kind; NOBODY: null.

    original … start  what the table says; named, named_as: the broker that the reason begins with, and
                      what it says of it
    replicas … concerned    what the snapshot says
    usable            a change can begin at the partition
    chosen            the goal names the topic
    topic_id          a code, as in `FileColumns`
    """

    original: Ints
    target: Ints
    copied: Ints
    told_leader: Ints
    batch: Ints
    priority: Ints
    first_leader: Ints
    start: Ints
    named: Ints
    named_as: Ints
    replicas: Ints
    leader: Ints
    isr: Ints
    in_flight: Mask
    size: Ints
    produce: Ints
    fetch: Ints
    messages: Ints
    cpu: Ints
    concerned: Mask
    usable: Mask
    chosen: Mask
    min_isr: Ints
    topic_id: Ints
    forward: FileColumns
    back: FileColumns

    @property
    def added(self) -> Ints:
        return np.where(inside(self.target, self.original), NOBODY, self.target)

    @property
    def sender(self) -> Ints:
        return np.where(self.first_leader == NOBODY, self.told_leader, self.first_leader)

    def rows(self, chosen: Mask) -> "MoveColumns":
        *columns, forward, back = self
        of_files = (FileColumns._make(column[chosen] for column in one) for one in (forward, back))
        return MoveColumns._make([*(column[chosen] for column in columns), *of_files])


def keep_rules(moves: MoveColumns, facts: PlanFacts) -> Mask:
    if facts.kind not in _KINDS or facts.searched:
        return np.zeros(len(moves.batch), bool)
    added = moves.added
    fine = _fits_the_snapshot(moves, facts) & _are_in_files(moves, facts)
    fine &= ~are_same(moves.target, moves.original) & ~repeated(moves.target).any(axis=1)
    fine &= sizes(moves.target) == sizes(moves.original)
    fine &= _allowed_receivers(moves, added, facts) & _keeps_others(moves, facts)
    fine &= _no_less_even(moves, facts) & _in_emptiest_racks(moves, added, facts)
    fine &= (moves.size == NOBODY) | (moves.size >= facts.least_bytes)
    typical = NOBODY if facts.typical is None else facts.typical
    size = np.where(moves.size == NOBODY, typical, moves.size)
    fine &= (size != NOBODY) & (moves.copied == size * sizes(added))
    fine &= moves.priority == _priority(moves, facts)
    return fine & _leads_rightly(moves, added, facts) & _have_true_reasons(moves, facts)


def _fits_the_snapshot(moves: MoveColumns, facts: PlanFacts) -> Mask:
    fine = are_same(moves.original, moves.replicas) & (moves.told_leader == moves.leader)
    fine &= ~moves.in_flight & moves.usable & moves.chosen
    fine &= among(moves.isr, facts.live).any(axis=1)
    if facts.balances:
        lost = (moves.original != NOBODY) & ~among(moves.original, facts.live)
        fine &= ~lost.any(axis=1)
    else:
        fine &= moves.concerned
    fits: Mask = fine
    return fits


def _are_in_files(moves: MoveColumns, facts: PlanFacts) -> Mask:
    forward, back = moves.forward, moves.back
    fine = are_same(forward.replicas, moves.target) & are_same(forward.expected, moves.original)
    fine &= are_same(back.replicas, moves.original) & are_same(back.expected, moves.target)
    fine &= (forward.first_leader == moves.first_leader) & (back.first_leader == NOBODY)
    for entry in (forward, back):
        first = looked_up(entry.number[:, None], facts.first_places)[:, 0]
        fine &= (entry.number == moves.batch) & (entry.topic_id == moves.topic_id)
        fine &= (first != NOBODY) & (first + entry.place == moves.start)
    return fine


def _allowed_receivers(moves: MoveColumns, added: Ints, facts: PlanFacts) -> Mask:
    """A replica may stay on a lost broker only if the plan heals others by name."""
    have = added if facts.healed else moves.target
    fine: Mask = ((have == NOBODY) | among(have, facts.staying)).all(axis=1) & ~among(added, facts.cordoned).any(axis=1)
    if facts.to:
        fine &= ((added == NOBODY) | among(added, facts.to)).all(axis=1)
    if facts.kind == EXPAND:
        fine &= ((added == NOBODY) | among(added, facts.new)).all(axis=1)
    return fine & ~among(moves.target, facts.drained | facts.healed).any(axis=1)


def _keeps_others(moves: MoveColumns, facts: PlanFacts) -> Mask:
    """heal and drain change nothing else."""
    if facts.kind not in (HEAL, DRAIN):
        return np.ones(len(moves.batch), bool)
    width = min(moves.original.shape[1], moves.target.shape[1])  # their lengths are the same
    old, new = moves.original[:, :width], moves.target[:, :width]
    replaced = old != new
    leaves = among(old, facts.drained | facts.healed)
    if facts.heals and not facts.healed:
        leaves = ~among(old, facts.live) & (old != NOBODY)
    goes = leaves & ~inside(old, new) & ~inside(new, old)
    fine: Mask = (~replaced | goes).all(axis=1)
    return fine


def _no_less_even(moves: MoveColumns, facts: PlanFacts) -> Mask:
    """Certain if all replicas are in racks of their own; or if all racks are known, each has room for what it had, and
    the fullest together have no more than before.
    """
    codes = {rack: code for code, rack in enumerate(dict.fromkeys(facts.racks.values()))}
    rack_of = {broker: codes[rack] for broker, rack in facts.racks.items()}
    before, after = (looked_up(replicas, rack_of) for replicas in (moves.original, moves.target))
    known_before, known_after = (
        ~((racks == NOBODY) & (replicas != NOBODY)).any(axis=1)
        for racks, replicas in ((before, moves.original), (after, moves.target))
    )
    stood, stands = fullest_first(before), fullest_first(after)
    spread: Mask = known_after & (stands[:, 0] <= 1)
    room = dict.fromkeys(codes.values(), 0)
    for broker in facts.staying - facts.cordoned:
        if broker in rack_of:
            room[rack_of[broker]] += 1
    has_room = np.ones(len(spread), bool)
    for place in range(before.shape[1]):
        rack = before[:, [place]]
        needs = np.where(rack[:, 0] == NOBODY, 0, (before == rack).sum(axis=1))
        has_room &= (rack[:, 0] == NOBODY) | (needs <= looked_up(rack, room)[:, 0])
    width = min(stood.shape[1], stands.shape[1])
    no_fuller = (stands.cumsum(axis=1)[:, :width] <= stood.cumsum(axis=1)[:, :width]).all(axis=1)
    alike: Mask = known_before & known_after & has_room & no_fuller
    return spread | alike


LOST, DRAINED, UNEVEN, OF_NOBODY = range(4)
_REASON = r"^broker (?P<broker>\d{1,9})(?P<what> is lost$| is to be drained$| has )"


def reasons(texts: pa.Array | pa.ChunkedArray) -> tuple[Ints, Ints]:
    """The broker of each reason, and LOST, DRAINED or UNEVEN. Of those in other words NOBODY, and OF_NOBODY where they
    name no broker.
    """
    found = pc.extract_regex(texts, _REASON)
    told = pa.array([" is lost", " is to be drained", " has "])
    what = whole(pc.index_in(pc.struct_field(found, "what"), told))
    is_text = pc.and_(pc.not_equal(texts, ""), pc.invert(pc.match_substring(texts, "broker")))
    of_nobody = np.asarray(pc.fill_null(is_text, False)).astype(bool)
    return whole(pc.struct_field(found, "broker")), np.where(of_nobody, OF_NOBODY, what)


def _have_true_reasons(moves: MoveColumns, facts: PlanFacts) -> Mask:
    named = moves.named[:, None]
    stood, stands = (inside(named, side)[:, 0] for side in (moves.original, moves.target))
    healed = among(moves.named, facts.healed) if facts.healed else ~among(moves.named, facts.live)
    leaves = stood & ~stands
    fine: Mask = (moves.named_as == LOST) & leaves & healed & facts.heals
    fine |= (moves.named_as == DRAINED) & leaves & among(moves.named, facts.drained)
    fine |= (moves.named_as == UNEVEN) & (among(moves.named, facts.live) | stood)
    fine |= moves.named_as == OF_NOBODY
    return fine


def _in_emptiest_racks(moves: MoveColumns, added: Ints, facts: PlanFacts) -> Mask:
    """Certain if no rack that may be open has fewer replicas than any of the copies finds in its own."""
    codes = {rack: code for code, rack in enumerate(dict.fromkeys(facts.racks.values()))}
    rack_of = {broker: codes[rack] for broker, rack in facts.racks.items()}
    stands, copied = looked_up(moves.target, rack_of), looked_up(added, rack_of)
    opened = sorted({rack_of[broker] for broker in facts.opened})
    if not opened:
        return np.ones(len(moves.batch), bool)
    fewest = np.min([(stands == code).sum(axis=1) for code in opened], axis=0)
    found: Mask = np.ones(len(moves.batch), bool)
    for place in range(copied.shape[1]):
        rack = copied[:, [place]]
        found &= (rack[:, 0] == NOBODY) | ((stands == rack).sum(axis=1) - 1 <= fewest)
    return found


def _priority(moves: MoveColumns, facts: PlanFacts) -> Ints:
    if facts.kind != HEAL:
        return np.full(len(moves.batch), 2, np.int64)
    in_sync = among(moves.isr, facts.live).sum(axis=1)
    return np.where(in_sync < moves.min_isr, 0, np.where(in_sync == 1, 1, 2))


def _leads_rightly(moves: MoveColumns, added: Ints, facts: PlanFacts) -> Mask:
    first = moves.first_leader[:, None]
    stays: Mask = first[:, 0] == NOBODY
    if facts.leaders_stay:
        return stays
    may = inside(first, moves.isr) & inside(first, moves.original) & among(first, facts.live)
    other: Mask = may[:, 0] & (first[:, 0] != moves.leader) & (sizes(added) > 0)
    return stays | other


# -- sums --------------------------------------------------------------------------------------------------------------


def sums_of_moves(moves: MoveColumns, facts: PlanFacts) -> CheckedRows:
    found, added = CheckedRows(), moves.added
    copies = sizes(added)
    each = moves.copied // np.maximum(copies, 1)
    sums = {"bytes": moves.copied, "copying": (moves.copied > 0).astype(np.int64)}
    for row in grouped({"batch": moves.batch, "priority": moves.priority}, sums):
        one = BatchSums(row["priority"], row["priority"], row["count"], row["bytes"], row["copying"])
        found.batches.setdefault(row["batch"], BatchSums(one.first, one.last)).add(one)
    broker, _, batch, got, size = flat(added, moves.batch, each, np.maximum(moves.size, 0))
    for row in grouped({"batch": batch, "broker": broker}, {"got": got}):
        found.brokers[row["batch"], row["broker"]] = BrokerSums(receives=row["count"], got=row["got"])
    sends = (copies > 0) & (moves.sender >= 0)
    sent = {"sent": moves.copied[sends]}
    for row in grouped({"batch": moves.batch[sends], "broker": moves.sender[sends]}, sent):
        load = BrokerSums(sends=row["count"], sent=row["sent"])
        found.brokers.setdefault((row["batch"], row["broker"]), BrokerSums()).add(load)
    known = size > 0
    for one_broker in np.unique(broker[known]).tolist():
        found.arriving[one_broker] = size[known & (broker == one_broker)].tolist()
    found.impact.update({name: count for name, count in _impact(moves, facts).items() if count})
    _add_deltas(found, moves)
    return found


def _impact(moves: MoveColumns, facts: PlanFacts) -> dict[str, int]:
    leads, first = moves.sender, moves.target[:, 0]
    stays = inside(leads[:, None], moves.target)[:, 0]
    led_first = moves.first_leader != NOBODY
    live, before, after = among(moves.original, facts.live).sum(axis=1), sizes(moves.original), sizes(moves.target)
    lacking = live < before
    counted = {
        "leader_leaves": (leads >= 0) & ~stays,
        "other_first": (leads >= 0) & stays & (first != leads) & (first != moves.original[:, 0]),
        "led_first": led_first,
        "lacking": lacking,
        "single": lacking & (live == 1),
        "below_min_isr": lacking & (live < moves.min_isr),
        "below_min_isr_after": after < moves.min_isr,
        **_rack_losses(moves, facts),
    }
    counts = {name: int(of_moves.sum()) for name, of_moves in counted.items()}
    return counts | {"bytes_across_racks": _across_racks(moves, facts)}


def _across_racks(moves: MoveColumns, facts: PlanFacts) -> int:
    codes = {rack: code for code, rack in enumerate(dict.fromkeys(facts.racks.values()))}
    of_brokers = {broker: codes[rack] for broker, rack in facts.racks.items() if broker in facts.live}
    sends, comes = looked_up(moves.sender[:, None], of_brokers), looked_up(moves.added, of_brokers)
    elsewhere = ((comes != NOBODY) & (sends != NOBODY) & (comes != sends)).sum(axis=1)
    of_moves: list[int] = (moves.copied // np.maximum(sizes(moves.added), 1) * elsewhere).tolist()
    return sum(of_moves)


def _rack_losses(moves: MoveColumns, facts: PlanFacts) -> dict[str, Mask]:
    codes = {rack: code for code, rack in enumerate(dict.fromkeys(facts.racks.values()))}
    of_live = {broker: codes[rack] for broker, rack in facts.racks.items() if broker in facts.live}
    width = max(moves.original.shape[1], moves.target.shape[1])
    before, after = (fullest_first(looked_up(widened(side, width), of_live)) for side in (moves.original, moves.target))
    had, has = ((counts > 0).sum(axis=1) for counts in (before, after))
    fewer = has < np.minimum(had, sizes(moves.target))
    fuller = (after.cumsum(axis=1) > before.cumsum(axis=1)).any(axis=1)
    return {"fewer_racks": fewer, "less_even": ~fewer & fuller & (after.sum(axis=1) == before.sum(axis=1))}


def _add_deltas(found: CheckedRows, moves: MoveColumns) -> None:
    unknown = moves.size == NOBODY
    size = np.where(unknown, 0, moves.size)
    rates = (moves.produce, moves.fetch, moves.messages, moves.cpu)
    for replicas, sign in ((moves.original, -1), (moves.target, 1)):
        for broker, load in loads_of(replicas, size, unknown, rates).items():
            found.change(broker, BrokerDelta._make(sign * value for value in load))
