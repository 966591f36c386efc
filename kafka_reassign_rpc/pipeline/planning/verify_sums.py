"""Sums of the chunks of a plan, with which limits and figures are compared: they add up."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from operator import add
from typing import NamedTuple

import numpy as np

from kafka_reassign_rpc.pipeline.broker_lists import Ints, Mask, flat, grouped
from kafka_reassign_rpc.pipeline.planning.verify_facts import NAMED_ROWS, RuleViolation


@dataclass(slots=True)
class BatchSums:
    """`first`, `last`: priorities."""

    first: int
    last: int
    moves: int = 0
    bytes: int = 0
    copying: int = 0

    def add(self, other: "BatchSums") -> None:
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.moves += other.moves
        self.bytes += other.bytes
        self.copying += other.copying


@dataclass(slots=True)
class BrokerSums:
    """Of one batch."""

    receives: int = 0
    got: int = 0
    sends: int = 0
    sent: int = 0

    def add(self, other: "BrokerSums") -> None:
        self.receives += other.receives
        self.got += other.got
        self.sends += other.sends
        self.sent += other.sent


class BrokerDelta(NamedTuple):
    """`bytes` lacks the `unknown` replicas."""

    bytes: int = 0
    replicas: int = 0
    leaders: int = 0
    produce: int = 0
    fetch: int = 0
    bytes_in: int = 0
    potential_out: int = 0
    messages_in: int = 0
    cpu: int = 0
    unknown: int = 0


@dataclass(slots=True)
class LeftOutSums:
    """`staying`: by broker that the plan empties, with known bytes."""

    partitions: int = 0
    first: list[tuple[str, int]] = field(default_factory=list)
    bytes: int = 0
    staying: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, other: "LeftOutSums") -> None:
        self.partitions += other.partitions
        self.first = sorted([*self.first, *other.first])[:NAMED_ROWS]
        self.bytes += other.bytes
        for broker, (replicas, size) in other.staying.items():
            known = self.staying.get(broker, (0, 0))
            self.staying[broker] = known[0] + replicas, known[1] + size


@dataclass(slots=True)
class CheckedRows:
    """named       by rule: the first partitions that break it, each with a detail
    counts      by rule: how many break it
    brokers     by batch number and broker id
    arriving    by broker: the known sizes of replicas that come
    impact      by name of `ImpactFigures`: how many moves count, or bytes
    missed      left out, though the goal forces a change and no reassignment brings it
    no_room     left out for lack of room
    deltas      by broker: what moves bring and take
    topics_before, topics_after    by measure: what brokers have above their shares of topics
    """

    named: dict[str, list[tuple[str, int, str]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    batches: dict[int, BatchSums] = field(default_factory=dict)
    brokers: dict[tuple[int, int], BrokerSums] = field(default_factory=dict)
    arriving: dict[int, list[int]] = field(default_factory=dict)
    impact: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, LeftOutSums] = field(default_factory=dict)
    missed: int = 0
    no_room: int = 0
    deltas: dict[int, BrokerDelta] = field(default_factory=dict)
    topics_before: Counter[str] = field(default_factory=Counter)
    topics_after: Counter[str] = field(default_factory=Counter)

    def add(self, other: "CheckedRows") -> None:
        for rule, rows in other.named.items():
            self.named[rule] = list(islice(merge(self.named.get(rule, ()), rows), NAMED_ROWS))
        self.counts.update(other.counts)
        for batch, sums in other.batches.items():
            self.batches.setdefault(batch, BatchSums(sums.first, sums.last)).add(sums)
        for key, loads in other.brokers.items():
            self.brokers.setdefault(key, BrokerSums()).add(loads)
        for broker, sizes in other.arriving.items():
            self.arriving.setdefault(broker, []).extend(sizes)
        self.impact.update(other.impact)
        for reason, left_out in other.left_out.items():
            self.left_out.setdefault(reason, LeftOutSums()).add(left_out)
        self.missed += other.missed
        self.no_room += other.no_room
        self.topics_before.update(other.topics_before)
        self.topics_after.update(other.topics_after)
        for broker, delta in other.deltas.items():
            self.change(broker, delta)

    def name(self, rule: str, partitions: Sequence[tuple[str, int]], count: int, detail: Callable[[int], str]) -> None:
        """`partitions`: the first that break it, in order; `count`: all of them; `detail`: of one of the first."""
        if count:
            self.counts[rule] += count
            self.named[rule] = [(*one, detail(place)) for place, one in enumerate(partitions)]

    def violations(self, rule: str) -> Iterator[RuleViolation]:
        named = self.named.get(rule, [])
        for topic, partition, detail in named:
            yield RuleViolation(rule, f"{topic}-{partition}", detail)
        if self.counts[rule] > len(named):
            yield RuleViolation.unnamed(rule, self.counts[rule] - len(named))

    def change(self, broker: int, delta: BrokerDelta) -> None:
        known = self.deltas.get(broker, BrokerDelta())
        self.deltas[broker] = BrokerDelta._make(map(add, known, delta))


@dataclass(slots=True)
class SnapshotSums:
    """Only `partitions` counts those where no change can begin. `largest`: bytes of a replica, and the partition (of
    equal ones the last name); None: no size is known.
    """

    partitions: int = 0
    unknown_sizes: int = 0
    known_bytes: int = 0
    known: int = 0
    largest: tuple[int, str] | None = None
    loads: dict[int, BrokerDelta] = field(default_factory=dict)

    @property
    def typical(self) -> int:
        return self.known_bytes // self.known if self.known else 0

    def held(self) -> dict[int, int]:
        return {broker: load.bytes + load.unknown * self.typical for broker, load in self.loads.items()}

    def add(self, other: "SnapshotSums") -> None:
        self.partitions += other.partitions
        self.unknown_sizes += other.unknown_sizes
        self.known_bytes += other.known_bytes
        self.known += other.known
        self.largest = max(filter(None, (self.largest, other.largest)), default=None)
        for broker, load in other.loads.items():
            self.loads[broker] = BrokerDelta._make(map(add, self.loads.get(broker, BrokerDelta()), load))


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
