"""The partitions of a snapshot in chunks: runs of whole topics, packed, and what one look at every row has found.

Rows go through Python once. A chunk has only the partitions that the goal may move; the sums are of all.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pyspark import RDD, StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.planning.rounds_on_spark import CHUNK_PARTITIONS, merged, pack
from kafka_reassign_rpc.planner.forced_proposals import may_move
from kafka_reassign_rpc.planner.goals_and_options import Goal
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition, PlannerTopic
from kafka_reassign_rpc.planner.round_sums import Survey

NAMED = 20
"""Rows that are named one by one."""


class ChunkInput(NamedTuple):
    """What has to be known of a cluster beside its partitions. `brokers`: all that are listed; `live`: some of them."""

    goal: Goal
    brokers: frozenset[int]
    live: frozenset[int]
    min_isrs: dict[str, int]
    default_min_isr: int


class Faults(NamedTuple):
    """Rows that cannot be used: how many (`total`), and the first of them with what is wrong."""

    total: int
    first: tuple[str, ...]

    def merge(self, other: "Faults") -> "Faults":
        return Faults(self.total + other.total, tuple(sorted((*self.first, *other.first))[:NAMED]))


class SnapshotSurvey(NamedTuple):
    """What the look at every row brings back."""

    survey: Survey
    faults: Faults
    strangers: dict[int, tuple[str, ...]]
    """Brokers that the snapshot does not list, with the first partitions that name them."""

    @classmethod
    def nothing(cls) -> "SnapshotSurvey":
        return cls(Survey(), Faults(0, ()), {})

    def merge(self, other: "SnapshotSurvey") -> "SnapshotSurvey":
        strangers = dict(self.strangers)
        for broker, names in other.strangers.items():
            strangers[broker] = tuple(sorted((*strangers.get(broker, ()), *names))[:NAMED])
        return SnapshotSurvey(self.survey.merge(other.survey), self.faults.merge(other.faults), strangers)


Read = tuple[bytes, SnapshotSurvey]
"""A chunk (list[Topic]), packed, and what was found on the way to it."""


def read(partitions: DataFrame, given: ChunkInput, tasks: int) -> RDD[Read]:
    """All of them, kept in memory or on the executors' disks."""
    told = partitions.sparkSession.sparkContext.broadcast(given)
    wanted = partitions.select(
        *("topic", "partition", "replicas", "leader", "isr"),
        (f.size("adding") + f.size("removing") > 0).alias("moving"),
        f.coalesce("bytes", f.lit(UNKNOWN)).alias("bytes"),
        *(_whole(name) for name in ("produce_rate", "fetch_rate")),
    )
    rows = wanted.repartition(tasks, "topic").sortWithinPartitions("topic", "partition").rdd

    def build(found: Iterable[Any]) -> Iterator[Read]:
        return _chunks(_topics(found, told.value.min_isrs, told.value.default_min_isr), told.value)

    return rows.mapPartitions(build, preservesPartitioning=True).persist(StorageLevel.MEMORY_AND_DISK)


def look(chunks: RDD[Read]) -> SnapshotSurvey:
    """What was found in all of them."""
    return merged(chunks, _found_in, SnapshotSurvey.nothing, SnapshotSurvey.merge)


def _found_in(read: Read) -> SnapshotSurvey:
    return read[1]


def _whole(rate: str) -> Column:
    return f.coalesce(f.col(rate).cast("bigint"), f.lit(0)).alias(rate)


def _topics(rows: Iterable[Any], min_isrs: dict[str, int], default: int) -> Iterator[PlannerTopic]:
    current: PlannerTopic | None = None
    for topic, index, replicas, leader, isr, moving, size, produce, fetch in rows:
        if current is None or current.name != topic:
            if current is not None:
                yield current
            current, min_isr = PlannerTopic(topic, []), min_isrs.get(topic, default)
        current.partitions.append(
            PlannerPartition(index, tuple(replicas), leader, tuple(isr), moving, size, produce, fetch, min_isr)
        )
    if current is not None:
        yield current


def _chunks(topics: Iterable[PlannerTopic], given: ChunkInput) -> Iterator[Read]:
    chunk: list[PlannerTopic] = []
    held, found = 0, SnapshotSurvey.nothing()
    for topic in topics:
        kept, found = _looked_at(topic, given, found)
        if kept:
            chunk.append(PlannerTopic(topic.name, kept))
            held += len(kept)
        if held >= CHUNK_PARTITIONS:
            yield pack(chunk), found
            chunk, held, found = [], 0, SnapshotSurvey.nothing()
    yield pack(chunk), found


def _looked_at(
    topic: PlannerTopic, given: ChunkInput, found: SnapshotSurvey
) -> tuple[list[PlannerPartition], SnapshotSurvey]:
    """The partitions of it that the goal may move, and what has been found by then."""
    survey, faults, strangers = found
    kept: list[PlannerPartition] = []
    before = -1
    for partition in topic.partitions:
        wrong = "is there twice" if partition.index == before else _wrong(partition)
        before = partition.index
        if wrong:
            faults = faults.merge(Faults(1, (f"{topic.name}-{partition.index} {wrong}",)))
            continue
        survey.add(partition)
        if not given.brokers.issuperset(partition.replicas):
            _meet(strangers, partition, topic.name, given.brokers)
        if may_move(partition, given.goal, given.live):
            kept.append(partition)
    concerned = not given.goal.topics or topic.name in given.goal.topics
    return kept if concerned else [], SnapshotSurvey(survey, faults, strangers)


def _meet(
    strangers: dict[int, tuple[str, ...]], partition: PlannerPartition, topic: str, listed: frozenset[int]
) -> None:
    for broker in partition.replicas:
        names = strangers.get(broker, ())
        if broker not in listed and len(names) < NAMED:
            strangers[broker] = (*names, f"{topic}-{partition.index}")


def _wrong(partition: PlannerPartition) -> str:
    if not partition.replicas:
        return "has no replicas"
    if len(set(partition.replicas)) != len(partition.replicas):
        return f"has a broker twice in {list(partition.replicas)}"
    if min(partition.replicas) < 0:
        return f"has a broker below 0 in {list(partition.replicas)}"
    if partition.bytes < UNKNOWN or partition.index < 0:
        return f"has {partition.bytes} bytes" if partition.index >= 0 else "is no partition"
    return ""
