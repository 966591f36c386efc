"""The three requests of a controller as message objects (Kafka's AbstractControllerBrokerRequestBatch).

Each builder is pure. The broker chooses the version: the schema leaves out fields that the version lacks (`ignorable`
fields), so one builder serves IBP 2.7 to 3.9.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar
from uuid import UUID

from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.cluster import (
    LAST_ZXID,
    NO_LEADER,
    SECURITY_PROTOCOLS,
    Broker,
    Cluster,
    Endpoint,
    Partition,
    Topic,
    TopicPartition,
)
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest

LEADER_DURING_DELETE = -2
"""Leader in an UpdateMetadata that makes a broker forget the partition (Kafka's LeaderAndIsr.LeaderDuringDelete)."""

ZERO_UUID = UUID(int=0)

# Partition states stood at the top of the message before they were grouped by topic.
_UngroupedMetadata = UpdateMetadataRequest.UpdateMetadataPartitionState
_GroupedMetadata = UpdateMetadataRequest.UpdateMetadataTopicState.UpdateMetadataPartitionState
_Metadata = TypeVar("_Metadata", _UngroupedMetadata, _GroupedMetadata)
_UngroupedLeaderAndIsr = LeaderAndIsrRequest.LeaderAndIsrPartitionState
_GroupedLeaderAndIsr = LeaderAndIsrRequest.LeaderAndIsrTopicState.LeaderAndIsrPartitionState
_LeaderAndIsr = TypeVar("_LeaderAndIsr", _UngroupedLeaderAndIsr, _GroupedLeaderAndIsr)


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


def update_metadata(
    cluster: Cluster,
    sender: Sender,
    broker: Broker,
    partitions: Mapping[str, Iterable[int]],
    deleted: Mapping[str, Iterable[int]],
    version: int,
) -> UpdateMetadataRequest:
    """UpdateMetadata for `broker`. It lists all live brokers: the broker replaces its set with them."""
    body = UpdateMetadataRequest(
        version=version,
        controller_id=sender.id,
        controller_epoch=sender.epoch,
        broker_epoch=broker.epoch,
        live_brokers=[_live_broker(*node, version) for node in live_nodes_of(cluster, sender)],
    )
    if version >= 5:
        body.topic_states = [
            UpdateMetadataRequest.UpdateMetadataTopicState(
                version=version, topic_name=name, topic_id=_topic_id(cluster, name), partition_states=states
            )
            for name, states in _metadata_states(
                _GroupedMetadata, cluster, partitions, deleted, sender.epoch, version
            ).items()
            if states
        ]
    else:
        ungrouped = _metadata_states(_UngroupedMetadata, cluster, partitions, deleted, sender.epoch, version)
        body.ungrouped_partition_states = [state for states in ungrouped.values() for state in states]
    return body


def leader_and_isr(
    cluster: Cluster,
    sender: Sender,
    broker: Broker,
    partitions: Mapping[str, Mapping[int, bool]],
    version: int,
    *,
    is_complete: bool = False,
) -> LeaderAndIsrRequest | None:
    """LeaderAndIsr for `broker`; None where it has no replica of the partitions any more.

    `partitions` and `is_complete` are those of `hosted_partitions`.
    """
    hosted = hosted_partitions(cluster, broker, partitions, is_complete=is_complete)
    topics = [(topic.name, held) for topic, slices in hosted if (held := list(chain.from_iterable(slices)))]
    if not topics:
        return None
    leaders = {value.leader for _, held in topics for _, value, _ in held}
    body = LeaderAndIsrRequest(
        version=version,
        controller_id=sender.id,
        controller_epoch=sender.epoch,
        broker_epoch=broker.epoch,
        live_leaders=[
            LeaderAndIsrRequest.LeaderAndIsrLiveLeader(
                version=version, broker_id=leader.id, host_name=leader.endpoints[0].host, port=leader.endpoints[0].port
            )
            for leader in map(cluster.brokers.get, sorted(leaders))
            if leader is not None
        ],
    )
    if version >= 2:
        body.topic_states = [
            LeaderAndIsrRequest.LeaderAndIsrTopicState(
                version=version,
                topic_name=name,
                topic_id=_topic_id(cluster, name),
                partition_states=[
                    _leader_and_isr_state(_GroupedLeaderAndIsr, name, *one, sender.epoch, version) for one in held
                ],
            )
            for name, held in topics
        ]
    else:
        body.ungrouped_partition_states = [
            _leader_and_isr_state(_UngroupedLeaderAndIsr, name, *one, sender.epoch, version)
            for name, held in topics
            for one in held
        ]
    return body


def stop_replica(
    sender: Sender, broker: Broker, stops: Mapping[TopicPartition, StopReplicaState], version: int
) -> StopReplicaRequest:
    """StopReplica. Below version 3 one request deletes all or none: there the caller gives one kind at a time."""
    body = StopReplicaRequest(
        version=version, controller_id=sender.id, controller_epoch=sender.epoch, broker_epoch=broker.epoch
    )
    topics: dict[str, list[tuple[int, StopReplicaState]]] = {}
    for name, stop in stops.items():
        topics.setdefault(name.topic, []).append((name.partition, stop))
    if version >= 3:
        body.topic_states = [
            StopReplicaRequest.StopReplicaTopicState(
                version=version,
                topic_name=topic,
                partition_states=[
                    StopReplicaRequest.StopReplicaTopicState.StopReplicaPartitionState(
                        version=version,
                        partition_index=index,
                        leader_epoch=stop.leader_epoch,
                        delete_partition=stop.delete,
                    )
                    for index, stop in found
                ],
            )
            for topic, found in topics.items()
        ]
        return body
    body.delete_partitions = any(stop.delete for stop in stops.values())
    if version >= 1:
        body.topics = [
            StopReplicaRequest.StopReplicaTopicV1(
                version=version, name=topic, partition_indexes=[index for index, _ in found]
            )
            for topic, found in topics.items()
        ]
    else:
        body.ungrouped_partitions = [
            StopReplicaRequest.StopReplicaPartitionV0(
                version=version, topic_name=name.topic, partition_index=name.partition
            )
            for name in stops
        ]
    return body


def _topic_id(cluster: Cluster, name: str) -> UUID | None:
    topic = cluster.topics.get(name)
    return topic.id if topic is not None else None


def _live_broker(
    broker_id: int, endpoints: tuple[Endpoint, ...], rack: str | None, version: int
) -> UpdateMetadataRequest.UpdateMetadataBroker:
    if version == 0:
        first = endpoints[0]
        return UpdateMetadataRequest.UpdateMetadataBroker(
            version=version, id=broker_id, v0_host=first.host, v0_port=first.port
        )
    return UpdateMetadataRequest.UpdateMetadataBroker(
        version=version,
        id=broker_id,
        rack=rack,
        endpoints=[
            UpdateMetadataRequest.UpdateMetadataBroker.UpdateMetadataEndpoint(
                version=version,
                host=endpoint.host,
                port=endpoint.port,
                listener=endpoint.listener,
                security_protocol=SECURITY_PROTOCOLS.index(endpoint.security_protocol),
            )
            for endpoint in endpoints
        ],
    )


def _metadata_states(
    cls: type[_Metadata],
    cluster: Cluster,
    partitions: Mapping[str, Iterable[int]],
    deleted: Mapping[str, Iterable[int]],
    controller_epoch: int,
    version: int,
) -> dict[str, list[_Metadata]]:
    """Partition states by topic, as objects of `cls`."""
    live = cluster.brokers.keys() - cluster.shutting_down
    topics: dict[str, list[_Metadata]] = {}
    for topic, slices in visible_partitions(cluster, partitions.items()):
        name, found = topic.name, chain.from_iterable(slices)
        topics[name] = [_metadata_state(cls, name, *one, live, controller_epoch, version) for one in found]
    for name, indexes in forgotten_partitions(cluster, deleted):
        states = topics.setdefault(name, [])
        states.extend(_forget_state(cls, name, index, controller_epoch, version) for index in indexes)
    return topics


def _metadata_state(
    cls: type[_Metadata],
    topic: str,
    index: int,
    value: Partition,
    live: Collection[int],
    controller_epoch: int,
    version: int,
) -> _Metadata:
    return cls(
        version=version,
        topic_name=topic,
        partition_index=index,
        controller_epoch=controller_epoch,
        leader=value.leader,
        leader_epoch=value.leader_epoch,
        isr=value.isr,
        zk_version=value.partition_epoch,
        replicas=value.replicas,
        offline_replicas=[replica for replica in value.replicas if replica not in live or replica in value.offline],
    )


def _forget_state(cls: type[_Metadata], topic: str, index: int, controller_epoch: int, version: int) -> _Metadata:
    return cls(
        version=version,
        topic_name=topic,
        partition_index=index,
        controller_epoch=controller_epoch,
        leader=LEADER_DURING_DELETE,
        leader_epoch=LEADER_DURING_DELETE,
        isr=(),
        zk_version=0,
        replicas=(),
        offline_replicas=(),
    )


def _leader_and_isr_state(
    cls: type[_LeaderAndIsr],
    topic: str,
    index: int,
    value: Partition,
    is_new: bool,
    controller_epoch: int,
    version: int,
) -> _LeaderAndIsr:
    return cls(
        version=version,
        topic_name=topic,
        partition_index=index,
        controller_epoch=value.controller_epoch or controller_epoch,
        leader=value.leader,
        leader_epoch=value.leader_epoch,
        isr=value.isr,
        partition_epoch=value.partition_epoch,
        replicas=value.replicas,
        adding_replicas=value.adding,
        removing_replicas=value.removing,
        is_new=is_new,
        leader_recovery_state=value.leader_recovery_state,
    )


__all__ = [
    "NO_LEADER",
    "SLICE",
    "Sender",
    "all_partitions",
    "forgotten_partitions",
    "hosted_partitions",
    "leader_and_isr",
    "stop_replica",
    "update_metadata",
    "visible_partitions",
]
