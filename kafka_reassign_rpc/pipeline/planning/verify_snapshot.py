"""What the snapshot says of partitions, as columns; what a plan of it must name; its sums."""

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
    in_all,
    in_some,
    inside,
    lists,
    repeated,
    sizes,
    taken,
    whole,
)
from kafka_reassign_rpc.pipeline.planning.verify_facts import SET_FACTOR, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_racks import are_uneven
from kafka_reassign_rpc.pipeline.planning.verify_sums import SnapshotSums, loads_of
from kafka_reassign_rpc.pipeline.snapshots.rate_columns import RATES

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
        topics = self._table["topic"].combine_chunks().dictionary_encode()
        least = np.array([facts.min_isr(name) for name in topics.dictionary.to_pylist()], np.int64)
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
            least[np.asarray(topics.indices)],
        )

    def sums(self) -> SnapshotSums:
        usable, known = self._usable, self._bytes != NOBODY
        held = np.where(usable[:, None], self.replicas, NOBODY)
        size = np.where(known, self._bytes, 0)
        return SnapshotSums(
            partitions=len(usable),
            unknown_sizes=int((usable & ~known).sum()),
            known_bytes=sum(size[usable].tolist()),
            known=int((usable & known).sum()),
            largest=self._largest(),
            loads=loads_of(held, size, ~known, self._rates),
        )

    def _largest(self) -> tuple[int, str] | None:
        size = int(self._bytes.max(initial=0))
        if size <= 0:
            return None
        rows = self._table.filter(pa.array(self._bytes == size))
        names = pc.binary_join_element_wise(rows["topic"], rows["partition"].cast(pa.string()), "-")
        return size, pc.max(names).as_py()

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


def is_led_by(brokers: frozenset[int], replicas: Ints, leader: Ints) -> Mask:
    """Now, or after the next preferred election."""
    return among(replicas[:, 0], brokers) | among(leader, brokers)


def _whole_rates(rates: pa.ChunkedArray) -> Ints:
    values = np.asarray(rates.fill_null(0.0)).astype(np.float64, copy=False)
    return np.where(np.isfinite(values) & (np.abs(values) < 2.0**63), values, 0.0).astype(np.int64)
