"""Sums of the chunks of a plan, with which limits and figures are compared: they add up.

Whether the summary's figures of topics follow.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np

from kafka_reassign_rpc.pipeline.broker_lists import NOBODY, Ints, Mask, flat, grouped, looked_up
from kafka_reassign_rpc.pipeline.planning.verify_facts import NAMED_ROWS, RuleViolation
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary, TopicFigures


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


class BrokerSums(NamedTuple):
    """Of one batch."""

    receives: int = 0
    got: int = 0
    sends: int = 0
    sent: int = 0


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


S = TypeVar("S", BrokerSums, BrokerDelta)


def plus(one: S, other: S) -> S:
    return type(one)(*map(add, one, other))


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
            self.brokers[key] = plus(self.brokers.get(key, BrokerSums()), loads)
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
        self.deltas[broker] = plus(self.deltas.get(broker, BrokerDelta()), delta)


@dataclass(slots=True)
class NamedRows:
    """A count of partitions, and the names of the first, or texts: in their order of `keys`."""

    count: int = 0
    keys: list[Any] = field(default_factory=list)

    def add(self, other: "NamedRows") -> None:
        self.count += other.count
        self.keys = sorted([*self.keys, *other.keys])[:NAMED_ROWS]

    @property
    def first(self) -> list[str]:
        return [key if isinstance(key, str) else f"{key[0]}-{key[1]}" for key in self.keys]


@dataclass(slots=True)
class SnapshotSums:
    """`partitions`, `other_topics` and `too_small` also count those where no change can begin. `largest`: bytes of a
    replica, and the partition (of equal ones the last name); None: no size is known.

    unusable, unsized    where no change can begin, as texts; what has no known size
    unlisted             by broker that is not listed
    last_in_sync, below_min_isr    what would be lost if the drained brokers went before the plan
    """

    partitions: int = 0
    unknown_sizes: int = 0
    known_bytes: int = 0
    known: int = 0
    largest: tuple[int, str] | None = None
    loads: dict[int, BrokerDelta] = field(default_factory=dict)
    unusable: NamedRows = field(default_factory=NamedRows)
    unsized: NamedRows = field(default_factory=NamedRows)
    last_in_sync: NamedRows = field(default_factory=NamedRows)
    below_min_isr: NamedRows = field(default_factory=NamedRows)
    unlisted: dict[int, NamedRows] = field(default_factory=dict)
    other_topics: int = 0
    too_small: int = 0

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
        self.other_topics += other.other_topics
        self.too_small += other.too_small
        self.largest = max(filter(None, (self.largest, other.largest)), default=None)
        for broker, load in other.loads.items():
            self.loads[broker] = plus(self.loads.get(broker, BrokerDelta()), load)
        for name in ("unusable", "unsized", "last_in_sync", "below_min_isr"):
            getattr(self, name).add(getattr(other, name))
        for broker, names in other.unlisted.items():
            self.unlisted.setdefault(broker, NamedRows()).add(names)


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


PIECE = 5_000
"""A larger topic is spread in such pieces."""

Shares = Mapping[str, Mapping[int, float]]
"""By measure and broker: its part of each topic, with the tolerance."""


def topic_shares(summary: PlanSummary) -> Shares:
    """Empty unless the plan was to spread topics."""
    asked = [name for name in TopicFigures.__struct_fields__ if summary.requested.weights.get(f"topic_{name}")]
    return {name: _shares(name, summary) for name in asked} if summary.kind == "rebalance" else {}


def _shares(name: str, summary: PlanSummary) -> Mapping[int, float]:
    targets = {one.broker: getattr(one.target, name) for one in summary.brokers if one.live}
    whole = sum(targets.values())
    return {broker: one / whole * (1 + summary.requested.tolerance) for broker, one in targets.items()} if whole else {}


class TopicSpread(NamedTuple):
    """above    by measure: what brokers have above their shares, rounded up
    held     by measure, piece of a topic and broker: what it has, and its share
    """

    above: dict[str, int]
    held: dict[tuple[str, int, int], tuple[int, int]]


def topic_spread(pieces: Ints, replicas: Ints, shares: Shares) -> TopicSpread:
    """`pieces`: of topics, by row."""
    broker, place, piece = flat(replicas, pieces)
    rows = grouped({"piece": piece, "broker": broker}, {"leaders": (place == 0).astype(np.int64)}) if shares else []
    names = ("piece", "broker", "count", "leaders")
    columns = {name: np.array([row[name] for row in rows], np.int64) for name in names}
    _, of_piece = np.unique(columns["piece"], return_inverse=True)
    spread = TopicSpread({}, {})
    for name, parts in shares.items():
        held = columns["leaders" if name == "leaders" else "count"]
        whole = np.bincount(of_piece, held, minlength=1)[of_piece] if len(held) else held
        place_of = looked_up(columns["broker"], {one: number for number, one in enumerate(parts)})
        known = place_of != NOBODY
        part = np.array([*parts.values(), 0.0])[np.where(known, place_of, -1)]
        most = np.where(known, np.ceil(whole * part - 1e-9), held).astype(np.int64)
        spread.above[name] = int(np.maximum(0, held - most).sum())
        of_each = zip(columns["piece"].tolist(), columns["broker"].tolist(), held.tolist(), most.tolist(), strict=True)
        spread.held.update({(name, one, on): (has, even) for one, on, has, even in of_each})
    return spread


def faults_of_topics(checked: CheckedRows, summary: PlanSummary) -> Iterator[RuleViolation]:
    """Other plans than those that were to spread topics have none."""
    spreads = bool(topic_shares(summary))
    for name in ("topics_before", "topics_after"):
        says, follows = getattr(summary, name), TopicFigures(**getattr(checked, name)) if spreads else None
        if says != follows:
            yield RuleViolation("summary", name, f"{says}, not {follows}")
