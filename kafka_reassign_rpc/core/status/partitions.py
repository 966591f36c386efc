"""`/api/v1/partitions`. `find_partitions` walks over all topics and keeps the names of the first `MOST_FOUND`;
`partitions_of` reads those of one page as they are now.
"""

from collections.abc import Generator
from itertools import chain
from typing import Literal, NamedTuple

from kafka_reassign_rpc.core.reassignment.move_sums import waiting_move
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.documents import Partitions, PartitionStatus, known
from kafka_reassign_rpc.core.status.moves import MOST_REPLICAS
from kafka_reassign_rpc.core.status.views import TermView, is_under_replicated
from kafka_reassign_rpc.support.slices import sorted_in_slices

MOST_FOUND = 5_000
"""Partitions that can be paged through. A search that finds more of them counts the rest."""

Health = Literal["under_replicated", "offline"]


class PartitionFilter(NamedTuple):
    """`name`: a part of the topic's name, or a partition's whole name (`payments-3`); `broker`: one of the replicas."""

    name: str | None = None
    broker: int | None = None
    state: Health | None = None


class Found(NamedTuple):
    """The first by name, and how many there are."""

    names: list[TopicPartition]
    size: int


def find_partitions(term: TermView, wanted: PartitionFilter) -> Generator[None, None, Found]:
    """A topic of exactly that name comes first. Topics in deletion are left out."""
    keys = []
    of_one, _, number = (wanted.name or "").rpartition("-")
    for topic in list(term.cluster.topics):
        yield
        if wanted.name is None or wanted.name in topic or topic == of_one:
            keys.append((topic not in (wanted.name, of_one), topic))
    names: list[TopicPartition] = []
    count = 0
    ordered = yield from sorted_in_slices(keys)
    for _, name in chain.from_iterable(ordered):
        topic_state = term.cluster.topics.get(name)
        if topic_state is None or topic_state.deleting:
            continue
        only = None if wanted.name is None or wanted.name in name else number
        for index in sorted(topic_state.partitions):
            yield
            partition = topic_state.partitions.get(index)
            if partition is None or (only is not None and str(index) != only) or not _fits(partition, wanted):
                continue
            count += 1
            if len(names) < MOST_FOUND:
                names.append(TopicPartition(name, index))
    return Found(names, count)


def _fits(partition: Partition, wanted: PartitionFilter) -> bool:
    if wanted.broker is not None and wanted.broker not in partition.replicas:
        return False
    if wanted.state == "offline":
        return partition.leader == NO_LEADER
    return wanted.state is None or is_under_replicated(partition)


def partitions_of(term: TermView, found: Found, *, offset: int, limit: int, at: int, listed_at: int) -> Partitions:
    """Without partitions that are gone by now."""
    names = found.names[offset : offset + limit]
    rows = [_document(term, name, partition) for name in names if (partition := term.cluster.get(*name)) is not None]
    return Partitions(at, listed_at, offset, limit, found.size, rows)


def _document(term: TermView, name: TopicPartition, partition: Partition) -> PartitionStatus:
    waits = waiting_move(term.cluster, name, partition) is not None
    figures = term.progress.figures(*name)
    size = term.cluster.soft.sizes.get(name) if figures is None else figures.total
    return PartitionStatus(
        topic=name.topic,
        partition=name.partition,
        state="moving" if partition.is_moving else "waiting" if waits else "at_rest",
        replicas=partition.replicas[:MOST_REPLICAS],
        isr=partition.isr[:MOST_REPLICAS] if partition.is_described else None,
        adding=partition.adding[:MOST_REPLICAS],
        removing=partition.removing[:MOST_REPLICAS],
        leader=known(partition.leader),
        size=size,
        under_replicated=is_under_replicated(partition) if partition.is_described else None,
        offline=partition.leader == NO_LEADER if partition.is_described else None,
    )
