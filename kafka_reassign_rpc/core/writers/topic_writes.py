"""Puts topics and partitions, with their indexes, into a `Cluster`; a partition as its znodes show it."""

from collections.abc import Container, Mapping
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import TOPICS
from kafka_reassign_rpc.core.reassignment_algebra import among, without
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LAST_ZXID, NO_LEADER, REVISIONS, MoveRecord, Partition, Topic, Twin
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

DurableAssignment = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Replicas, adding, removing. A plain tuple: a topic has thousands, and each write of its znode needs all."""


def durable_assignment(partition: Partition) -> DurableAssignment:
    """Lists pending deletions as removing."""
    replicas, removing, pending_deletion = partition.replicas, partition.removing, partition.pending_deletion
    return (
        (replicas + pending_deletion, partition.adding, removing + pending_deletion)
        if pending_deletion
        else (replicas, partition.adding, removing)
    )


def durable_in_deletion(partition: Partition, live: Container[int]) -> DurableAssignment:
    """While its topic is deleted: all replicas to delete, and no move, which a stock controller that takes over would
    continue, starting deleted replicas. One that is pending deletion counts while its broker lives
    (`topic_deletion.replicas_to_delete`).
    """
    waited_for = tuple([broker for broker in partition.pending_deletion if broker in live])
    return partition.replicas + waited_for, (), ()


def with_known_completion(known: Partition, read: Partition) -> Partition:
    """Drops a move that the topic znode still shows although it is complete.

    The znode keeps it while replicas are pending deletion (`AssignmentWrite.LATER`). A new controller completes it
    again, since brokers may not know; this one would raise the leader epoch whenever others write the znode.
    """
    pending_deletion = known.pending_deletion
    if (
        not pending_deletion
        or known.is_moving
        or read.move is not None
        or read.target != known.replicas
        or read.created != known.created
        or not set(pending_deletion).issubset(read.removing)
        or not set(read.isr).issubset(known.replicas)
    ):
        return read
    return replace(read, replicas=known.replicas, adding=(), removing=(), pending_deletion=pending_deletion)


class LoadedAssignment(NamedTuple):
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class LoadedState(NamedTuple):
    """`version`: its zkVersion, `created`: its czxid."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int
    leader_recovery_state: int = 0
    created: int = -1


NO_STATE = LoadedState(leader=NO_LEADER, leader_epoch=0, isr=(), controller_epoch=0, version=-1)


def partition_of(
    assigned: LoadedAssignment, state: LoadedState | None, move: MoveRecord | None, *, is_latest: bool = False
) -> Partition:
    """Combines the znodes of a partition.

    If the record fits the assignment, removing replicas that are neither original nor retained are pending deletion. A
    record without a move stays; a controller failover removes it.

    is_latest   the record is newer than the topic znode: a change of target was interrupted between the two
    """
    pending_deletion: tuple[int, ...] = ()
    origin = without(assigned.replicas, assigned.adding)
    if move is not None and _fits(assigned, origin, move, is_latest=is_latest):
        pending_deletion = without(among(assigned.replicas, assigned.removing), (*move.original, *move.retained))
    state = state or NO_STATE
    return Partition(
        replicas=without(assigned.replicas, pending_deletion) if pending_deletion else assigned.replicas,
        adding=assigned.adding,
        removing=without(assigned.removing, pending_deletion) if pending_deletion else assigned.removing,
        pending_deletion=pending_deletion,
        move=move,
        leader=state.leader,
        isr=state.isr,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.version,
        controller_epoch=state.controller_epoch,
        leader_recovery_state=state.leader_recovery_state,
        created=state.created,
    )


def _fits(assigned: LoadedAssignment, origin: tuple[int, ...], move: MoveRecord, *, is_latest: bool) -> bool:
    """Whether the record is about the move in the znode.

    A stock controller leaves the record behind and may have moved the partition again. Then the replicas to remove are
    not pending deletion: they may be all that is in sync.
    """
    return (
        set(move.original) <= set(origin)
        and set(origin) - set(move.original) <= set(assigned.removing)
        and (is_latest or without(assigned.replicas, assigned.removing) in (move.terms.target, move.original))
    )


