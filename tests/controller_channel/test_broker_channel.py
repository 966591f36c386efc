"""The channel to one broker repeats every request, in order, until the broker confirms it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel import ChannelManager, pending_requests, request_builders
from kafka_reassign_rpc.controller_channel import broker_channel as channel_module
from kafka_reassign_rpc.controller_channel.broker_channel import BrokerChannel, LogDirAnswer
from kafka_reassign_rpc.controller_channel.broker_client import RpcClient
from kafka_reassign_rpc.controller_channel.broker_links import BrokerLinks
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, LeaderAndIsr, StopReplicaState
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.core.round import replay
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, Endpoint, TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_response
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    ApiVersionsResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
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
    "2.4": {ApiKey.LEADER_AND_ISR: 4, ApiKey.STOP_REPLICA: 2, ApiKey.UPDATE_METADATA: 6},
    "2.7": {ApiKey.LEADER_AND_ISR: 4, ApiKey.STOP_REPLICA: 3, ApiKey.UPDATE_METADATA: 6},
    "2.8": {ApiKey.LEADER_AND_ISR: 5, ApiKey.STOP_REPLICA: 3, ApiKey.UPDATE_METADATA: 7},
    "3.3": {ApiKey.LEADER_AND_ISR: 6, ApiKey.STOP_REPLICA: 3, ApiKey.UPDATE_METADATA: 7},
    "3.9": {ApiKey.LEADER_AND_ISR: 7, ApiKey.STOP_REPLICA: 4, ApiKey.UPDATE_METADATA: 8},
}
"""The highest versions that brokers of each release serve."""
STALE_CONTROLLER_EPOCH, KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH, INCONSISTENT_TOPIC_ID = 11, 56, 74, 103
CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_SERVER_ERROR = 31, -1


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
    if version >= 3:
        names = [
            (one.topic_name, part.partition_index) for one in request.topic_states for part in one.partition_states
        ]
    else:
        names = [(one.name, index) for one in request.topics for index in one.partition_indexes]
    answered = [
        StopReplicaResponse.StopReplicaPartitionError(
            version=version, topic_name=name, partition_index=index, error_code=(codes or {}).get(index, 0)
        )
        for name, index in names
    ]
    return StopReplicaResponse(version=version, error_code=0, partition_errors=answered)


class ChannelReports:
    """What the channel has reported."""

    def __init__(self) -> None:
        self.stopped: list[tuple[int, dict[TopicPartition, StopReplicaState]]] = []
        self.controller_moved = 0
        self.log_dirs: list[list[LogDirAnswer]] = []

    def note_log_dirs(self, broker: Broker, answers: Sequence[LogDirAnswer]) -> None:
        assert (broker.id, broker.epoch) == (3, 103)
        self.log_dirs.append(list(answers))

    def note_stopped(self, broker: int, stops: dict[TopicPartition, StopReplicaState]) -> None:
        self.stopped.append((broker, stops))

    def note_controller_moved(self) -> None:
        self.controller_moved += 1


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
    made = BrokerChannel(
        broker,
        lambda: found,
        Sender(1000, 9, (own,)),
        reports.note_stopped,
        reports.note_controller_moved,
        links=links,
        log_dirs_answered=reports.note_log_dirs,
    )
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


async def test_455_4_pending_requests_are_sent_in_their_order() -> None:
    async with connected() as (broker, channel, reports, _):
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.pending.metadata("t", [0, 1])
        channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.pending.live_brokers_changed()
        channel.wake()

        await eventually(lambda: reports.stopped)
        assert broker.kinds() == [UpdateMetadataRequest, LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest]
        assert [len(body.topic_states) for body in broker.received[:3]] == [0, 1, 1]
        assert reports.stopped == [(3, {TopicPartition("t", 1): StopReplicaState(5, delete=True)})]
        assert broker.connections == 1


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "a\x00b"])
async def test_sv_4_a_channel_to_a_host_whose_name_is_none_tries_again_like_one_to_any_host(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "FIRST_BACKOFF_S", 0.001)
    tried: list[str] = []
    really = RpcClient.open

    async def noted(host: str, *others: Any) -> Any:
        tried.append(host)
        return await really(host, *others)

    monkeypatch.setattr(RpcClient, "open", noted)
    async with connected(up_to_date=False) as (_, channel, _, _):
        channel.broker = Broker(3, 103, (Endpoint("PLAINTEXT", "PLAINTEXT", host, 9092),))
        channel.wake()
        await eventually(lambda: len(tried) > 2)
        assert not channel._task.done()


async def test_sv_4_a_request_without_an_answer_is_sent_again_on_a_new_connection() -> None:
    async with connected() as (broker, channel, reports, _):
        answers = iter([None, None])
        broker.answer = lambda body: next(answers, RESPONSES[body.API_KEY])
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.wake()

        await eventually(lambda: reports.stopped)
        assert broker.kinds() == [StopReplicaRequest] * 3
        assert broker.connections == 3
        assert len(reports.stopped) == 1


async def test_sv_4_a_broker_that_was_away_learns_the_latest_state() -> None:
    async with connected() as (broker, channel, _, found):
        await broker.stop()
        channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.wake()
        found.topics["t"].partitions[0] = not_moving(3, 4, epoch=9)
        again = ScriptedBroker(NEWEST)
        again._server = await asyncio.start_server(again._serve, "127.0.0.1", broker.port)
        try:
            await eventually(lambda: again.received)
            (state,) = again.received[0].topic_states[0].partition_states
            assert (state.leader_epoch, state.replicas) == (9, [3, 4])
        finally:
            await again.stop()


async def test_sv_4_requests_are_sent_in_the_versions_of_an_old_broker() -> None:
    old: dict[int, int] = {
        ApiKey.LEADER_AND_ISR: 4,
        ApiKey.STOP_REPLICA: 2,
        ApiKey.UPDATE_METADATA: 6,
        ApiKey.API_VERSIONS: 3,
    }
    async with connected(old) as (broker, channel, reports, _):
        channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.pending.metadata("t", [0])
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.pending.stop("t", 2, StopReplicaState(5, delete=False))
        channel.wake()

        await eventually(lambda: len(reports.stopped) == 2)
        assert broker.kinds()[:2] == [LeaderAndIsrRequest, UpdateMetadataRequest]
        deletes = [body.delete_partitions for body in broker.received[2:]]
        assert deletes == [False, True], "an old StopReplica deletes all or none"


async def test_sv_3_a_broker_that_knows_a_newer_controller_ends_the_term_of_this_one() -> None:
    async with connected() as (broker, channel, reports, _):
        broker.answer = lambda _: LeaderAndIsrResponse(version=7, error_code=STALE_CONTROLLER_EPOCH)
        channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.wake()

        await eventually(lambda: reports.controller_moved)
        assert reports.controller_moved == 1


def has_received(broker: ScriptedBroker, count: int) -> bool:
    return len(broker.received) == count


@pytest.mark.parametrize("version", [4, 7])
async def test_sv_4_replicas_on_a_failed_log_dir_are_reported_and_so_is_their_return(version: int) -> None:
    codes = iter([{0: 0, 1: KAFKA_STORAGE_ERROR}, {0: 0, 1: STALE_CONTROLLER_EPOCH}, {0: 0, 1: 0}, {0: 0, 1: 0}])
    by_topic = LeaderAndIsrResponse.LeaderAndIsrTopicError

    def answer(_: Any) -> Any:
        found = next(codes)
        if version < 5:
            by_name = LeaderAndIsrResponse.LeaderAndIsrPartitionError
            named = [(name, index, code) for name in ("t", "gone") for index, code in found.items()]
            errors = [by_name(version=4, topic_name=n, partition_index=i, error_code=code) for n, i, code in named]
            return LeaderAndIsrResponse(version=4, error_code=0, partition_errors=errors)
        parts = [
            by_topic.LeaderAndIsrPartitionError(version=7, partition_index=index, error_code=code)
            for index, code in found.items()
        ]
        topics = [by_topic(version=7, topic_id=id_, partition_errors=parts) for id_ in (TOPIC_ID, UUID(int=99))]
        return LeaderAndIsrResponse(version=7, error_code=0, topics=topics)

    async with connected(NEWEST | {ApiKey.LEADER_AND_ISR: version}) as (broker, channel, reports, _):
        broker.answer = answer
        for count in range(1, 5):
            channel.pending.leader_and_isr("t", 0, is_new=False)
            channel.wake()
            await eventually(partial(has_received, broker, count))
        await eventually(lambda: len(reports.log_dirs) == 2)
        name = TopicPartition("t", 1)
        assert reports.log_dirs == [
            [LogDirAnswer(name, TOPIC_ID, is_offline=True)],
            [LogDirAnswer(name, TOPIC_ID, is_offline=False)],
        ]


@pytest.mark.parametrize("at_first", [True, False], ids=["in its first answer", "later"])
async def test_sv_10_the_log_of_an_earlier_topic_is_deleted_once_before_the_new_replica_begins(at_first: bool) -> None:
    """The broker was away when the replica of the earlier topic was dropped, and has refused the new one since."""

    def answer(body: Any) -> Any:
        if not isinstance(body, LeaderAndIsrRequest):
            return RESPONSES[body.API_KEY]
        # Of partition 1 the broker is in the ISR: that log stays whatever the broker says.
        return leader_and_isr_answer({0: INCONSISTENT_TOPIC_ID, 1: INCONSISTENT_TOPIC_ID})

    async with connected(up_to_date=not at_first) as (broker, channel, _, _cluster):
        broker.answer = answer
        if not at_first:
            channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.wake()
        await eventually(lambda: broker.kinds()[-2:] == [StopReplicaRequest, LeaderAndIsrRequest])
        await eventually(lambda: not channel._wakeup.is_set())
        stop, start = broker.received[-2:]
        assert [
            (one.topic_name, state.partition_index, state.leader_epoch, state.delete_partition)
            for one in stop.topic_states
            for state in one.partition_states
        ] == [("t", 0, DELETED_EPOCH, True)]
        assert [
            (one.topic_name, state.partition_index, state.is_new)
            for one in start.topic_states
            for state in one.partition_states
        ] == [("t", 0, True)]
        assert broker.kinds().count(StopReplicaRequest) == 1, "a broker that refuses again is not asked for ever"


async def test_sv_10_the_log_of_an_earlier_topic_stays_until_its_replica_has_left_the_isr() -> None:
    refusal = leader_and_isr_answer({1: INCONSISTENT_TOPIC_ID})
    async with connected() as (broker, channel, _, found):
        broker.answer = lambda body: refusal if isinstance(body, LeaderAndIsrRequest) else RESPONSES[body.API_KEY]
        channel.pending.leader_and_isr("t", 1, is_new=True)
        channel.wake()
        await eventually(lambda: channel._kept_logs)
        channel.left_isr("t", 0)
        partitions = found.topics["t"].partitions
        partitions[1] = replace(partitions[1], isr=(1, 2))
        channel.left_isr("t", 1)
        await eventually(lambda: broker.kinds()[-2:] == [StopReplicaRequest, LeaderAndIsrRequest])
        assert not channel._kept_logs


def test_sv_10_a_channel_hears_when_its_broker_leaves_an_isr(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[int, str, int]] = []

    class Channel:
        def __init__(self, broker: int) -> None:
            self.left_isr = partial(self._note, broker)

        def _note(self, broker: int, topic: str, index: int) -> None:
            heard.append((broker, topic, index))

    channels = ChannelManager(lambda: cluster(live=(1, 2, 3)), Sender(1000, 1, ()), lambda *_: None, lambda: None)
    monkeypatch.setattr(channels, "_channels", {broker: Channel(broker) for broker in (1, 2, 3)})
    before = not_moving(1, 2, 3)
    channels.partition_changed("t", 0, before, replace(before, isr=(1, 3)))
    channels.partition_changed("t", 1, before, replace(before, leader=before.leader))
    assert heard == [(2, "t", 0)]


async def test_sv_4_a_broker_that_starts_with_a_failed_log_dir_is_heard_at_its_first_answer() -> None:
    codes = {0: 0, 1: KAFKA_STORAGE_ERROR}
    async with connected(up_to_date=False) as (broker, channel, reports, _):
        broker.answer = lambda body: (
            leader_and_isr_answer(codes) if isinstance(body, LeaderAndIsrRequest) else RESPONSES[body.API_KEY]
        )
        channel.wake()
        await eventually(lambda: len(reports.log_dirs) == 1)
        assert reports.log_dirs == [[LogDirAnswer(TopicPartition("t", 1), TOPIC_ID, is_offline=True)]]
        codes[1] = 0
        channel.pending.everything()
        channel.wake()
        await eventually(lambda: len(reports.log_dirs) == 2)
        assert reports.log_dirs[1] == [LogDirAnswer(TopicPartition("t", 1), TOPIC_ID, is_offline=False)]


async def test_455_4_a_failed_stop_does_not_count_as_stopped_and_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module, "FIRST_REFUSAL_S", 0.01)
    stop, times = StopReplicaState(5, delete=True), 3

    def refuse(body: Any) -> Any:
        """The second replica some times, the third for ever: it is fenced."""
        codes = {1: KAFKA_STORAGE_ERROR, 2: FENCED_LEADER_EPOCH}
        return stop_answer(body, 4, codes if len(broker.received) < times else {})

    async with connected() as (broker, channel, reports, _):
        broker.answer = refuse
        for index in range(3):
            channel.pending.stop("t", index, stop)
        channel.wake()

        await eventually(lambda: len(reports.stopped) >= times)
        assert [stops for _, stops in reports.stopped] == [
            {TopicPartition("t", 0): stop},
            {},
            {TopicPartition("t", 1): stop},
        ]
        states = [
            [state.partition_index for state in body.topic_states[0].partition_states] for body in broker.received
        ]
        assert states == [[0, 1, 2], [1], [1]]


async def test_455_4_a_replica_that_the_answer_leaves_out_does_not_count_as_stopped_and_is_stopped_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker lists every replica that it has stopped: ReplicaManager.stopReplicas."""
    monkeypatch.setattr(channel_module, "FIRST_REFUSAL_S", 0.01)
    stop = StopReplicaState(5, delete=True)

    def leave_out(body: Any) -> Any:
        answer = stop_answer(body, 4)
        if len(broker.received) == 1:
            del answer.partition_errors[0]
        return answer

    async with connected() as (broker, channel, reports, _):
        broker.answer = leave_out
        for index in range(2):
            channel.pending.stop("t", index, stop)
        channel.wake()

        await eventually(lambda: len(reports.stopped) >= 2)
        assert [list(stops) for _, stops in reports.stopped] == [[TopicPartition("t", 1)], [TopicPartition("t", 0)]]


