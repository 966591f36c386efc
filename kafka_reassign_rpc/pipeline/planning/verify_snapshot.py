"""What the snapshot says of partitions, as columns; what a plan of it must name; its sums.
Replicas by rack: a row for each partition, a column for each rack.
"""

from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.broker_lists import (
    NOBODY,
    Ints,
    Mask,
    among,
    counted_by,
    in_all,
    in_some,
    inside,
    lists,
    looked_up,
    repeated,
    sizes,
    taken,
    texts_of,
    whole,
)
from kafka_reassign_rpc.pipeline.planning.verify_facts import NAMED_ROWS, NO_RACK, SET_FACTOR, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_sums import BrokerDelta, NamedRows, SnapshotSums, loads_of
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import RATES

MANY = np.iinfo(np.int64).max


class Racks:
    """`of`: by broker. `named`: by rack, whether brokers are in it on purpose."""

    def __init__(self, facts: PlanFacts) -> None:
        self.codes = {rack: code for code, rack in enumerate(dict.fromkeys([NO_RACK, *facts.racks.values()]))}
        self.of = {broker: self.codes[rack] for broker, rack in facts.racks.items()}
        self.count = len(self.codes)
        self.named: Mask = np.arange(self.count) > 0
        self._closed = facts.staying & facts.cordoned
        self._open = self.sizes(facts.staying - facts.cordoned)

    def sizes(self, brokers: frozenset[int]) -> Ints:
        codes = [self.of[broker] for broker in brokers if broker in self.of]
        return np.bincount(np.array(codes, np.int64), minlength=self.count)

    def held(self, replicas: Ints) -> Ints:
        """Without those of unknown racks."""
        return counted_by(looked_up(replicas, self.of), self.count)

    def of_each(self, brokers: Ints) -> Ints:
        """Those of unknown racks are in one more, number `count`."""
        found = looked_up(brokers, self.of)
        return np.where((found == NOBODY) & (brokers != NOBODY), self.count, found)

    def room(self, replicas: Ints) -> Ints:
        """How many brokers may hold the partition: a cordoned one keeps what it has."""
        keep = among(replicas, self._closed) & ~repeated(replicas)
        return self._open + self.held(np.where(keep, replicas, NOBODY))

    def widest(self, replicas: Ints) -> tuple[Ints, Ints]:
        """In how many named racks so many replicas can be, and how many of them one has to have."""
        held, wanted = self.room(replicas)[:, self.named], sizes(replicas)
        return np.minimum(wanted, (held > 0).sum(axis=1)), most_in_a_rack(wanted, held)

    def has_named(self, replicas: Ints) -> Mask:
        """Whether all are in such."""
        found: Mask = in_all((replicas == NOBODY) | (looked_up(replicas, self.of) > 0))
        return found


def less_even_over_racks(original: Ints, target: Ints, facts: PlanFacts) -> Mask:
    """The rack rule of docs/pipeline.md: no more replicas in the fullest rack than before, or in the two fullest
    together, and so on.
    """
    racks, wanted = Racks(facts), sizes(target)
    before, room = racks.held(original), racks.room(original)
    allowed = np.minimum(before, room)
    while len(rows := np.nonzero((allowed.sum(axis=1) < before.sum(axis=1)) & in_some(allowed < room))[0]):
        emptiest = np.where(allowed[rows] < room[rows], allowed[rows], MANY).argmin(axis=1)
        allowed[rows, emptiest] += 1
    while len(rows := np.nonzero(allowed.sum(axis=1) > wanted)[0]):
        allowed[rows, allowed[rows].argmax(axis=1)] -= 1
    return _is_fuller(_with_unknown(racks.held(target), wanted), _with_unknown(allowed, wanted))


def rack_losses(original: Ints, target: Ints, facts: PlanFacts) -> dict[str, Mask]:
    """As the docstring of `ImpactFigures` defines."""
    racks = _racks_of_live(facts)
    before, after = (-np.sort(-racks.held(side), axis=1) for side in (original, target))
    had, has = ((held > 0).sum(axis=1) for held in (before, after))
    fewer = has < np.minimum(had, sizes(target))
    return {
        "fewer_racks": fewer,
        "less_even": ~fewer & (before.sum(axis=1) == after.sum(axis=1)) & _is_fuller(after, before),
    }


