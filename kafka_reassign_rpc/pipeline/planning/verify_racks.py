"""Replicas by rack: a row for each partition, a column for each rack."""

import numpy as np

from kafka_reassign_rpc.pipeline.broker_lists import (
    NOBODY,
    Ints,
    Mask,
    among,
    counted_by,
    in_all,
    in_some,
    inside,
    looked_up,
    repeated,
    sizes,
)
from kafka_reassign_rpc.pipeline.planning.verify_facts import NO_RACK, PlanFacts

MANY = np.iinfo(np.int64).max


class Racks:
    """`of`: by broker. `named`: by rack, whether brokers are in it on purpose."""

    def __init__(self, facts: PlanFacts) -> None:
        codes = {rack: code for code, rack in enumerate(dict.fromkeys([NO_RACK, *facts.racks.values()]))}
        self.of = {broker: codes[rack] for broker, rack in facts.racks.items()}
        self.named: Mask = np.arange(len(codes)) > 0
        self.count = len(codes)
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