def put_topic(
    cluster: Cluster,
    name: str,
    topic_id: UUID | None,
    partitions: Mapping[int, Partition],
    *,
    version: int,
    extra: Mapping[str, msgspec.Raw] | None = None,
    missing: Mapping[int, int] | None = None,
    unreadable: Mapping[int, str] | None = None,
    deleting: bool = False,
    created: int = -1,
    id_since: int = LAST_ZXID,
    stateless_since: int = -1,
) -> Topic:
    before = cluster.topics.get(name)
    remove_topic(cluster, name, configs=False)
    topic = Topic(
        name=name,
        id=topic_id,
        partitions=dict(partitions),
        version=version,
        extra=dict(extra or {}),
        missing=dict(missing or {}),
        unreadable=dict(unreadable or {}),
        deleting=deleting,
        created=created,
        id_since=id_since,
        stateless_since=stateless_since,
    )
    if before is not None:
        keep_id_since(before, topic)
    add_topic(cluster, topic)
    moving = {index for index, partition in partitions.items() if partition.is_moving}
    if moving:
        cluster.moving[name] = moving
    if not deleting:
        for index in moving:
            cluster.leases.put(name, index, partitions[index].lease)
    return topic


def leave_alone(cluster: Cluster, name: str, reason: str, twin: Twin | None = None) -> None:
    """What is known of the topic holds until the controller must write its znode."""
    cluster.unreadable[name] = reason
    cluster.twins.pop(name, None)
    if twin is not None:
        cluster.twins[name] = twin


def keep_id_since(known: Topic, fresh: Topic) -> None:
    if (known.created, known.id) == (fresh.created, fresh.id):
        fresh.id_since = min(known.id_since, fresh.id_since)


def put_state(cluster: Cluster, name: TopicPartition, state: LoadedState) -> None:
    """A broker has written the state itself."""
    topic = cluster.topics[name[0]]
    value = replace(
        topic.partitions[name[1]],
        leader=state.leader,
        isr=state.isr,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.version,
        controller_epoch=state.controller_epoch,
        leader_recovery_state=state.leader_recovery_state,
        created=state.created,
    )
    put_partition(cluster, topic, name[1], value)


def put_partition(cluster: Cluster, topic: Topic, index: int, partition: Partition) -> None:
    topic.partitions[index] = partition
    topic.revision = next(REVISIONS)
    if not topic.deleting:
        cluster.leases.put(topic.name, index, partition.lease)
    moving = cluster.moving.get(topic.name)
    if partition.is_moving:
        if moving is None:
            moving = cluster.moving[topic.name] = set()
        moving.add(index)
    elif moving is not None:
        moving.discard(index)
        if not moving:
            del cluster.moving[topic.name]


def remove_topic(cluster: Cluster, name: str, *, configs: bool = True) -> None:
    topic = cluster.topics.pop(name, None)
    cluster.moving.pop(name, None)
    cluster.leases.remove(name)
    cluster.unreadable.pop(name, None)
    cluster.twins.pop(name, None)
    if configs:
        cluster.queue.orphan(name)
        cluster.topic_configs.pop(name, None)
        cluster.config_versions.pop((TOPICS, name), None)
        cluster.unreadable_configs -= {(TOPICS, name)}
        cluster.records_with_children = frozenset(
            record for record in cluster.records_with_children if record.topic != name
        )
        for index in topic.partitions if topic is not None and cluster.soft.sizes else ():
            cluster.soft.sizes.pop(TopicPartition(name, index), None)
    if topic is not None and topic.id is not None and cluster.topic_names.get(topic.id) == name:
        del cluster.topic_names[topic.id]


def begin_deletion(cluster: Cluster, name: str) -> None:
    """From now on commands do not find the topic."""
    topic = cluster.topics.get(name)
    if topic is not None:
        topic.deleting = True
        cluster.leases.remove(name)
        cluster.queue.orphan(name)


def add_topic(cluster: Cluster, topic: Topic) -> None:
    cluster.topics[topic.name] = topic
    if topic.id is not None:
        cluster.topic_names[topic.id] = topic.name
