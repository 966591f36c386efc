"""What the requests of a controller say (Kafka's AbstractControllerBrokerRequestBatch), and StopReplica as a message.

All of it is pure. `packed_requests` makes the two others, which are large.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.cluster import (
    LAST_ZXID,
    NO_LEADER,
    Broker,
    Cluster,
    Endpoint,
    Partition,
    Topic,
    TopicPartition,
)
from kafka_reassign_rpc.protocol.messages import StopReplicaRequest

LEADER_DURING_DELETE = -2
"""Leader in an UpdateMetadata that makes a broker forget the partition (Kafka's LeaderAndIsr.LeaderDuringDelete)."""

ZERO_UUID = UUID(int=0)

_Hosted = tuple[int, Partition, bool]

SLICE = 500
"""Partitions that are looked at before the event loop runs other tasks."""


class Sender(NamedTuple):
    """The controller: its id and epoch, and where brokers reach it (one endpoint per listener).

    elected  the zxid of its election
    """

    id: int
    epoch: int
    endpoints: tuple[Endpoint, ...]
    elected: int = LAST_ZXID


def live_nodes_of(cluster: Cluster, sender: Sender) -> Iterator[tuple[int, tuple[Endpoint, ...], str | None]]:
    """The nodes that brokers are to know: id, endpoints, rack. All live brokers, and the controller; a broker with its
    id stands there in its place.

    The controller claims the rack of some broker: if it alone had none, brokers could not create topics, such as those
    of groups and transactions ("Not all brokers have rack information").
    """
    for broker in cluster.brokers.values():
        yield broker.id, broker.endpoints, broker.rack
    if sender.id not in cluster.brokers:
        racks = (broker.rack for broker in cluster.brokers.values() if broker.rack is not None)
        yield sender.id, sender.endpoints, next(racks, None)


def all_partitions(cluster: Cluster) -> Iterator[tuple[str, Collection[int]]]:
    """The partitions of all topics, as `visible_partitions` takes them. Topics may change while it is read."""
    return ((topic.name, topic.partitions) for topic in list(cluster.topics.values()))


def visible_partitions(
    cluster: Cluster, partitions: Iterable[tuple[str, Iterable[int]]]
) -> Iterator[tuple[Topic, Iterator[list[tuple[int, Partition]]]]]:
    """The partitions that brokers are told of: none of topics in deletion, none without a state that can be read.

    Gives each topic with its partitions, in slices of at most `SLICE`, some of them empty.
    """
    for name, indexes in partitions:
        topic = cluster.topics.get(name)
        if topic is not None and not topic.deleting:
            yield topic, _visible(topic, list(indexes))


def _visible(topic: Topic, indexes: Sequence[int]) -> Iterator[list[tuple[int, Partition]]]:
    known, unreadable = topic.partitions, topic.unreadable
    for start in range(0, len(indexes), SLICE):
        yield [
            (index, value)
            for index in indexes[start : start + SLICE]
            if (value := known.get(index)) is not None and value.partition_epoch >= 0 and index not in unreadable
        ]


def forgotten_partitions(
    cluster: Cluster, deleted: Mapping[str, Iterable[int]]
) -> Iterator[tuple[str, Collection[int]]]:
    """Those of the `deleted` partitions that a broker is to remove from its metadata: none that it is told of.

    A topic of the same name may exist again by the time at which a request goes, or is repeated.
    """
    for name, indexes in deleted.items():
        known = visible_partitions(cluster, [(name, indexes)])
        shown = {index for _, slices in known for found in slices for index, _ in found}
        yield name, [index for index in indexes if index not in shown]


def hosted_partitions(
    cluster: Cluster, broker: Broker, partitions: Mapping[str, Mapping[int, bool]], *, is_complete: bool
) -> Iterator[tuple[Topic, Iterator[list[tuple[int, Partition, bool]]]]]:
    """The partitions with a replica on `broker`, as `visible_partitions` gives them, and which replicas are new there.

    partitions    whether the replica is new, by topic and partition
    is_complete   gives also all partitions that are not among these: their replicas are not new

    A broker creates the log of a new replica in any log directory; of another replica it does not, if a directory is
    offline, which may have the log (LogManager's isNew).
    """
    own, known = broker.id, partitions

    def hosted(topic: Topic, slices: Iterator[list[tuple[int, Partition]]]) -> Iterator[list[_Hosted]]:
        new = known.get(topic.name, {})
        for found in slices:
            yield [
                (index, value, new.get(index, False) or (own in value.adding and _may_be_new(broker, value)))
                for index, value in found
                if own in value.replicas
            ]

    wanted: Iterable[tuple[str, Iterable[int]]] = all_partitions(cluster) if is_complete else partitions.items()
    return ((topic, hosted(topic, slices)) for topic, slices in visible_partitions(cluster, wanted))


def _may_be_new(broker: Broker, value: Partition) -> bool:
    """Whether the broker may not have been told yet of its adding replica.

    One that is in the ISR has data. So may one on a broker that has registered since the move began: it may have
    copied some before. (Kafka tells a broker that starts of all its replicas as of old ones: onBrokerStartup.)
    """
    return broker.id not in value.isr and value.move is not None and value.move.id > broker.epoch


def stop_replica(
    sender: Sender, broker: Broker, stops: Mapping[TopicPartition, StopReplicaState], version: int
) -> StopReplicaRequest:
    """StopReplica for `broker`."""
    states = StopReplicaRequest.StopReplicaTopicState
    topics: dict[str, list[StopReplicaRequest.StopReplicaTopicState.StopReplicaPartitionState]] = {}
    for name, stop in stops.items():
        state = states.StopReplicaPartitionState(
            version=version,
            partition_index=name.partition,
            leader_epoch=stop.leader_epoch,
            delete_partition=stop.delete,
        )
        topics.setdefault(name.topic, []).append(state)
    return StopReplicaRequest(
        version=version,
        controller_id=sender.id,
        controller_epoch=sender.epoch,
        broker_epoch=broker.epoch,
        topic_states=[
            states(version=version, topic_name=topic, partition_states=found) for topic, found in topics.items()
        ],
    )


__all__ = [
    "NO_LEADER",
    "SLICE",
    "Sender",
    "all_partitions",
    "forgotten_partitions",
    "hosted_partitions",
    "stop_replica",
    "visible_partitions",
]