async def test_455_4_a_stop_replica_that_is_refused_as_a_whole_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker has failed at it."""
    monkeypatch.setattr(channel_module, "FIRST_REFUSAL_S", 0.01)
    stop = StopReplicaState(DELETED_EPOCH, delete=True)

    def refuse(body: Any) -> Any:
        if len(broker.received) < 3:
            return StopReplicaResponse(version=4, error_code=UNKNOWN_SERVER_ERROR)
        return stop_answer(body, 4)

    async with connected() as (broker, channel, reports, _):
        broker.answer = refuse
        channel.pending.stop("t", 0, stop)
        channel.wake()
        await eventually(lambda: reports.stopped)
        assert reports.stopped == [(3, {TopicPartition("t", 0): stop})]
        assert broker.kinds() == [StopReplicaRequest] * 3


async def test_455_4_a_refused_stop_waits_longer_each_time_and_ends_with_the_channel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async with connected() as (broker, channel, _, _found):
        loop = asyncio.get_running_loop()
        later = loop.call_later

        def call_later(delay: float, callback: Callable[..., object], *args: object) -> asyncio.TimerHandle:
            if callback == channel._retry_refused_stops:
                waits.append(delay)
                delay = 0 if len(waits) < 9 else delay
            return later(delay, callback, *args)

        monkeypatch.setattr(loop, "call_later", call_later)
        failed = StopReplicaResponse.StopReplicaPartitionError(
            version=4, topic_name="t", partition_index=1, error_code=KAFKA_STORAGE_ERROR
        )
        broker.answer = lambda _: StopReplicaResponse(version=4, error_code=0, partition_errors=[failed])
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.wake()

        await eventually(lambda: len(waits) == 9)
        assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert channel._retry is not None
        await channel.close()
        assert channel._retry.cancelled()


async def test_sv_4_the_channel_reconnects_to_a_broker_that_answers_garbage() -> None:
    async with connected() as (broker, channel, reports, _):
        broker.answer = lambda body: b"garbage" if len(broker.received) == 1 else RESPONSES[body.API_KEY]
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.wake()

        await eventually(lambda: reports.stopped)
        assert broker.connections == 2


async def test_236_14_many_partitions_are_propagated_in_requests_of_bounded_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending_requests, "PARTITIONS_PER_REQUEST", 10)
    async with connected() as (broker, channel, _, found):
        found.topics["t"].partitions.update({index: not_moving(1, 2, 3) for index in range(95)})
        for index in range(95):
            channel.pending.leader_and_isr("t", index, is_new=False)
        channel.wake()

        await eventually(lambda: len(broker.received) == 10)
        propagated = [
            state.partition_index for body in broker.received for state in body.topic_states[0].partition_states
        ]
        assert sorted(propagated) == list(range(95))


async def test_sv_4_a_closed_channel_sends_nothing() -> None:
    async with connected() as (broker, channel, _, _found):
        await channel.close()
        channel.pending.live_brokers_changed()
        channel.wake()
        assert broker.received == []


def test_455_5_a_replica_that_is_removed_again_is_stopped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped, added and removed in one round: after the round only the leader epoch differs."""
    channels = ChannelManager(lambda: cluster(live=(1, 2, 3)), Sender(1000, 1, ()), lambda *_: None, lambda: None)
    stopped: list[tuple[int, int]] = []
    monkeypatch.setattr(
        channels, "stop_and_delete", lambda broker, *name: stopped.append((broker, name[-1].leader_epoch))
    )
    before = replace(not_moving(1, 2, epoch=7), pending_deletion=(3,))
    channels.partition_changed("t", 0, before, replace(before, isr=(1,)))
    assert stopped == [], "nothing has happened to it"
    channels.partition_changed("t", 0, before, replace(before, leader_epoch=9))
    assert stopped == [(3, 9)]


