"""Creation and growth of topics, with the checks, their order and their texts of ZooKeeper mode
(ZkAdminManager, AdminZkClient, Topic). Raises the `KafkaError` that answers the topic.

Also which changes of topics ZooKeeper holds after a commit whose answer was lost. The commands decide again, and would
take their own work for that of others: the topic's id shows whose it is.
"""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from kafka_reassign_rpc.core.brokers.cordon import destinations
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    ReassignmentInProgress,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.broker_changes import first_state
from kafka_reassign_rpc.core.round.round_view import PartitionsAdded, RoundView, TopicCreated
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.topics import missing_replicas
from kafka_reassign_rpc.core.topics.replica_placement import Placed, placements
from kafka_reassign_rpc.support.counted import counted


def is_created(cluster: Cluster, made: TopicCreated) -> bool:
    """The topic may be in deletion already."""
    topic = cluster.topics.get(made.name)
    return topic is not None and topic.id == made.id


def has_added(cluster: Cluster, topic_id: UUID | None, made: PartitionsAdded) -> bool:
    topic = cluster.topics.get(made.name)
    if topic is None or topic.id != topic_id:
        return False
    found = topic.partitions
    return all(index in found and found[index].replicas == value.replicas for index, value in made.partitions.items())


def is_in_deletion(cluster: Cluster, topic_id: UUID | None, name: str) -> bool:
    topic = cluster.topics.get(name)
    return topic is not None and topic.id == topic_id and topic.deleting


BROKER_DEFAULT = -1
"""The request leaves a count to num.partitions or default.replication.factor."""

MOST_PARTITIONS = 100_000
"""A topic's znode has no room for more, whatever the ids of its brokers: ZooKeeper takes 1 MiB."""


MAX_NAME_LENGTH = 249
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")

_UNKNOWN_BROKERS = "Unknown broker(s) in replica assignment: {}."


def is_valid_name(name: str) -> bool:
    """org.apache.kafka.common.internals.Topic."""
    return len(name) <= MAX_NAME_LENGTH and name not in {".", ".."} and _LEGAL_NAME.fullmatch(name) is not None


def validate_name(name: str) -> None:
    """Raises InvalidTopic."""
    if is_valid_name(name):
        return
    if name == "":
        reason = "the empty string is not allowed"
    elif name in {".", ".."}:
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    else:
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    raise InvalidTopic(f"Topic name is invalid: {reason}")


def create_topic(
    view: RoundView,
    name: str,
    *,
    topic_id: UUID,
    start: int,
    shift: int,
    num_partitions: int = BROKER_DEFAULT,
    replication_factor: int = BROKER_DEFAULT,
    assignments: Mapping[int, Sequence[int]] | None = None,
    configs: Mapping[str, str] | None = None,
    default_partitions: int = 1,
    default_replication_factor: int = 1,
    most: int = MOST_PARTITIONS,
) -> Generator[None, None, TopicCreated]:
    """A new topic with the first states of its partitions. A caller that only validates discards it.

    start, shift   random numbers (see `replica_placement`)
    most           how many partitions this request may still create
    """
    cluster = view.cluster
    existing = cluster.topics.get(name)
    if isinstance(view.topics.get(name), TopicCreated) or (existing is not None and view.topic(name) is not None):
        raise TopicAlreadyExists(f"Topic '{name}' already exists.")
    if assignments and (num_partitions != BROKER_DEFAULT or replication_factor != BROKER_DEFAULT):
        raise InvalidRequest(
            "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the"
            " same time."
        )
    if assignments:
        count = len(assignments)
        placed: Iterable[Placed] = ((index, tuple(replicas)) for index, replicas in sorted(assignments.items()))
    else:
        count = default_partitions if num_partitions == BROKER_DEFAULT else num_partitions
        there = destinations(cluster)
        placed = placements(
            there.brokers,
            count,
            default_replication_factor if replication_factor == BROKER_DEFAULT else replication_factor,
            start=start,
            shift=shift,
            cordoned=there.closed,
        )
    validate_name(name)
    if existing is not None or name in cluster.stale_marks:
        raise TopicAlreadyExists(f"Topic '{name}' is marked for deletion.")
    _refuse_collision(view, name)
    _refuse_many(name, count, most)
    if assignments:
        yield from _validate_assignment(cluster, assignments)
    return TopicCreated(name, topic_id, (yield from _first_states(cluster, placed)), dict(configs or {}))


def _refuse_many(name: str, count: int, most: int) -> None:
    if count > min(most, MOST_PARTITIONS):
        raise PolicyViolation(
            f"Topic '{name}' cannot get {count} partitions: its znode has room for fewer than {MOST_PARTITIONS}."
            if most >= MOST_PARTITIONS
            else f"Topic '{name}' cannot get {counted(count, 'partition')} with this request, which asks for many"
            " others: ask for fewer topics at a time."
        )


def _refuse_collision(view: RoundView, name: str) -> None:
    """Metric names turn '.' into '_'. Those of topics that this server leaves alone are taken too."""
    if "." not in name and "_" not in name:
        return
    unified = name.replace(".", "_")
    created = (other for other, change in view.topics.items() if isinstance(change, TopicCreated))
    colliding = sorted(
        {
            other
            for names in (view.cluster.topics, view.cluster.unreadable, created)
            for other in names
            if len(other) == len(name) and other.replace(".", "_") == unified
        }
    )
    if colliding:
        raise InvalidTopic(f"Topic '{name}' collides with existing topics: {', '.join(colliding)}")