def copies_across_racks(sender: Ints, added: Ints, facts: PlanFacts) -> Ints:
    """By row: how many copies come to another rack than that of the broker that sends them, as far as it is known."""
    racks = _racks_of_live(facts)
    sends, comes = looked_up(sender[:, None], racks.of), looked_up(added, racks.of)
    found: Ints = ((sends != NOBODY) & (comes != NOBODY) & (sends != comes)).sum(axis=1)
    return found


def _racks_of_live(facts: PlanFacts) -> Racks:
    return Racks(facts._replace(racks={one: rack for one, rack in facts.racks.items() if one in facts.live}))


def mends_racks(original: Ints, target: Ints, facts: PlanFacts) -> Mask:
    """Replicas are in as many named racks as live brokers have, no more in one than needed, by as few copies as
    possible.
    """
    racks = Racks(facts)
    before, after = racks.held(original), racks.held(target)
    (wide, high), (possible, most) = racks.widest(target), racks.widest(original)
    is_even = ((after > 0).sum(axis=1) >= wide) & (after.max(axis=1) <= high)
    too_many = np.maximum(0, before - most[:, None]).sum(axis=1)
    needed = np.maximum(too_many, possible - (before > 0).sum(axis=1))
    added = sizes(target) - (inside(target, original) | repeated(target)).sum(axis=1)
    found: Mask = in_all(after[:, ~racks.named] == 0) & is_even & (added == needed)
    return found


def are_uneven(replicas: Ints, facts: PlanFacts) -> Mask:
    """All have racks, but are in fewer than they could be, or more are in one than needed: than one if no broker may
    hold them.
    """
    racks, once = Racks(facts), np.where(repeated(replicas), NOBODY, replicas)
    held, (possible, most) = racks.held(once), racks.widest(replicas)
    too_many = held.max(axis=1) > np.where(possible > 0, most, 1)
    found: Mask = racks.has_named(once) & (((held > 0).sum(axis=1) < possible) | too_many)
    return found


def most_in_a_rack(replicas: Ints, held: Ints) -> Ints:
    """The least that some rack must have. `held`: the brokers of each. With fewer brokers than replicas, the largest
    is full.
    """
    largest = held.max(axis=1, initial=0)
    most = np.where(largest > 0, np.minimum(replicas, largest), replicas)
    too_few = [np.minimum(held, few).sum(axis=1) < replicas for few in range(1, int(most.max(initial=0)))]
    return np.minimum(most, 1 + np.sum(too_few, axis=0, dtype=np.int64))


def _with_unknown(held: Ints, replicas: Ints) -> Ints:
    """The fullest first; replicas of unknown rack count in it."""
    counts = -np.sort(-held, axis=1)
    counts[:, 0] += replicas - counts.sum(axis=1)
    return counts


def _is_fuller(one: Ints, other: Ints) -> Mask:
    return in_some(one.cumsum(axis=1) > other.cumsum(axis=1))


NO_LEADER = -1
"""Null in snapshots and plans; earlier releases wrote it."""


class Stood(NamedTuple):
    """A row for each partition. NOBODY: null.

    there               the snapshot has it; the others are then false or NOBODY
    leader              -1: none
    bytes … cpu         of one replica; rates are whole, per second
    usable              a change can begin
    concerned           the goal forces a change, or a balancing plan must name it, since it cannot move
    chosen              the goal names the topic
    """

    there: Mask
    replicas: Ints
    leader: Ints
    isr: Ints
    adding: Ints
    removing: Ints
    bytes: Ints
    produce: Ints
    fetch: Ints
    messages: Ints
    cpu: Ints
    in_flight: Mask
    usable: Mask
    concerned: Mask
    chosen: Mask
    min_isr: Ints

    def at(self, rows: Ints) -> Self:
        """-1: a partition that the snapshot does not have."""
        return type(self)._make(taken(column, rows) for column in self)

    @property
    def destination(self) -> Ints:
        """Of its reassignment."""
        both = np.concatenate([self.replicas, self.adding], axis=1)
        return np.where(repeated(both) | inside(both, self.removing), NOBODY, both)


