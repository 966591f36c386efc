"""What a plan must name, and sums over the snapshot. `verify_on_spark` does the same."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.pipeline.planning.verify_arrays import (
    NOBODY,
    Ints,
    Mask,
    among,
    flat,
    fullest_first,
    grouped,
    inside,
    lists,
    looked_up,
    repeated,
    sizes,
    whole,
)
from kafka_reassign_rpc.pipeline.planning.verify_figures import SnapshotSums
from kafka_reassign_rpc.pipeline.planning.verify_rows import BrokerDelta
from kafka_reassign_rpc.pipeline.planning.verify_rules import SET_FACTOR, ListedBroker, PlanFacts

_NO_LEADER = -1
_MOST = 2.0**63


class SnapshotRows:
    """bytes       NOBODY: unknown
    rates       whole, per second: produce, fetch, messages, cpu; 0: not measured
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.replicas, self.isr = lists(table["replicas"]), lists(table["isr"])
        self.leader, self.bytes = whole(table["leader"], _NO_LEADER), whole(table["bytes"])
        self.rates = [_whole_rates(table[name]) for name in ("produce_rate", "fetch_rate", "message_rate", "cpu_rate")]
        changes = lists(table["adding"]), lists(table["removing"])
        waits: Mask = np.asarray(table["waiting"].fill_null(False)).astype(bool)
        self.in_flight: Mask = waits | (sizes(changes[0]) > 0) | (sizes(changes[1]) > 0)

    @cached_property
    def usable(self) -> Mask:
        """A change can begin: each replica stands once, and leader and ISR are among them."""
        leader = self.leader[:, None]
        leads = (leader == _NO_LEADER) | inside(leader, self.replicas)
        known = inside(self.isr, self.replicas) | (self.isr == NOBODY) | (self.isr == _NO_LEADER)
        found: Mask = leads[:, 0] & known.all(axis=1) & ~repeated(self.replicas).any(axis=1)
        return found & (sizes(self.replicas) > 0)

    def sums(self) -> SnapshotSums:
        usable, known = self.usable, self.bytes != NOBODY
        held = np.where(usable[:, None], self.replicas, NOBODY)
        size = np.where(known, self.bytes, 0)
        loads = loads_of(held, size, ~known, self.rates)
        return SnapshotSums(
            partitions=len(usable),
            unknown_sizes=int((usable & ~known).sum()),
            known_bytes=sum(size[usable].tolist()),
            known=int((usable & known).sum()),
            largest=self._largest(),
            loads=loads,
        )

    def _largest(self) -> tuple[int, str] | None:
        size = int(self.bytes.max(initial=0))
        if size <= 0:
            return None
        rows = self.table.take(np.flatnonzero(self.bytes == size)).select(["topic", "partition"]).to_pylist()
        return size, max(f"{row['topic']}-{row['partition']}" for row in rows)

    def concerned(self, facts: PlanFacts, brokers: Sequence[ListedBroker]) -> Mask:
        """These must move, or be left out with a reason. A plan that balances leaves out what cannot move."""
        forces: Mask = np.zeros(len(self.leader), bool)
        if facts.balances:
            forces = self._cannot_move(facts) & ((self.bytes == NOBODY) | (self.bytes >= facts.least_bytes))
        there = self.replicas != NOBODY
        if facts.mends:
            forces |= _uneven_over_racks(self.replicas, brokers)
        elif facts.kind == SET_FACTOR:
            forces |= there.sum(axis=1) != facts.factor
        elif facts.demoted:
            forces |= among(self.replicas[:, 0], facts.demoted) | among(self.leader, facts.demoted)
        forces |= among(self.replicas, facts.drained | facts.healed).any(axis=1)
        if facts.heals and not facts.healed:
            forces |= (there & ~among(self.replicas, facts.live)).any(axis=1)
        return forces & self.of_topics(facts)

    def of_topics(self, facts: PlanFacts) -> Mask:
        if not facts.topics:
            return np.ones(len(self.leader), bool)
        wanted = pa.array(sorted(facts.topics), pa.string())
        found: Mask = np.asarray(pc.is_in(self.table["topic"], wanted)).astype(bool)
        return found

    def _cannot_move(self, facts: PlanFacts) -> Mask:
        lost = ((self.replicas != NOBODY) & ~among(self.replicas, facts.live)).any(axis=1)
        found: Mask = self.in_flight | lost | ~among(self.isr, facts.live).any(axis=1) | ~self.usable
        return found


def loads_of(replicas: Ints, size: Ints, unknown: Mask, rates: Sequence[Ints]) -> dict[int, BrokerDelta]:
    """An unknown size counts as 0; `rates`: as of `SnapshotRows`."""
    broker, place, *of_rows = flat(replicas, size, unknown.astype(np.int64), *rates)
    leads = (place == 0).astype(np.int64)
    one, is_unknown, produced, fetched, counted, cpu = of_rows
    sums = {
        "bytes": one,
        "leaders": leads,
        "produce": produced,
        "fetch": fetched * leads,
        "bytes_in": produced * leads,
        "potential_out": fetched,
        "messages_in": counted * leads,
        "cpu": cpu * leads,
        "unknown": is_unknown,
    }
    rows = grouped({"broker": broker}, sums)
    return {row["broker"]: BrokerDelta(replicas=row["count"], **{name: row[name] for name in sums}) for row in rows}


def _whole_rates(rates: pa.ChunkedArray) -> Ints:
    values = np.asarray(rates.fill_null(0.0)).astype(np.float64, copy=False)
    return np.where(np.isfinite(values) & (np.abs(values) < _MOST), values, 0.0).astype(np.int64)


def _uneven_over_racks(replicas: Ints, brokers: Sequence[ListedBroker]) -> Mask:
    """All replicas have racks, but fewer than they could, or more are in one than needed: where few brokers may hold
    the partition, as many as the largest rack takes. A cordoned broker may hold only what it has.
    """
    names = {rack: code for code, rack in enumerate(sorted({one.rack for one in brokers if one.rack}))}
    rack_of = {one.id: names[one.rack] for one in brokers if one.rack}
    open_in = Counter(names[one.rack] for one in brokers if one.rack and one.live and not one.cordoned)
    closed: dict[int, list[int]] = {}
    for one in brokers:
        if one.rack and one.live and one.cordoned:
            closed.setdefault(names[one.rack], []).append(one.id)
    wanted, once = sizes(replicas), np.where(repeated(replicas), NOBODY, replicas)
    racks = looked_up(once, rack_of)
    have_racks = ~((racks == NOBODY) & (once != NOBODY)).any(axis=1)
    alike = [count for rack, count in open_in.items() if rack not in closed]
    others = [open_in[rack] + among(once, ids).sum(axis=1) for rack, ids in closed.items()]
    nothing = np.zeros(len(wanted), np.int64)
    largest = np.maximum.reduce([nothing + max([1, *alike]), *others])
    needed = nothing + 1
    for few in range(1, int(largest.max(initial=0)) + 1):
        holds = sum((np.minimum(one, few) for one in others), nothing + sum(min(one, few) for one in alike))
        needed += holds < wanted
    needed = np.minimum(needed, largest)
    possible = sum(((one > 0).astype(np.int64) for one in others), nothing + len(alike))
    held = fullest_first(racks)
    fewer = (held > 0).sum(axis=1) < np.minimum(wanted, possible)
    found: Mask = have_racks & (fewer | (held[:, 0] > needed))
    return found
