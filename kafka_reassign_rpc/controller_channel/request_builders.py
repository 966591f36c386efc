"""What the controller's requests say (Kafka's AbstractControllerBrokerRequestBatch), and StopReplica as a message.
Pure.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic import LAST_ZXID, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrRequest, StopReplicaRequest

LEADER_DURING_DELETE = -2
"""The leader in an UpdateMetadata that makes a broker forget the partition (Kafka's
LeaderAndIsr.LeaderDuringDelete)."""

ZERO_UUID = UUID(int=0)

_Hosted = tuple[int, Partition, bool]

AT_ONCE = 500
"""How many partitions are built before the event loop runs other tasks."""


class Sender(NamedTuple):
    """The controller, with one endpoint per listener at which brokers reach it. `elected`: the zxid of its election."""

    id: int
    epoch: int
    endpoints: tuple[Endpoint, ...]
    elected: int = LAST_ZXID


def live_nodes_of(cluster: Cluster, sender: Sender) -> Iterator[tuple[int, tuple[Endpoint, ...], str | None]]:
    """Id, endpoints and rack of live brokers, and of the controller. It claims the rack of most brokers: if it alone
    had none, brokers could not create topics such as those of groups and transactions ("Not all brokers have rack
    information"), and there they choose it for a replica least often, since one broker of each rack gets one.
    """
    for broker in cluster.brokers.values():
        yield broker.id, broker.endpoints, broker.rack
    if sender.id not in cluster.brokers:
        racks = Counter(broker.rack for broker in cluster.brokers.values() if broker.rack is not None)
        yield sender.id, sender.endpoints, max(sorted(racks), key=racks.__getitem__, default=None)


def all_partitions(cluster: Cluster) -> Iterator[tuple[str, Collection[int]]]:
    """Topics may change meanwhile."""
    return ((topic.name, topic.partitions) for topic in list(cluster.topics.values()))


def visible_partitions(
    cluster: Cluster, partitions: Iterable[tuple[str, Iterable[int]]]
) -> Iterator[tuple[Topic, Iterator[list[tuple[int, Partition]]]]]:
    """Those that brokers may see, in slices of at most `AT_ONCE`, some of them empty: of no topic in deletion, and with
    a readable state.
    """
    for name, indexes in partitions:
        topic = cluster.topics.get(name)
        if topic is not None and not topic.deleting:
            yield topic, _visible(topic, list(indexes))


def _visible(topic: Topic, indexes: Sequence[int]) -> Iterator[list[tuple[int, Partition]]]:
    known, unreadable = topic.partitions, topic.unreadable
    for start in range(0, len(indexes), AT_ONCE):
        yield [
            (index, value)
            for index in indexes[start : start + AT_ONCE]
            if (value := known.get(index)) is not None and value.partition_epoch >= 0 and index not in unreadable
        ]


def forgotten_partitions(
    cluster: Cluster, deleted: Mapping[str, Iterable[int]]
) -> Iterator[tuple[str, Collection[int]]]:
    """The deleted partitions that do not exist again when the request goes."""
    for name, indexes in deleted.items():
        known = visible_partitions(cluster, [(name, indexes)])
        shown = {index for _, slices in known for found in slices for index, _ in found}
        yield name, [index for index in indexes if index not in shown]


def hosted_partitions(
    cluster: Cluster, broker: Broker, partitions: Mapping[str, Mapping[int, bool]], *, is_complete: bool
) -> Iterator[tuple[Topic, Iterator[list[tuple[int, Partition, bool]]]]]:
    """As `visible_partitions`, those with a replica on `broker`, and whether each replica is new there, as `partitions`
    says. `is_complete` adds all others of the broker, as not new.

    A broker creates the log of a new replica in any log directory, that of another one only while none is offline,
    which may have the log (LogManager's isNew).
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
    """One in the ISR has data. One on a broker that registered after the move began may have copied some before. (Kafka
    treats all replicas of a starting broker as old ones: onBrokerStartup.)
    """
    began = None if value.move is None else value.move.id
    return broker.id not in value.isr and began is not None and began > broker.epoch


def stop_replica(
    sender: Sender, broker: Broker, stops: Mapping[TopicPartition, StopReplicaState], version: int
) -> StopReplicaRequest:
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


class StopEpochs(NamedTuple):
    leader_epoch: int
    partition_epoch: int


def stop_epochs(cluster: Cluster, name: TopicPartition, value: Partition) -> StopEpochs:
    """The epochs in which a broker stops a replica that is not assigned to it: those of the partition, or above what it
    knows of a former topic of the name."""
    other = cluster.soft.former.of_other(cluster.topics[name.topic], name.partition)
    if other is None:
        return StopEpochs(value.leader_epoch, value.partition_epoch)
    return StopEpochs(
        max(value.leader_epoch, other.leader_epoch + 1), max(value.partition_epoch, other.partition_epoch)
    )


def follow(
    cluster: Cluster, sender: Sender, broker: Broker, leaders: Mapping[TopicPartition, Broker], version: int
) -> LeaderAndIsrRequest:
    """Makes the broker a follower of these leaders, though it is no replica (`unassigned_replicas`): it takes
    only a state that names it as one. Topics have no ids here, since the replica may be of a topic that had the name
    before. Then its epochs count.
    """
    states = LeaderAndIsrRequest.LeaderAndIsrTopicState
    topics: dict[str, list[LeaderAndIsrRequest.LeaderAndIsrTopicState.LeaderAndIsrPartitionState]] = {}
    for name, leader in leaders.items():
        value = cluster.get(*name)
        if value is not None:
            epochs = stop_epochs(cluster, name, value)
            state = states.LeaderAndIsrPartitionState(
                version=version,
                partition_index=name.partition,
                controller_epoch=sender.epoch,
                leader=leader.id,
                leader_epoch=epochs.leader_epoch,
                isr=list(value.isr),
                partition_epoch=epochs.partition_epoch,
                replicas=[*value.replicas, broker.id],
            )
            topics.setdefault(name.topic, []).append(state)
    live = LeaderAndIsrRequest.LeaderAndIsrLiveLeader
    return LeaderAndIsrRequest(
        version=version,
        controller_id=sender.id,
        controller_epoch=sender.epoch,
        broker_epoch=broker.epoch,
        topic_states=[
            states(version=version, topic_name=topic, topic_id=ZERO_UUID, partition_states=found)
            for topic, found in topics.items()
        ],
        live_leaders=[
            live(version=version, broker_id=id_, host_name=one.endpoints[0].host, port=one.endpoints[0].port)
            for id_, one in {one.id: one for one in leaders.values()}.items()
        ],
    )


__all__ = [
    "AT_ONCE",
    "NO_LEADER",
    "Sender",
    "all_partitions",
    "follow",
    "forgotten_partitions",
    "hosted_partitions",
    "stop_epochs",
    "stop_replica",
    "visible_partitions",
]