class SnapshotRows:
    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.replicas, self._isr, self._adding, self._removing = (
            lists(table[name]) for name in ("replicas", "isr", "adding", "removing")
        )
        self._leader, self._bytes = whole(table["leader"], NO_LEADER), whole(table["bytes"])
        self._rates = [_whole_rates(table[name]) for name in RATES]
        waits: Mask = np.asarray(table["waiting"].fill_null(False)).astype(bool)
        self._in_flight: Mask = waits | (sizes(self._adding) > 0) | (sizes(self._removing) > 0)

    def stood(self, facts: PlanFacts) -> Stood:
        return Stood(
            np.ones(len(self._leader), bool),
            self.replicas,
            self._leader,
            self._isr,
            self._adding,
            self._removing,
            self._bytes,
            *(self._rates[0], self._rates[1], self._rates[2], self._rates[3]),
            self._in_flight,
            self._usable,
            self._concerned(facts),
            self.of_topics(facts),
            self._least(facts),
        )

    def _least(self, facts: PlanFacts) -> Ints:
        """min.insync.replicas."""
        topics = self._table["topic"].combine_chunks().dictionary_encode()
        least: Ints = np.array([facts.min_isr(name) for name in topics.dictionary.to_pylist()], np.int64)
        found: Ints = least[np.asarray(topics.indices)]
        return found

    def sums(self, facts: PlanFacts) -> SnapshotSums:
        usable, known = self._usable, self._bytes != NOBODY
        last, below = self._losses(facts)
        held = np.where(usable[:, None], self.replicas, NOBODY)
        size = np.where(known, self._bytes, 0)
        unmoved = {broker: BrokerDelta() for broker in np.unique(self.replicas[~usable]).tolist() if broker != NOBODY}
        return SnapshotSums(
            partitions=len(usable),
            unknown_sizes=int((usable & ~known).sum()),
            known_bytes=sum(size[usable].tolist()),
            known=int((usable & known).sum()),
            largest=self._largest(),
            loads=unmoved | loads_of(held, size, ~known, self._rates),
            unusable=self._unusable(),
            unsized=self._named(usable & ~known),
            last_in_sync=self._named(last),
            below_min_isr=self._named(below),
            other_topics=int((~self.of_topics(facts)).sum()),
            too_small=int((self.of_topics(facts) & known & (self._bytes < facts.least_bytes)).sum()),
            unlisted={one: self._named_as_texts(in_some(self.replicas == one)) for one in self._strangers(facts)},
        )

    def _strangers(self, facts: PlanFacts) -> list[int]:
        held = np.unique(self.replicas)
        found: list[int] = held[(held != NOBODY) & ~among(held, facts.listed)].tolist()
        return found

    def _losses(self, facts: PlanFacts) -> tuple[Mask, Mask]:
        """Of in-sync replicas, if the drained brokers went: the last one, or one of too few."""
        isr, leaves = self._isr, among(self._isr, facts.drained)
        rest = (among(isr, facts.live) & ~leaves).sum(axis=1)
        least = np.minimum(self._least(facts), sizes(self.replicas))
        return in_some(leaves) & (rest == 0), in_some(leaves) & (rest < least)

    def _unusable(self) -> NamedRows:
        rows = np.nonzero(~self._usable)[0]
        why = why_unusable(self.replicas[rows], self._leader[rows], self._isr[rows]).tolist()
        texts = (f"{name}: {text}" for name, text in zip(self._texts(rows).to_pylist(), why, strict=True))
        return NamedRows(len(rows), sorted(texts)[:NAMED_ROWS])

    def _named(self, rows: Mask) -> NamedRows:
        chosen = self._table.select(["topic", "partition"]).filter(pa.array(rows))
        first = pc.sort_indices(chosen, [("topic", "ascending"), ("partition", "ascending")])[:NAMED_ROWS]
        keys = [tuple(row.values()) for row in chosen.take(first).to_pylist()]
        return NamedRows(len(chosen), keys)

    def _named_as_texts(self, rows: Mask) -> NamedRows:
        names = self._texts(np.nonzero(rows)[0])
        return NamedRows(len(names), names.take(pc.sort_indices(names)[:NAMED_ROWS]).to_pylist())

    def _texts(self, rows: Ints) -> pa.ChunkedArray:
        some = self._table.select(["topic", "partition"]).take(pa.array(rows, pa.int64()))
        return pc.binary_join_element_wise(some["topic"], some["partition"].cast(pa.string()), "-")

    def _largest(self) -> tuple[int, str] | None:
        size = int(self._bytes.max(initial=0))
        if size <= 0:
            return None
        return size, pc.max(self._texts(np.nonzero(self._bytes == size)[0])).as_py()

    def of_topics(self, facts: PlanFacts) -> Mask:
        if not facts.topics:
            return np.ones(len(self._leader), bool)
        wanted = pa.array(sorted(facts.topics), pa.string())
        found: Mask = np.asarray(pc.is_in(self._table["topic"], wanted)).astype(bool)
        return found

    @cached_property
    def _usable(self) -> Mask:
        leader = self._leader[:, None]
        leads = (leader == NO_LEADER) | inside(leader, self.replicas)
        known = inside(self._isr, self.replicas) | (self._isr == NOBODY) | (self._isr == NO_LEADER)
        found: Mask = leads[:, 0] & in_all(known) & ~in_some(repeated(self.replicas))
        return found & (sizes(self.replicas) > 0)

    def _concerned(self, facts: PlanFacts) -> Mask:
        forces: Mask = np.zeros(len(self._leader), bool)
        if facts.balances:
            forces = self._cannot_move(facts) & ((self._bytes == NOBODY) | (self._bytes >= facts.least_bytes))
        there = self.replicas != NOBODY
        if facts.mends:
            forces |= are_uneven(self.replicas, facts)
        elif facts.kind == SET_FACTOR:
            forces |= there.sum(axis=1) != facts.factor
        elif facts.demoted:
            forces |= is_led_by(facts.demoted, self.replicas, self._leader)
        forces |= in_some(among(self.replicas, facts.drained | facts.healed))
        if facts.heals and not facts.healed:
            forces |= in_some(there & ~among(self.replicas, facts.live))
        return forces & self.of_topics(facts)

    def _cannot_move(self, facts: PlanFacts) -> Mask:
        lost = in_some((self.replicas != NOBODY) & ~among(self.replicas, facts.live))
        found: Mask = self._in_flight | lost | ~in_some(among(self._isr, facts.live)) | ~self._usable
        return found


def why_unusable(replicas: Ints, leader: Ints, isr: Ints) -> Ints:
    """Texts, of rows at which no change can begin."""

    def text(row: list[int]) -> str:
        first, held, in_sync = row[0], row[3 : 3 + row[1]], row[3 + row[1] :]
        if not held:
            return "it has no replicas"
        if len({*held}) < len(held):
            return f"it has a broker twice in {held}"
        strangers = ", ".join(map(str, sorted({first, *in_sync} - {NO_LEADER, *held})))
        return f"its leader or ISR is outside of its replicas {held}: {strangers}"

    heads = np.stack([leader, sizes(replicas), sizes(isr)], axis=1)
    return texts_of(np.concatenate([heads, replicas, isr], axis=1), text)


def is_led_by(brokers: frozenset[int], replicas: Ints, leader: Ints) -> Mask:
    """Now, or after the next preferred election."""
    return among(replicas[:, 0], brokers) | among(leader, brokers)


def _whole_rates(rates: pa.ChunkedArray) -> Ints:
    values = np.asarray(rates.fill_null(0.0)).astype(np.float64, copy=False)
    return np.where(np.isfinite(values) & (np.abs(values) < 2.0**63), values, 0.0).astype(np.int64)
