"""Cuts the partitions of a snapshot that the goal may move into chunks of whole topics, and surveys all in the same
pass. Tasks import this module.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kafka_reassign_rpc.core.brokers.departure import BrokerFacts, Losses, PartitionFacts, loss_of
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.pipeline.snapshots.rate_columns import MOST_RATE
from kafka_reassign_rpc.planner.goals_and_options import Goal
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition, PlannerTopic
from kafka_reassign_rpc.planner.proposals.forced_proposals import may_move
from kafka_reassign_rpc.planner.proposals.round_sums import Survey

CHUNK_PARTITIONS = 5000
"""The topic that reaches this number closes the chunk."""
PIECE_PARTITIONS = 5000
"""A larger topic is planned in such pieces. The spread of a topic over brokers (a soft goal) then holds for each."""
NO_RATE = -1
NAMED_ROWS = 20


class ClusterFacts(NamedTuple):
    """brokers          all that the snapshot lists
    departing        the live ones, if the goal empties brokers
    racks            see `Survey`
    spreads_topics   topics come whole
    """

    goal: Goal
    brokers: frozenset[int]
    live: frozenset[int]
    min_isrs: dict[str, int]
    default_min_isr: int
    departing: Mapping[int, BrokerFacts] | None = None
    racks: Mapping[int, str] | None = None
    spreads_topics: bool = False


class RowFaults(NamedTuple):
    total: int
    first: tuple[str, ...]

    def merge(self, other: "RowFaults") -> "RowFaults":
        return RowFaults(self.total + other.total, tuple(sorted((*self.first, *other.first))[:NAMED_ROWS]))


class SnapshotSurvey(NamedTuple):
    """faults      rows that no cluster can show
    unusable    partitions that stay as they are, whatever the goal
    unlisted    brokers that the snapshot does not list, with the first partitions there
    largest     bytes of the largest replica, and its partition (of equal ones the last name); 0 bytes: no size is known
    kept        partitions in chunks
    losses      what would be lost if drained brokers went now; None: none is drained
    """

    survey: Survey
    faults: RowFaults
    unusable: RowFaults
    unlisted: dict[int, tuple[str, ...]]
    largest: tuple[int, str] = (0, "")
    kept: int = 0
    losses: Losses | None = None

    @classmethod
    def nothing(cls, racks: Mapping[int, str] | None = None) -> "SnapshotSurvey":
        return cls(Survey(racks), RowFaults(0, ()), RowFaults(0, ()), {})

    def merge(self, other: "SnapshotSurvey") -> "SnapshotSurvey":
        unlisted = dict(self.unlisted)
        for broker, names in other.unlisted.items():
            unlisted[broker] = tuple(sorted((*unlisted.get(broker, ()), *names))[:NAMED_ROWS])
        largest, kept = max(self.largest, other.largest), self.kept + other.kept
        faults, unusable = self.faults.merge(other.faults), self.unusable.merge(other.unusable)
        losses = None
        if self.losses is not None or other.losses is not None:
            losses = Losses()
            for one in (self.losses, other.losses):
                if one is not None:
                    losses.merge(one, NAMED_ROWS)
        return SnapshotSurvey(self.survey.merge(other.survey), faults, unusable, unlisted, largest, kept, losses)


SurveyedChunk = tuple[list[PlannerTopic], SnapshotSurvey]


def surveyed_chunks(rows: Iterable[Any], facts: ClusterFacts) -> Iterator[SurveyedChunk]:
    """The last may be empty.

    rows    sorted by topic and partition: topic, number, replicas, leader, ISR, whether its move is in flight or waits,
            bytes of a replica (or UNKNOWN), bytes produced and fetched per second, messages produced and
            microseconds of CPU per second, each a `whole_rate`, replicas that it will have
    """
    chunk: list[PlannerTopic] = []
    held, found = 0, SnapshotSurvey.nothing(facts.racks)
    for topic in _topics(rows, facts.min_isrs, facts.default_min_isr):
        kept, found = _survey_topic(topic, facts, found)
        if kept:
            chunk.append(PlannerTopic(topic.name, kept))
            held += len(kept)
        if held >= CHUNK_PARTITIONS:
            yield chunk, found
            chunk, held, found = [], 0, SnapshotSurvey.nothing(facts.racks)
    yield chunk, found


def _topics(rows: Iterable[Any], min_isrs: dict[str, int], default: int) -> Iterator[PlannerTopic]:
    """Cuts a huge topic into pieces, so that it is not one task."""
    current: PlannerTopic | None = None
    piece = 0
    for topic, index, replicas, leader, isr, moving, size, produce, fetch, messages, cpu, destination in rows:
        if current is None or current.name != topic or index // PIECE_PARTITIONS != piece:
            if current is not None:
                yield current
            current, min_isr = PlannerTopic(topic, []), min_isrs.get(topic, default)
            piece = index // PIECE_PARTITIONS
        partition = PlannerPartition(index, tuple(replicas), leader, tuple(isr), moving, size, produce, fetch, min_isr)
        partition.messages, partition.cpu = messages, cpu
        if moving:
            partition.destination = tuple(destination)
        current.partitions.append(partition)
    if current is not None:
        yield current


def _survey_topic(
    topic: PlannerTopic, facts: ClusterFacts, found: SnapshotSurvey
) -> tuple[list[PlannerPartition], SnapshotSurvey]:
    survey, faults, unusable, unlisted, largest, earlier, losses = found
    if facts.departing is not None and losses is None:
        losses = Losses()
    kept: list[PlannerPartition] = []
    before = -1
    for partition in topic.partitions:
        fault = "occurs twice" if partition.index == before else _row_fault(topic.name, partition)
        before = partition.index
        if fault:
            faults = faults.merge(RowFaults(1, (f"{topic.name}-{partition.index} {fault}",)))
            continue
        partition.fault = _partition_fault(partition)
        if partition.fault:
            unusable = unusable.merge(RowFaults(1, (f"{topic.name}-{partition.index}: {partition.fault}",)))
            survey.partitions += 1
        else:
            survey.add(partition)
        if losses is not None and facts.departing is not None:
            name = TopicPartition(topic.name, partition.index)
            loss = loss_of(_partition_facts(name, partition), facts.goal.drained, facts.departing)
            losses.add(name, loss, NAMED_ROWS)
        if partition.bytes >= largest[0]:
            largest = max(largest, (partition.bytes, f"{topic.name}-{partition.index}"))
        if not facts.brokers.issuperset(partition.replicas):
            _add_unlisted(unlisted, partition, topic.name, facts.brokers)
        if may_move(partition, facts.goal, facts.live):
            kept.append(partition)
    if facts.goal.topics and topic.name not in facts.goal.topics:
        kept = []
    return kept, SnapshotSurvey(survey, faults, unusable, unlisted, largest, earlier + len(kept), losses)


def _partition_facts(name: TopicPartition, partition: PlannerPartition) -> PartitionFacts:
    """The planner does not know which of the replicas a move adds."""
    replicas = partition.replicas
    target = partition.destination if partition.moving else replicas
    return PartitionFacts(name, replicas, replicas, target, partition.isr, partition.min_isr)


def _add_unlisted(
    unlisted: dict[int, tuple[str, ...]], partition: PlannerPartition, topic: str, listed: frozenset[int]
) -> None:
    """In order of text, as `merge` does: so names do not depend on how topics are cut into chunks."""
    for broker in partition.replicas:
        if broker not in listed:
            names = (*unlisted.get(broker, ()), f"{topic}-{partition.index}")
            unlisted[broker] = tuple(sorted(names)[:NAMED_ROWS])


def whole_rate(rate: float | None) -> int:
    """Per second; 0: not measured; NO_RATE: this is no rate."""
    if rate is None:
        return 0
    return int(rate) if 0 <= rate < MOST_RATE else NO_RATE


def _row_fault(topic: str, partition: PlannerPartition) -> str:
    """Why the row cannot come from any cluster, or ""."""
    if not topic:
        return "has no topic name"
    if partition.index < 0:
        return "is no partition"
    if min(partition.replicas, default=0) < 0:
        return f"has a broker below 0 in {list(partition.replicas)}"
    if partition.bytes < UNKNOWN:
        return f"has {partition.bytes} bytes"
    if NO_RATE in (partition.produce, partition.fetch, partition.messages, partition.cpu):
        return "has a rate that is negative, no number or too large"
    return ""


def _partition_fault(partition: PlannerPartition) -> str:
    """Why no plan can begin with the partition as it is, or ""."""
    replicas = partition.replicas
    if not replicas:
        return "it has no replicas"
    if len(set(replicas)) != len(replicas):
        return f"it has a broker twice in {list(replicas)}"
    strangers = sorted({partition.leader, *partition.isr} - {-1, *replicas})
    if strangers:
        return f"its leader or ISR is outside of its replicas {list(replicas)}: {', '.join(map(str, strangers))}"
    return ""
