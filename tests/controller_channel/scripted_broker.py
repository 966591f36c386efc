"""A broker that answers as a test tells it, and the channel to it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_reassign_rpc.controller_channel.broker_channel import BrokerChannel
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.controller_channel.replica_answers import HostedReplica, LogDirAnswer
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_response
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    ApiVersionsResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataRequest,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.support.turns import Turn
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from tests.core.build import TOPIC_ID, cluster, moving, not_moving
from tests.stop_listening import stop_listening
from tests.waiting import eventually

NEWEST: dict[int, int] = {
    ApiKey.LEADER_AND_ISR: 7,
    ApiKey.STOP_REPLICA: 4,
    ApiKey.UPDATE_METADATA: 8,
    ApiKey.API_VERSIONS: 4,
}
RELEASES: dict[str, dict[int, int]] = {
    "2.8": {ApiKey.LEADER_AND_ISR: 5, ApiKey.STOP_REPLICA: 3, ApiKey.UPDATE_METADATA: 7},
    "3.3": {ApiKey.LEADER_AND_ISR: 6, ApiKey.STOP_REPLICA: 3, ApiKey.UPDATE_METADATA: 7},
    "3.9": {ApiKey.LEADER_AND_ISR: 7, ApiKey.STOP_REPLICA: 4, ApiKey.UPDATE_METADATA: 8},
}
"""The highest versions that brokers of each release serve."""
NOT_LEADER_OR_FOLLOWER, STALE_CONTROLLER_EPOCH, KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH, INCONSISTENT_TOPIC_ID = (
    6,
    11,
    56,
    74,
    103,
)
SILENT = object()
"""In place of an answer: the connection stays open, and nothing comes."""
CLUSTER_AUTHORIZATION_FAILED, STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR = 31, 77, -1


class ScriptedBroker:
    """A broker on a real socket. The test sets its answers; it keeps the requests that it received."""

    def __init__(self, versions: dict[int, int]) -> None:
        self.versions = versions
        self.received: list[Any] = []
        self.spoken: set[tuple[int, int]] = set()
        """The API keys of these requests, with their versions."""
        self.connections = 0
        self.answer: Callable[[Any], Any] = lambda body: RESPONSES[body.API_KEY]
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        await stop_listening([self._server])
        for writer in list(self._writers):
            writer.close()

    def kinds(self) -> list[type]:
        return [type(body) for body in self.received]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                request = decode_request(await reader.readexactly(size))
                version = request.header.api_version
                if request.header.api_key == ApiKey.API_VERSIONS:
                    found = [
                        ApiVersionsResponse.ApiVersion(version=version, api_key=key, min_version=0, max_version=highest)
                        for key, highest in self.versions.items()
                    ]
                    body: Any = ApiVersionsResponse(version=version, error_code=0, api_keys=found)
                else:
                    self.received.append(request.body)
                    self.spoken.add((request.header.api_key, version))
                    body = self.answer(request.body)
                    if body is None:  # it closes the connection without an answer
                        return
                    if body is SILENT:
                        continue
                    if isinstance(body, bytes):
                        writer.write(len(body).to_bytes(4, "big") + body)
                        continue
                    if body is StopReplicaResponse:
                        body = stop_answer(request.body, version)
                    elif isinstance(body, type):
                        body = body(version=version, error_code=0)
                writer.write(encode_response(body, version=version, correlation_id=request.header.correlation_id))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


def stop_answer(request: Any, version: int, codes: Mapping[int, int] | None = None) -> StopReplicaResponse:
    """The answer of a broker that lists all replicas of the request; `codes`: errors by partition index."""
    names = [(one.topic_name, part.partition_index) for one in request.topic_states for part in one.partition_states]
    answered = [
        StopReplicaResponse.StopReplicaPartitionError(
            version=version, topic_name=name, partition_index=index, error_code=(codes or {}).get(index, 0)
        )
        for name, index in names
    ]
    return StopReplicaResponse(version=version, error_code=0, partition_errors=answered)


class ChannelReports:
    """What channels report, to the controller and to each other. `accepted`: what they hear of another broker."""

    def __init__(self) -> None:
        self.confirmed: list[tuple[int, Mapping[TopicPartition, StopReplicaState]]] = []
        self.newer_controllers = self.obeyed = 0
        self.log_dirs: list[list[LogDirAnswer]] = []
        self.refused: list[Mapping[str, Collection[int]] | None] = []
        self.accepted = True
        self.unassigned: list[tuple[int, list[TopicPartition], list[TopicPartition]]] = []

    def stopped(self, broker: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        self.confirmed.append((broker, stops))

    def obeys(self) -> None:
        self.obeyed += 1

    def knows_newer_controller(self) -> None:
        self.newer_controllers += 1

    def log_dirs_answered(self, broker: Broker, answers: Sequence[LogDirAnswer], *, is_complete: bool = False) -> None:
        if not answers:
            return
        assert (broker.id, broker.epoch) == (3, 103)
        self.log_dirs.append(list(answers))

    def leader_and_isr_refused(self, broker: Broker, partitions: Mapping[str, Collection[int]] | None) -> None:
        assert (broker.id, broker.epoch) == (3, 103)
        self.refused.append(partitions)

    def unassigned_found(self, broker: int, stopped: Sequence[TopicPartition], logs: Sequence[TopicPartition]) -> None:
        self.unassigned.append((broker, list(stopped), list(logs)))

    def leader_and_isr_answered(self, *_: object) -> Generator[None, None, None]:
        yield

    def accepted_elsewhere(self, broker_id: int, replica: HostedReplica) -> bool:
        return self.accepted


@asynccontextmanager
async def connected(
    versions: dict[int, int] | None = None, *, up_to_date: bool = True, links: BrokerLinks | None = None
) -> AsyncIterator[tuple[ScriptedBroker, BrokerChannel, ChannelReports, Cluster]]:
    """A broker and the channel to it. `up_to_date`: it has learned everything, as after its registration."""
    scripted = ScriptedBroker(NEWEST if versions is None else versions)
    await scripted.start()
    found = cluster(moving((1, 2), (3, 4)), not_moving(1, 2, 3))
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", scripted.port)
    broker = Broker(3, 103, (endpoint,))
    found.brokers[3] = broker
    reports = ChannelReports()
    own = Endpoint("PLAINTEXT", "PLAINTEXT", "server", 9092)
    sender = Sender(1000, 9, (own,))
    made = BrokerChannel(broker, lambda: found, sender, reports, reports, links or BrokerLinks(), Turn())
    try:
        if up_to_date:
            made.wake()
            await eventually(lambda: scripted.kinds() == [UpdateMetadataRequest, LeaderAndIsrRequest])
            await eventually(lambda: not made._wakeup.is_set())
            scripted.received.clear()
        yield scripted, made, reports, found
    finally:
        await made.close()
        await scripted.stop()


def leader_and_isr_answer(codes: Mapping[int, int]) -> LeaderAndIsrResponse:
    """Version 7, with an error code for partitions of topic t."""
    topic = LeaderAndIsrResponse.LeaderAndIsrTopicError
    entries = [
        topic.LeaderAndIsrPartitionError(version=7, partition_index=index, error_code=code)
        for index, code in codes.items()
    ]
    topics = [topic(version=7, topic_id=TOPIC_ID, partition_errors=entries)]
    return LeaderAndIsrResponse(version=7, error_code=0, topics=topics)


def note_waits(monkeypatch: pytest.MonkeyPatch, callback: Callable[[], object], *, short: int) -> list[float]:
    """The waits before each call of `callback` by the event loop, in seconds. The first `short` ones take no time."""
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    later = loop.call_later

    def call_later(delay: float, called: Callable[..., object], *args: object) -> asyncio.TimerHandle:
        if called == callback:
            waits.append(delay)
            delay = 0 if len(waits) <= short else delay
        return later(delay, called, *args)

    monkeypatch.setattr(loop, "call_later", call_later)
    return waits


def has_received(broker: ScriptedBroker, count: int) -> bool:
    return len(broker.received) == count
