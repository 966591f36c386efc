"""Cuts the partitions of a snapshot into chunks, lists of topics, with a survey of all rows.

Rows go through Python once. A chunk holds only the partitions that the goal may move; the survey covers all. Tasks
import this module.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kafka_reassign_rpc.planner.goals_and_options import Goal
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition, PlannerTopic
from kafka_reassign_rpc.planner.proposals.forced_proposals import may_move
from kafka_reassign_rpc.planner.proposals.round_sums import Survey

CHUNK_PARTITIONS = 5000
"""A chunk is closed after the topic with which it reaches this number of partitions."""
PIECE_PARTITIONS = 5000
"""A topic with more partitions is planned in pieces: partitions 0 to 4999, 5000 to 9999, … The spread of a topic over
brokers (a soft goal) holds for each piece, and so nearly for the topic."""
NAMED_ROWS = 20
"""Rows that a message names one by one."""


class ClusterFacts(NamedTuple):
    """What a task must know of the cluster beside its partitions.

    brokers    all that the snapshot lists; live: those of them that are live
    min_isrs   min.insync.replicas of the topics that set it
    """

    goal: Goal
    brokers: frozenset[int]
    live: frozenset[int]
    min_isrs: dict[str, int]
    default_min_isr: int


class RowFaults(NamedTuple):
    """Rows that cannot be used: their number, and the first of them with its errors."""

    total: int
    first: tuple[str, ...]

    def merge(self, other: "RowFaults") -> "RowFaults":
        return RowFaults(self.total + other.total, tuple(sorted((*self.first, *other.first))[:NAMED_ROWS]))


class SnapshotSurvey(NamedTuple):
    """What a pass over all rows finds.

    unlisted    brokers that the snapshot does not list, with the first partitions that have replicas there
    largest     the partition with the largest replicas: the bytes of one, and its name; 0 bytes: no size is known
    kept        partitions in chunks
    """

    survey: Survey
    faults: RowFaults
    unlisted: dict[int, tuple[str, ...]]
    largest: tuple[int, str] = (0, "")
    kept: int = 0

    @classmethod
    def nothing(cls) -> "SnapshotSurvey":
        return cls(Survey(), RowFaults(0, ()), {})

    def merge(self, other: "SnapshotSurvey") -> "SnapshotSurvey":
        unlisted = dict(self.unlisted)
        for broker, names in other.unlisted.items():
            unlisted[broker] = tuple(sorted((*unlisted.get(broker, ()), *names))[:NAMED_ROWS])
        largest, kept = max(self.largest, other.largest), self.kept + other.kept
        return SnapshotSurvey(self.survey.merge(other.survey), self.faults.merge(other.faults), unlisted, largest, kept)


SurveyedChunk = tuple[list[PlannerTopic], SnapshotSurvey]
"""A chunk, and the survey of the rows since the chunk before."""


def surveyed_chunks(rows: Iterable[Any], facts: ClusterFacts) -> Iterator[SurveyedChunk]:
    """All rows in chunks; the last may be empty.

    rows    sorted by topic and partition; each has the topic, its partition's number, replicas, leader, ISR, whether
            its move is in flight or waits, bytes of a replica (UNKNOWN: not known), bytes produced and fetched per
            second, and the replicas that it will have
    """
    chunk: list[PlannerTopic] = []
    held, found = 0, SnapshotSurvey.nothing()
    for topic in _topics(rows, facts.min_isrs, facts.default_min_isr):
        kept, found = _survey_topic(topic, facts, found)
        if kept:
            chunk.append(PlannerTopic(topic.name, kept))
            held += len(kept)
        if held >= CHUNK_PARTITIONS:
            yield chunk, found
            chunk, held, found = [], 0, SnapshotSurvey.nothing()
    yield chunk, found


def _topics(rows: Iterable[Any], min_isrs: dict[str, int], default: int) -> Iterator[PlannerTopic]:
    """Rows, sorted by topic and partition, as topics. A huge topic comes in pieces, so that it is not one task."""
    current: PlannerTopic | None = None
    piece = 0
    for topic, index, replicas, leader, isr, moving, size, produce, fetch, destination in rows:
        if current is None or current.name != topic or index // PIECE_PARTITIONS != piece:
            if current is not None:
                yield current
            current, min_isr = PlannerTopic(topic, []), min_isrs.get(topic, default)
            piece = index // PIECE_PARTITIONS
        partition = PlannerPartition(index, tuple(replicas), leader, tuple(isr), moving, size, produce, fetch, min_isr)
        if moving:
            partition.destination = tuple(destination)
        current.partitions.append(partition)
    if current is not None:
        yield current


def _survey_topic(
    topic: PlannerTopic, facts: ClusterFacts, found: SnapshotSurvey
) -> tuple[list[PlannerPartition], SnapshotSurvey]:
    """The topic's partitions that the goal may move, and the survey with all of them added."""
    survey, faults, unlisted, largest, earlier = found
    kept: list[PlannerPartition] = []
    before = -1
    for partition in topic.partitions:
        fault = "occurs twice" if partition.index == before else _row_fault(partition)
        before = partition.index
        if fault:
            faults = faults.merge(RowFaults(1, (f"{topic.name}-{partition.index} {fault}",)))
            continue
        survey.add(partition)
        if partition.bytes > largest[0]:
            largest = (partition.bytes, f"{topic.name}-{partition.index}")
        if not facts.brokers.issuperset(partition.replicas):
            _add_unlisted(unlisted, partition, topic.name, facts.brokers)
        if may_move(partition, facts.goal, facts.live):
            kept.append(partition)
    if facts.goal.topics and topic.name not in facts.goal.topics:
        kept = []
    return kept, SnapshotSurvey(survey, faults, unlisted, largest, earlier + len(kept))


def _add_unlisted(
    unlisted: dict[int, tuple[str, ...]], partition: PlannerPartition, topic: str, listed: frozenset[int]
) -> None:
    """Keep the first names by order of text, as `merge` does: they do not depend on how topics are cut into chunks."""
    for broker in partition.replicas:
        if broker not in listed:
            names = (*unlisted.get(broker, ()), f"{topic}-{partition.index}")
            unlisted[broker] = tuple(sorted(names)[:NAMED_ROWS])


def _row_fault(partition: PlannerPartition) -> str:
    """Why the row cannot be used, or ""."""
    if not partition.replicas:
        return "has no replicas"
    if len(set(partition.replicas)) != len(partition.replicas):
        return f"has a broker twice in {list(partition.replicas)}"
    if min(partition.replicas) < 0:
        return f"has a broker below 0 in {list(partition.replicas)}"
    if partition.bytes < UNKNOWN or partition.index < 0:
        return f"has {partition.bytes} bytes" if partition.index >= 0 else "is no partition"
    return ""
