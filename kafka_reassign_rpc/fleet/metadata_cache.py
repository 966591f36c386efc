"""A broker's view of the cluster: exactly the contents of its UpdateMetadata requests (Kafka's ZkMetadataCache)."""

from collections.abc import Iterable, Mapping
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Endpoint
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.protocol.messages import UpdateMetadataRequest

LEADER_DURING_DELETE = -2
"""A partition with this leader is being deleted; the cache drops it."""

_MOST_SHARED = 100_000

_State = UpdateMetadataRequest.UpdateMetadataTopicState.UpdateMetadataPartitionState

_shared: dict[tuple[int, ...], tuple[int, ...]] = {}


def shared(ids: Iterable[int]) -> tuple[int, ...]:
    """The same tuple for equal ids: replica sets repeat, and there are many."""
    found = tuple(ids)
    if len(_shared) > _MOST_SHARED:
        _shared.clear()
    return _shared.setdefault(found, found)


class AliveBroker(msgspec.Struct, frozen=True):
    """The controller itself may be a node that is not in /brokers/ids."""

    id: int
    rack: str | None
    endpoints: Mapping[str, Endpoint]


class MetadataCache:
    """`received` is False until the first UpdateMetadata."""

    def __init__(self) -> None:
        self.controller_id: int | None = None
        self.brokers: dict[int, AliveBroker] = {}
        self.topics: dict[str, Topic] = {}
        self.received = False
        self._names: dict[UUID, str] = {}

    def endpoint(self, broker: int, listener: str) -> Endpoint | None:
        found = self.brokers.get(broker)
        return None if found is None else found.endpoints.get(listener)

    def topic_name(self, topic_id: UUID) -> str | None:
        return self._names.get(topic_id)

    def update_brokers(self, request: UpdateMetadataRequest) -> None:
        self.controller_id = None if request.controller_id < 0 else request.controller_id
        self.brokers = {broker.id: _alive(broker) for broker in request.live_brokers}
        self.received = True

    def update_partitions(self, states: Iterable[tuple[str, UUID | None, _State]]) -> None:
        for name, topic_id, state in states:
            topic = self.topics.get(name)
            if topic is None:
                topic = self.topics[name] = Topic(name=name, id=None, partitions={})
            if topic_id is not None and topic.id != topic_id:
                self._name(topic, topic_id)
            if state.leader != LEADER_DURING_DELETE:
                topic.partitions[state.partition_index] = Partition(
                    replicas=shared(state.replicas),
                    leader=state.leader,
                    isr=shared(state.isr),
                    leader_epoch=state.leader_epoch,
                    partition_epoch=state.zk_version,
                    controller_epoch=state.controller_epoch,
                )
                continue
            topic.partitions.pop(state.partition_index, None)
            if not topic.partitions:
                del self.topics[name]
                self._name(topic, None)

    def _name(self, topic: Topic, topic_id: UUID | None) -> None:
        if topic.id is not None:
            self._names.pop(topic.id, None)
        topic.id = topic_id
        if topic_id is not None:
            self._names[topic_id] = topic.name


def _alive(broker: UpdateMetadataRequest.UpdateMetadataBroker) -> AliveBroker:
    endpoints = {
        one.listener: Endpoint(one.listener, _protocol_name(one.security_protocol), one.host, one.port)
        for one in broker.endpoints
    }
    return AliveBroker(broker.id, broker.rack, endpoints)


def _protocol_name(number: int) -> str:
    return SECURITY_PROTOCOLS[number] if 0 <= number < len(SECURITY_PROTOCOLS) else str(number)
