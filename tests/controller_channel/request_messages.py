"""LeaderAndIsr and UpdateMetadata as message objects: what the schemas make of them, field by field."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from kafka_reassign_rpc.controller_channel.request_builders import (
    LEADER_DURING_DELETE,
    Sender,
    forgotten_partitions,
    hosted_partitions,
    live_nodes_of,
    visible_partitions,
)
from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrRequest, UpdateMetadataRequest

_MetadataTopic = UpdateMetadataRequest.UpdateMetadataTopicState
_Metadata = _MetadataTopic.UpdateMetadataPartitionState
_LeaderAndIsrTopic = LeaderAndIsrRequest.LeaderAndIsrTopicState
_LeaderAndIsr = _LeaderAndIsrTopic.LeaderAndIsrPartitionState


def update_metadata(
    cluster: Cluster,
    sender: Sender,
    broker: Broker,
    partitions: Mapping[str, Iterable[int]],
    deleted: Mapping[str, Iterable[int]],
    version: int,
) -> UpdateMetadataRequest:
    live = cluster.brokers.keys() - cluster.soft.shutting_down
    topics: dict[str, list[_Metadata]] = {}
    for topic, slices in visible_partitions(cluster, partitions.items()):
        found = chain.from_iterable(slices)
        topics[topic.name] = [_metadata_state(*one, live, sender.epoch, version) for one in found]
    for name, indexes in forgotten_partitions(cluster, deleted):
        states = topics.setdefault(name, [])
        states.extend(_forget_state(index, sender.epoch, version) for index in indexes)
    return UpdateMetadataRequest(
        version=version,
        controller_id=sender.id,
        controller_epoch=sender.epoch,
        broker_epoch=broker.epoch,
        live_brokers=[_live_broker(*node, version) for node in live_nodes_of(cluster, sender)],
        topic_states=[
            _MetadataTopic(
                version=version,
                topic_name=name,
                topic_id=cluster.topics[name].id if name in cluster.topics else None,
                partition_states=states,
            )
            for name, states in topics.items()
            if states
        ],
    )


def leader_and_isr(
    cluster: Cluster,
    sender: Sender,
    broker: Broker,
    partitions: Mapping[str, Mapping[int, bool]],
    version: int,
    *,
    is_complete: bool = False,
) -> LeaderAndIsrRequest | None:
    hosted = hosted_partitions(cluster, broker, partitions, is_complete=is_complete)
    topics = [(topic, held) for topic, slices in hosted if (held := list(chain.from_iterable(slices)))]
    if not topics:
        return None
    leaders = {value.leader for _, held in topics for _, value, _ in held}
    return LeaderAndIsrRequest(
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
        topic_states=[
            _LeaderAndIsrTopic(
                version=version,
                topic_name=topic.name,
                topic_id=topic.id,
                partition_states=[_leader_and_isr_state(*one, sender.epoch, version) for one in held],
            )
            for topic, held in topics
        ],
    )


def _live_broker(
    broker_id: int, endpoints: tuple[Endpoint, ...], rack: str | None, version: int
) -> UpdateMetadataRequest.UpdateMetadataBroker:
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


def _metadata_state(
    index: int,
    value: Partition,
    live: Collection[int],
    controller_epoch: int,
    version: int,
) -> _Metadata:
    return _Metadata(
        version=version,
        partition_index=index,
        controller_epoch=controller_epoch,
        leader=value.leader,
        leader_epoch=value.leader_epoch,
        isr=value.isr,
        zk_version=value.partition_epoch,
        replicas=value.replicas,
        offline_replicas=[replica for replica in value.replicas if replica not in live or replica in value.offline],
    )


def _forget_state(index: int, controller_epoch: int, version: int) -> _Metadata:
    return _Metadata(
        version=version,
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
    index: int,
    value: Partition,
    is_new: bool,
    controller_epoch: int,
    version: int,
) -> _LeaderAndIsr:
    return _LeaderAndIsr(
        version=version,
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