async def test_sv_4_the_first_leader_and_isr_after_a_registration_has_every_replica_of_the_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the first one a broker writes its file of high watermarks, with the partitions that it knows by then."""
    monkeypatch.setattr(pending_requests, "PARTITIONS_PER_REQUEST", 10)
    monkeypatch.setattr(request_builders, "SLICE", 7)
    async with connected(up_to_date=False) as (broker, channel, _, found):
        found.topics["t"].partitions.update({index: not_moving(1, 2, 3) for index in range(95)})
        replay.put_topic(found, "elsewhere", UUID(int=8), {0: not_moving(1, 2)}, version=1)
        replay.put_topic(found, "here", UUID(int=9), dict.fromkeys(range(20), not_moving(3, 1)), version=1)
        channel.pending.leader_and_isr("here", 19, is_new=True)
        channel.wake()

        await eventually(lambda: len(broker.received) == 2)
        metadata, first = broker.received
        shown = {topic.topic_name: len(topic.partition_states) for topic in metadata.topic_states}
        assert shown == {"t": 95, "elsewhere": 1, "here": 20}
        assert {live.id for live in metadata.live_brokers} == {*found.brokers, 1000}
        held = {
            topic.topic_name: [(state.partition_index, state.is_new) for state in topic.partition_states]
            for topic in first.topic_states
        }
        assert held == {
            "t": [(index, False) for index in range(95)],
            "here": [(index, index == 19) for index in range(20)],
        }
        assert [topic.topic_id for topic in first.topic_states] == [TOPIC_ID, UUID(int=9)]


@pytest.mark.parametrize("lost", ["metadata", "replicas"])
async def test_sv_4_a_broker_that_loses_the_connection_at_first_learns_everything_on_the_next(lost: str) -> None:
    async with connected(up_to_date=False) as (broker, channel, _, found):
        found.topics["t"].partitions.update({index: not_moving(1, 2, 3) for index in range(9)})
        answers = iter([None] if lost == "metadata" else [UpdateMetadataResponse, None])
        broker.answer = lambda body: next(answers, RESPONSES[body.API_KEY])
        channel.wake()

        await eventually(lambda: broker.connections == 2 and not channel.pending)
        first = [body for body in broker.received if isinstance(body, LeaderAndIsrRequest)]
        assert [len(body.topic_states[0].partition_states) for body in first] == [9] * len(first)
        assert len(first) == (1 if lost == "metadata" else 2)


async def test_sv_4_a_refused_first_leader_and_isr_is_followed_by_a_complete_one() -> None:
    async with connected(up_to_date=False) as (broker, channel, _, _found):
        refusal = LeaderAndIsrResponse(version=7, error_code=UNKNOWN_SERVER_ERROR)
        broker.answer = lambda body: refusal if isinstance(body, LeaderAndIsrRequest) else UpdateMetadataResponse
        channel.wake()
        await eventually(lambda: len(broker.received) == 2)

        channel.pending.leader_and_isr("t", 1, is_new=False)
        channel.wake()
        await eventually(lambda: len(broker.received) == 3)
        assert [state.partition_index for state in broker.received[2].topic_states[0].partition_states] == [0, 1]


async def test_sv_5_a_broker_that_does_not_authorize_this_server_is_told_once_and_learns_everything_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(channel_module, "LONGEST_BACKOFF_S", 0.01)
    links = BrokerLinks()

    def refuse(body: Any) -> Any:
        assert isinstance(body, UpdateMetadataRequest)
        return UpdateMetadataResponse(version=8, error_code=CLUSTER_AUTHORIZATION_FAILED)

    async with connected(up_to_date=False, links=links) as (broker, channel, reports, _):
        broker.answer = refuse
        channel.wake()
        await eventually(lambda: len(broker.received) >= 4)
        assert set(broker.kinds()) == {UpdateMetadataRequest}, "what it has refused comes again, and nothing else first"
        assert links.troubles == 1

        broker.answer = lambda body: RESPONSES[body.API_KEY]
        channel.pending.stop("t", 0, StopReplicaState(DELETED_EPOCH, delete=True))
        await eventually(lambda: reports.stopped)
        assert broker.kinds()[-3:] == [UpdateMetadataRequest, LeaderAndIsrRequest, StopReplicaRequest]
        assert links.troubles == 0
    told = [one.getMessage() for one in caplog.records if "CLUSTER_ACTION" in one.getMessage()]
    assert told == [
        "broker 3 does not take this server as its controller (CLUSTER_AUTHORIZATION_FAILED): give the principal of"
        " this server's login CLUSTER_ACTION on the cluster, or name it in super.users"
    ]


async def test_sv_4_a_large_first_leader_and_isr_does_not_hold_the_event_loop() -> None:
    """Other tasks run between slices; what changes meanwhile is sent behind it."""
    async with connected(up_to_date=False) as (broker, channel, _, found):
        found.topics["t"].partitions.update(dict.fromkeys(range(20_000), not_moving(1, 2, 3)))
        building = channel._building(LeaderAndIsr({}, is_complete=True), 7)
        longest, slices = 0.0, 0
        with suppress(StopIteration):
            while True:
                begun = time.process_time()
                next(building)
                longest = max(longest, time.process_time() - begun)
                slices += 1
        assert slices >= 20_000 / request_builders.SLICE - 1
        assert longest < 0.1
        assert broker.received == [], "nothing before the first wake"


@pytest.mark.parametrize("release", RELEASES)
async def test_sv_4_each_broker_is_told_in_the_highest_versions_that_it_serves(release: str) -> None:
    """Also a broker that has been upgraded before the others: it says itself what it serves."""
    highest = RELEASES[release]
    async with connected(highest | {ApiKey.API_VERSIONS: 3}, up_to_date=False) as (broker, channel, reports, found):
        partitions = found.topics["t"].partitions
        partitions[2] = replace(not_moving(3, 1), leader_recovery_state=1)
        channel.pending.stop("gone", 4, StopReplicaState(5, delete=True))
        channel.wake()

        await eventually(lambda: reports.stopped)
        assert broker.spoken == set(highest.items())
        metadata, replicas, stop = broker.received
        assert {body.broker_epoch for body in broker.received} == {103}
        assert {body.controller_epoch for body in broker.received} == {9}
        assert [topic.topic_id for topic in metadata.topic_states] == [
            TOPIC_ID if highest[ApiKey.UPDATE_METADATA] >= 7 else None
        ]
        own = next(live for live in metadata.live_brokers if live.id == 1000)
        assert [(one.listener, one.host, one.port, one.security_protocol) for one in own.endpoints] == [
            ("PLAINTEXT", "server", 9092, 0)
        ]
        assert [state.offline_replicas for state in metadata.topic_states[0].partition_states] == [[], [], []]
        version = highest[ApiKey.LEADER_AND_ISR]
        (topic,) = replicas.topic_states
        assert topic.topic_id == (TOPIC_ID if version >= 5 else None)
        assert [
            (one.partition_index, one.leader, one.isr, one.replicas, one.adding_replicas, one.is_new)
            for one in topic.partition_states
        ] == [
            (0, 1, [1, 2], [3, 4, 1, 2], [3, 4], True),
            (1, 1, [1, 2, 3], [1, 2, 3], [], False),
            (2, 3, [3, 1], [3, 1], [], False),
        ]
        assert [one.leader_recovery_state for one in topic.partition_states] == [0, 0, int(version >= 6)]
        if highest[ApiKey.STOP_REPLICA] >= 3:
            (state,) = stop.topic_states[0].partition_states
            assert (state.partition_index, state.leader_epoch, state.delete_partition) == (4, 5, True)
        else:
            assert (stop.topics[0].partition_indexes, stop.delete_partitions) == ([4], True)


async def test_sv_4_a_broker_that_serves_no_version_of_ours_gets_nothing_and_is_asked_again() -> None:
    """A broker of Kafka 4 on KRaft, say."""
    async with connected({ApiKey.API_VERSIONS: 4}, up_to_date=False) as (broker, channel, _, _found):
        channel.wake()
        await eventually(lambda: broker.connections >= 2)
        assert broker.received == []
