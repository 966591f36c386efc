"""Brokers as a controller meets them: they die, return, lose requests and answers, and fail to delete logs.

What they do with LeaderAndIsr and StopReplica is what ReplicaManager of Kafka 3.9 does. Time is virtual: a wait of a
minute takes no time, and everything that happens depends on the test alone.
"""

import asyncio
import selectors
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Any
from uuid import UUID

from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_body, request_prefix
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    ApiMessage,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
)

STALE_CONTROLLER_EPOCH, KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH, STALE_BROKER_EPOCH = 11, 56, 74, 77
UNKNOWN_TOPIC_OR_PARTITION, INCONSISTENT_TOPIC_ID = 3, 103
DELETED_EPOCH, NO_EPOCH = -2, -1
TIMEOUT_S, LATE_S, TRIP_S = 30.0, 1.0, 0.001
VERSIONS = {
    LeaderAndIsrRequest.API_KEY: 7,
    StopReplicaRequest.API_KEY: 4,
    UpdateMetadataRequest.API_KEY: 8,
    DescribeLogDirsRequest.API_KEY: 4,
}


class _VirtualSelector(selectors.DefaultSelector):
    """Never waits: it says how long it would have waited."""

    waited_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise AssertionError("everybody waits for somebody else")
        self.waited_s += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock goes on only when every task waits."""

    def __init__(self) -> None:
        self._waits = _VirtualSelector()
        super().__init__(self._waits)

    def time(self) -> float:
        return self._waits.waited_s


class Fault(Enum):
    """What becomes of one request."""

    LOST = auto()
    """The connection ends before the broker sees it."""
    ANSWER_LOST = auto()
    """The broker has done it, and the connection ends before the answer."""
    LATE = auto()
    """The answer comes a while later."""
    NO_ANSWER = auto()
    """The broker has done it and never answers."""


class ModelBroker:
    """One broker: the logs on its disk, and the replicas that it has been sent since it started.

    logs       the id of the topic of each log
    replicas   the leader epoch of each
    leading    those that it leads
    stopped    those that it does not fetch for: StopReplica without deletion does no more
               (ReplicaManager.stopPartitions)
    leaves     whether it has asked for a controlled shutdown
    faults     of the next requests
    broken     whether its disk refuses to delete
    """

    def __init__(self, id_: int) -> None:
        self.id = id_
        self.epoch = 0
        self.is_up = False
        self.leaves = False
        self.controller_epoch = 0
        self.logs: dict[TopicPartition, UUID] = {}
        self.replicas: dict[TopicPartition, int] = {}
        self.leading: set[TopicPartition] = set()
        self.stopped: set[TopicPartition] = set()
        self.faults: deque[Fault] = deque()
        self.broken = False

    @property
    def registration(self) -> Broker:
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "model", self.id)
        return Broker(self.id, self.epoch, (endpoint,))

    def start(self, epoch: int) -> None:
        self.epoch, self.is_up, self.leaves, self.controller_epoch = epoch, True, False, 0
        self.replicas, self.leading, self.stopped = {}, set(), set()

    def die(self) -> None:
        self.is_up = False

    def handle(self, body: Any) -> Any:
        version = VERSIONS[body.API_KEY]
        if isinstance(body, DescribeLogDirsRequest):
            return self._describe(body, version)
        if body.broker_epoch < self.epoch:
            code = STALE_BROKER_EPOCH
        elif body.controller_epoch < self.controller_epoch:
            code = STALE_CONTROLLER_EPOCH
        else:
            code = 0
            self.controller_epoch = body.controller_epoch
        response: Any = RESPONSES[body.API_KEY]
        answer = response(version=version, error_code=code)
        if not code:
            if isinstance(body, LeaderAndIsrRequest):
                answer.topics = [self._lead_or_follow(topic, version) for topic in body.topic_states]
            elif isinstance(body, StopReplicaRequest):
                answer.partition_errors = [
                    StopReplicaResponse.StopReplicaPartitionError(
                        version=version,
                        topic_name=topic.topic_name,
                        partition_index=one.partition_index,
                        error_code=self._stop(TopicPartition(topic.topic_name, one.partition_index), one),
                    )
                    for topic in body.topic_states
                    for one in topic.partition_states
                ]
        return answer

    def _lead_or_follow(self, topic: Any, version: int) -> Any:
        by_topic = LeaderAndIsrResponse.LeaderAndIsrTopicError
        errors = []
        for one in topic.partition_states:
            name = TopicPartition(topic.topic_name, one.partition_index)
            code = 0
            if topic.topic_id and self.logs.get(name, topic.topic_id) != topic.topic_id:
                code = INCONSISTENT_TOPIC_ID
            elif one.leader_epoch <= self.replicas.get(name, -1):
                code = STALE_CONTROLLER_EPOCH
            elif self.id not in one.replicas:
                code = UNKNOWN_TOPIC_OR_PARTITION
            else:
                self.logs.setdefault(name, topic.topic_id)
                self.replicas[name] = one.leader_epoch
                self._follow_or_lead(name, one.leader)
            errors.append(
                by_topic.LeaderAndIsrPartitionError(version=version, partition_index=name.partition, error_code=code)
            )
        return by_topic(version=version, topic_id=topic.topic_id, partition_errors=errors)

    def _follow_or_lead(self, name: TopicPartition, leader: int) -> None:
        if leader == self.id:
            self.leading.add(name)
        elif leader >= 0:  # without one it goes on as before
            self.leading.discard(name)
        self.stopped.discard(name)

    def _stop(self, name: TopicPartition, asked: Any) -> int:
        known = self.replicas.get(name)
        if known is not None and asked.leader_epoch not in (DELETED_EPOCH, NO_EPOCH) and asked.leader_epoch < known:
            return FENCED_LEADER_EPOCH
        if asked.delete_partition and self.broken:
            return KAFKA_STORAGE_ERROR
        if asked.delete_partition:
            self.replicas.pop(name, None)
            self.leading.discard(name)
            self.stopped.discard(name)
            self.logs.pop(name, None)
        elif known is not None:
            self.stopped.add(name)
        return 0

    def _describe(self, body: Any, version: int) -> Any:
        by_topic: dict[str, list[Any]] = {}
        answer = DescribeLogDirsResponse.DescribeLogDirsResult
        topics = answer.DescribeLogDirsTopic
        wanted = (
            None if body.topics is None else {TopicPartition(t.topic, i) for t in body.topics for i in t.partitions}
        )
        for name in self.logs:
            if wanted is None or name in wanted:
                one = topics.DescribeLogDirsPartition(
                    version=version,
                    partition_index=name.partition,
                    partition_size=1,
                    offset_lag=0 if name in self.replicas else -1,
                    is_future_key=False,
                )
                by_topic.setdefault(name.topic, []).append(one)
        found = [topics(version=version, name=topic, partitions=ones) for topic, ones in by_topic.items()]
        only = answer(version=version, error_code=0, log_dir="/d", topics=found, total_bytes=-1, usable_bytes=-1)
        return DescribeLogDirsResponse(version=version, throttle_time_ms=0, error_code=0, results=[only])


def connect(brokers: Mapping[int, ModelBroker]) -> Callable[..., Awaitable["ModelClient"]]:
    """In the place of RpcClient.open: the port of a broker is its id."""

    async def connected(_host: str, port: int, *_: object) -> ModelClient:
        await asyncio.sleep(TRIP_S)
        if not brokers[port].is_up:
            raise ConnectionRefusedError
        return ModelClient(brokers[port])

    return connected


class ModelClient:
    """In the place of RpcClient: a connection to a broker, until that dies or registers again."""

    def __init__(self, broker: ModelBroker) -> None:
        self._broker = broker
        self._epoch = broker.epoch

    def close(self) -> None:
        pass

    async def versions(self) -> None:
        await asyncio.sleep(TRIP_S)
        self._check()

    async def version(self, request_class: type[ApiMessage]) -> int:
        return VERSIONS[request_class.API_KEY]

    async def call(self, request_class: Any, body: Any, version: int, *, raw: bool = False) -> Any:
        await asyncio.sleep(TRIP_S)
        self._check()
        if not isinstance(body, bytes):
            body = encode_body(body, version=version)
        size = len(body)
        prefix = request_prefix(request_class, version=version, correlation_id=1, client_id="c", body_size=size)
        fault = self._broker.faults.popleft() if self._broker.faults else None
        if fault is Fault.LOST:
            raise EOFError("the connection was closed")
        answer = self._broker.handle(decode_request(prefix[4:] + body).body)
        if fault is Fault.ANSWER_LOST:
            raise EOFError("the connection was closed")
        if fault is Fault.NO_ANSWER:
            await asyncio.sleep(TIMEOUT_S)
            raise TimeoutError
        await asyncio.sleep(LATE_S if fault is Fault.LATE else TRIP_S)
        self._check()
        return encode_body(answer, version=version) if raw else answer

    def _check(self) -> None:
        if not self._broker.is_up or self._broker.epoch != self._epoch:
            raise EOFError("the connection was closed")
