"""The three requests of a controller, applied to a broker with Kafka's checks; and its view of the cluster, which is
exactly the contents of its UpdateMetadata requests (Kafka's ZkMetadataCache).

| request | refused as a whole | refused per partition |
|---|---|---|
| LeaderAndIsr | 77 broker epoch of an earlier registration; 11 older controller epoch | 11 leader epoch not newer |
| | | 3 this broker is no replica; 103 another topic id than the log's |
| | | 56 the log is on a lost log dir, or may be: it is missing, and the replica is not new |
| StopReplica | 77; 11 | 74 leader epoch older than ours, unless it is a sentinel (-1 none, -2 topic deletion) |
| | | 56 the log is on a lost log dir |
| UpdateMetadata | 77; 11 | |

Sources: KafkaApis.handleLeaderAndIsrRequest and its neighbours, ReplicaManager.becomeLeaderOrFollower, stopReplicas and
maybeUpdateMetadataCache, LogManager.getOrCreateLog, as of 3.9.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.kafka_errors import (
    FencedLeaderEpoch,
    InconsistentTopicId,
    KafkaStorageError,
    StaleBrokerEpoch,
    StaleControllerEpoch,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.broker_changes import UNKNOWN_BROKER_EPOCH
from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Endpoint
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.replica_table import ReplicaTable, SimulatedReplica
from kafka_reassign_rpc.protocol.messages import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)

LEADER_DURING_DELETE = -2
"""A partition with this leader is being deleted; the cache drops it."""

_MOST_SHARED = 100_000

_StateInMetadata = UpdateMetadataRequest.UpdateMetadataTopicState.UpdateMetadataPartitionState

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

    def update_partitions(self, states: Iterable[tuple[str, UUID | None, _StateInMetadata]]) -> None:
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


NO_EPOCH = -1
EPOCH_DURING_DELETE = -2

_State = LeaderAndIsrRequest.LeaderAndIsrTopicState.LeaderAndIsrPartitionState

SLICE = 250
"""Partitions applied before the event loop runs others: one request of a stock controller has thousands."""


class AppliedRequest(msgspec.Struct):
    """The changes of one slice: replicas that this broker leads, follows, no longer fetches for (`paused`) or no longer
    hosts, logs created and deleted."""

    leaders: list[SimulatedReplica] = []
    followers: list[SimulatedReplica] = []
    paused: list[TopicPartition] = []
    stopped: list[TopicPartition] = []
    created: list[TopicPartition] = []
    deleted: list[TopicPartition] = []


Response = TypeVar("Response", LeaderAndIsrResponse, StopReplicaResponse, UpdateMetadataResponse)
Steps = Generator[AppliedRequest, None, Response]
"""Yields the changes of each slice, returns the answer."""


class ControllerRequests:
    """`first_bytes`: the size with which a topic's partitions are created (0 without configuration)."""

    def __init__(
        self, broker_id: int, table: ReplicaTable, cache: MetadataCache, first_bytes: Callable[[str], int]
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = UNKNOWN_BROKER_EPOCH
        self.controller_epoch = 0
        self._table = table
        self._cache = cache
        self._first_bytes = first_bytes

    def leader_and_isr(self, request: LeaderAndIsrRequest, version: int) -> Steps[LeaderAndIsrResponse]:
        """LeaderAndIsr 5-7."""
        refused = self._refusal(request)
        if refused:
            return LeaderAndIsrResponse(version=version, error_code=refused)
        self.controller_epoch = request.controller_epoch
        by_id: dict[UUID | None, list[tuple[int, int]]] = {}
        states = states_of(request)
        while part := list(islice(states, SLICE)):
            applied = AppliedRequest()
            for topic, topic_id, state in part:
                error = self._become(TopicPartition(topic, state.partition_index), topic_id, state, applied)
                by_id.setdefault(topic_id, []).append((state.partition_index, error))
            yield applied
        # Tuples are used for the structures of the answer: they are several times cheaper to make.
        return LeaderAndIsrResponse(version=version, error_code=0, topics=list(by_id.items()))

    def _become(self, name: TopicPartition, topic_id: UUID | None, state: _State, applied: AppliedRequest) -> int:
        table = self._table
        if name in table.offline:
            return KafkaStorageError.code
        replica = table.online.get(name)
        log = table.logs.get(name) if replica is None else replica.log
        if log is not None and log.topic_id is not None and topic_id is not None and log.topic_id != topic_id:
            return InconsistentTopicId.code
        if replica is not None and state.leader_epoch <= replica.leader_epoch:
            return StaleControllerEpoch.code
        replicas = shared(state.replicas)
        if self.broker_id not in replicas:
            return UnknownTopicOrPartition.code
        isr = shared(state.isr)
        if log is None and table.lost and not state.is_new:
            table.offline.add(name)
            return KafkaStorageError.code
        if log is None:
            # The leader has never changed, so the partition is new: each ISR member has the bytes it was created with,
            # unless its log was deleted since.
            is_first = state.leader_epoch == 0 and not table.has_deleted(name, topic_id)
            has_first_bytes = is_first and self.broker_id in isr
            log = table.create(name, topic_id, self._first_bytes(name.topic) if has_first_bytes else 0)
            applied.created.append(name)
        elif log.topic_id is None:
            log.topic_id = topic_id
        if replica is None:
            replica = table.online[name] = SimulatedReplica(name, log)
        replica.leader = state.leader
        replica.leader_epoch = state.leader_epoch
        replica.partition_epoch = state.partition_epoch
        replica.replicas = replicas
        replica.isr = isr
        (applied.leaders if state.leader == self.broker_id else applied.followers).append(replica)
        return 0

    def stop_replica(self, request: StopReplicaRequest, version: int) -> Steps[StopReplicaResponse]:
        """StopReplica 3-4."""
        refused = self._refusal(request)
        if refused:
            return StopReplicaResponse(version=version, error_code=refused)
        self.controller_epoch = request.controller_epoch
        errors: list[tuple[str, int, int]] = []
        states = _stop_replica_states(request)
        while part := list(islice(states, SLICE)):
            applied = AppliedRequest()
            errors += [(*name, self._stop(name, leader_epoch, delete, applied)) for name, leader_epoch, delete in part]
            yield applied
        return StopReplicaResponse(version=version, error_code=0, partition_errors=errors)

    def _stop(self, name: TopicPartition, leader_epoch: int, delete: bool, applied: AppliedRequest) -> int:
        """Without deletion a follower stops to fetch, and a leader goes on (ReplicaManager.stopPartitions)."""
        if name in self._table.offline:
            return KafkaStorageError.code
        replica = self._table.online.get(name)
        if replica is not None:
            if leader_epoch not in (NO_EPOCH, EPOCH_DURING_DELETE) and leader_epoch < replica.leader_epoch:
                return FencedLeaderEpoch.code
            if delete:
                del self._table.online[name]
            (applied.stopped if delete else applied.paused).append(name)
        if delete:
            # Also without a replica: there may be a log from before a restart.
            self._table.preferred.pop(name, None)
            if self._table.delete(name):
                applied.deleted.append(name)
        return 0

    def update_metadata(self, request: UpdateMetadataRequest, version: int) -> Steps[UpdateMetadataResponse]:
        """UpdateMetadata 7-8."""
        refused = self._refusal(request)
        if not refused:
            self.controller_epoch = request.controller_epoch
            self._cache.update_brokers(request)
            states = states_of(request)
            while part := list(islice(states, SLICE)):
                self._cache.update_partitions(part)
                yield AppliedRequest()
        return UpdateMetadataResponse(version=version, error_code=refused)

    def _refusal(self, request: LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest) -> int:
        # An epoch higher than ours is fine: the controller may have seen our new registration before we did.
        if request.broker_epoch not in (None, UNKNOWN_BROKER_EPOCH) and request.broker_epoch < self.broker_epoch:
            return StaleBrokerEpoch.code
        if request.controller_epoch < self.controller_epoch:
            return StaleControllerEpoch.code
        return 0


def states_of(request: LeaderAndIsrRequest | UpdateMetadataRequest) -> Iterator[tuple[str, UUID | None, Any]]:
    """Yields (topic, its id if known, state)."""
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield topic.topic_name, topic.topic_id or None, state


def _stop_replica_states(request: StopReplicaRequest) -> Iterator[tuple[TopicPartition, int, bool]]:
    for topic in request.topic_states:
        for state in topic.partition_states:
            name = TopicPartition(topic.topic_name, state.partition_index)
            yield name, state.leader_epoch, state.delete_partition