def _validate_assignment(cluster: Cluster, placed: Mapping[int, Sequence[int]]) -> Iterator[None]:
    """Unknown brokers may come, as in Kafka. A server never becomes a broker."""
    if len({len(replicas) for replicas in placed.values()}) != 1:
        raise InvalidReplicaAssignment("All partitions should have the same number of replicas")
    if not next(iter(placed.values())):
        raise InvalidReplicaAssignment("The replica lists of the partitions are empty")
    for index, replicas in placed.items():
        if len(set(replicas)) != len(replicas):
            raise InvalidReplicaAssignment(
                f"Duplicate replica assignment found: partition {index} has {', '.join(map(str, replicas))}"
            )
        if any(replica < 0 for replica in replicas):
            raise InvalidReplicaAssignment(
                f"Invalid broker id in replica assignment: partition {index} has {', '.join(map(str, replicas))}"
            )
        error = missing_replicas.refusal(cluster, replicas)
        if error is not None:
            raise error
        yield
    if sorted(placed) != list(range(len(placed))):
        raise InvalidReplicaAssignment("partitions should be a consecutive 0-based integer sequence")


def create_partitions(
    view: RoundView,
    name: str,
    count: int,
    assignments: Sequence[Sequence[int]] | None = None,
    *,
    most: int = MOST_PARTITIONS,
) -> Generator[None, None, PartitionsAdded]:
    """Grows a topic to `count` partitions. `assignments`: the replicas of each new one; `most`: as in
    `create_topic`.
    """
    cluster = view.cluster
    topic = view.topic(name)
    if topic is None:
        if name in cluster.topics:
            raise InvalidTopic("The topic is queued for deletion.")
        raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")
    if _has_moving(view, topic):
        raise ReassignmentInProgress(f"A partition reassignment is in progress for the topic '{name}'.")
    added = view.topics.get(name)
    pending = added.partitions if isinstance(added, PartitionsAdded) else {}
    existing = len(topic.partitions) + len(pending)
    if count < existing:
        raise InvalidPartitions(
            f"Topic currently has {existing} partitions, which is higher than the requested {count}."
        )
    if count == existing:
        raise InvalidPartitions(f"Topic already has {existing} partitions.")
    first = view.get(name, 0)  # its move may have ended in this very round
    replicas = () if first is None else first.replicas
    _refuse_many(name, count - existing if assignments is None else len(assignments), most)
    if assignments is None:
        there = destinations(cluster)
        brokers = sorted(there.brokers, key=lambda broker: broker.id)
        start = next((at for at, broker in enumerate(brokers) if replicas and broker.id >= replicas[0]), 0)
        placed: Iterable[Placed] = placements(
            brokers,
            count - existing,
            len(replicas),
            start=start,
            shift=start,
            first_partition=existing,
            cordoned=there.closed,
        )
    else:
        placed = _requested_replicas(cluster, existing, count, assignments, len(replicas)).items()
    return PartitionsAdded(name, {**pending, **(yield from _first_states(cluster, placed))})


def _has_moving(view: RoundView, topic: Topic) -> bool:
    indexes = set(view.cluster.moving.get(topic.name, ()))
    indexes.update(index for name, index in view.partitions if name == topic.name)
    return any(found.is_moving for index in indexes if (found := view.get(topic.name, index)) is not None)


def _requested_replicas(
    cluster: Cluster, existing: int, count: int, assignments: Sequence[Sequence[int]], replication_factor: int
) -> dict[int, tuple[int, ...]]:
    named = {replica for replicas in assignments for replica in replicas}
    error = missing_replicas.refusal(cluster, named)
    if error is not None:
        raise error
    unknown = sorted(named - set(cluster.brokers))
    if unknown:
        raise InvalidReplicaAssignment(_UNKNOWN_BROKERS.format(", ".join(map(str, unknown))))
    if len(assignments) != count - existing:
        raise InvalidReplicaAssignment(
            f"Increasing the number of partitions by {count - existing} but {len(assignments)} assignments provided."
        )
    placed = {existing + at: tuple(replicas) for at, replicas in enumerate(assignments)}
    for index, replicas in placed.items():
        if not replicas:
            raise InvalidReplicaAssignment(f"Cannot have replication factor of 0 for partition id {index}.")
        if len(set(replicas)) != len(replicas):
            raise InvalidReplicaAssignment(
                "Duplicate brokers not allowed in replica assignment:"
                f" {', '.join(map(str, replicas))} for partition id {index}."
            )
    odd = {index: len(replicas) for index, replicas in placed.items() if len(replicas) != replication_factor}
    if odd:
        raise InvalidReplicaAssignment(
            f"Inconsistent replication factor between partitions, partition 0 has {replication_factor} while"
            f" partitions [{', '.join(map(str, odd))}] have replication factors"
            f" [{', '.join(map(str, odd.values()))}], respectively."
        )
    return placed


def _first_states(cluster: Cluster, placed: Iterable[Placed]) -> Generator[None, None, dict[int, Partition]]:
    """`placed`: in the order of partition numbers."""
    made = {}
    for index, replicas in placed:
        made[index] = first_state(cluster, Partition(replicas=replicas))
        yield
    return made
