"""The moves that wait, who keeps them from starting, and how many bytes they will copy."""

from collections.abc import Collection, Iterator

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.human_units import utc_time

Waiting = tuple[TopicPartition, Partition, WaitingMove]


def waiting_moves(cluster: Cluster) -> Iterator[Waiting | None]:
    """First those of the queue, even if another move of their partition is in flight, then those of the batch.

    None: an entry does not wait. The cluster may change between two steps.
    """
    queue, batch = cluster.queue.topics, cluster.batch
    for topic in list(queue):
        for index in list(queue.get(topic, ())):
            yield _waiting(cluster, TopicPartition(topic, index))
    for name in () if batch is None or not batch.waiting else batch.entries:
        if cluster.queue.place(*name) is None:
            yield _waiting(cluster, name)


def _waiting(cluster: Cluster, name: TopicPartition) -> Waiting | None:
    partition = cluster.get(*name)
    move = None if partition is None else waiting_move(cluster, name, partition)
    return None if partition is None or move is None else (name, partition, move)


def waiting_move(cluster: Cluster, name: TopicPartition, partition: Partition) -> WaitingMove | None:
    place = cluster.queue.place(*name)
    if place is not None:
        return place.move
    # An entry of the batch stays there while it moves.
    entry = None if cluster.batch is None or partition.is_moving else cluster.batch.entries.get(name)
    return None if entry is None else WaitingMove(entry.terms)


def origin_of(partition: Partition) -> tuple[int, ...]:
    """A waiting move begins where the one in flight ends."""
    return partition.target if partition.is_moving else partition.replicas


def held_text(held: Held) -> str:
    """Such as `by User:alice from 10.0.0.7 since 2026-11-24 15:42:08 UTC: disks are replaced`."""
    by = f"by {held.who} " if held.who else ""
    since = f"since {utc_time(held.since)} UTC" if held.since > 0 else "since an unknown time"
    return f"{by}{since}" + (f": {held.reason}" if held.reason else "")


FOR_APPROVAL = "for approval"


def why_not_started(move: WaitingMove) -> str | None:
    """In words for people: who keeps a waiting move from starting, or that it waits `FOR_APPROVAL`; or None."""
    if move.held is not None:
        return held_text(move.held)
    return None if move.unapproved is None else f"{FOR_APPROVAL}{since_text(move.unapproved)}"


def since_text(unapproved: int) -> str:
    return f" since {utc_time(unapproved)} UTC" if unapproved > 0 else ""


def bytes_to_copy(adding: Collection[int], size: int | None) -> int | None:
    """None: unknown."""
    if not adding:
        return 0
    return None if size is None else size * len(adding)


def added_by(partition: Partition, move: WaitingMove) -> tuple[int, ...]:
    origin = origin_of(partition)
    return tuple([broker for broker in move.terms.target if broker not in origin])
