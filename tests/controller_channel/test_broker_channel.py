"""The channel to one broker repeats every request, in order, until the broker confirms it."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel import broker_channel as channel_module
from kafka_reassign_rpc.controller_channel import pending_requests, request_builders
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, LeaderAndIsr, StopReplicaState
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import topic_writes
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from tests.controller_channel.scripted_broker import (
    CLUSTER_AUTHORIZATION_FAILED,
    NEWEST,
    RELEASES,
    SILENT,
    STALE_CONTROLLER_EPOCH,
    UNKNOWN_SERVER_ERROR,
    ScriptedBroker,
    connected,
)
from tests.core.build import TOPIC_ID, not_moving
from tests.longest_turn import tries
from tests.waiting import eventually


async def test_455_4_pending_requests_are_sent_in_their_order() -> None:
    async with connected() as (broker, channel, reports, _):
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.pending.metadata("t", [0, 1])
        channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.pending.live_brokers_changed()
        channel.wake()

        await eventually(lambda: reports.confirmed)
        assert broker.kinds() == [UpdateMetadataRequest, LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest]
        assert [len(body.topic_states) for body in broker.received[:3]] == [0, 1, 1]
        assert reports.confirmed == [(3, {TopicPartition("t", 1): StopReplicaState(5, delete=True)})]
        assert broker.connections == 1


async def test_sv_4_stops_can_be_waited_for_until_the_broker_has_answered_the_last_one() -> None:
    async with connected() as (broker, channel, reports, _):
        await channel.stops_answered()
        channel.pending.stop("t", 0, StopReplicaState(5, delete=False))
        answers = iter([None, None])
        broker.answer = lambda body: next(answers, RESPONSES[body.API_KEY])
        channel.wake()
        await channel.stops_answered()
        assert reports.confirmed == [(3, {TopicPartition("t", 0): StopReplicaState(5, delete=False)})]
        assert broker.kinds() == [StopReplicaRequest] * 3


async def test_sv_4_a_broker_that_does_not_listen_yet_is_tried_again_and_again_without_longer_and_longer_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has registered. Once it listens, clients may ask it, and it knows no broker until it is sent some."""
    monkeypatch.setattr(channel_module, "RECONNECT_S", 0.001)
    monkeypatch.setattr(channel_module, "FIRST_BACKOFF_S", 3600.0)
    really, refused = RpcClient.open, iter(range(20))

    async def listens_later(host: str, *others: Any) -> Any:
        if next(refused, None) is not None:
            raise ConnectionRefusedError
        return await really(host, *others)

    monkeypatch.setattr(RpcClient, "open", listens_later)
    async with connected(up_to_date=False) as (broker, channel, _, _):
        channel.wake()
        await eventually(lambda: broker.kinds() == [UpdateMetadataRequest, LeaderAndIsrRequest])


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


@pytest.mark.parametrize("answer", [None, SILENT], ids=["closes", "is silent on an open connection"])
async def test_sv_4_a_request_without_an_answer_is_sent_again_on_a_new_connection(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(channel_module, "ANSWER_TIMEOUT_S", 0.5)
    async with connected() as (broker, channel, reports, _):
        answers = iter([answer, answer])
        broker.answer = lambda body: next(answers, RESPONSES[body.API_KEY])
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.wake()

        await eventually(lambda: reports.confirmed)
        assert broker.kinds() == [StopReplicaRequest] * 3
        assert broker.connections == 3
        assert len(reports.confirmed) == 1


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


async def test_sv_3_a_broker_that_knows_a_newer_controller_is_reported_each_time_and_a_trouble_until_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    links = BrokerLinks()
    async with connected(links=links) as (broker, channel, reports, _):
        broker.answer = lambda _: LeaderAndIsrResponse(version=7, error_code=STALE_CONTROLLER_EPOCH)
        for _ in range(2):
            reports.newer_controllers = 0
            channel.pending.leader_and_isr("t", 0, is_new=True)
            channel.wake()
            await eventually(lambda: reports.newer_controllers == 1)
        assert links.troubles == 1

        broker.answer = lambda body: RESPONSES[body.API_KEY]
        channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.wake()
        await eventually(lambda: not links.troubles)
        assert reports.newer_controllers == 1
    assert len([one for one in caplog.records if "STALE_CONTROLLER_EPOCH" in one.getMessage()]) == 1


async def test_sv_4_the_channel_reconnects_to_a_broker_that_answers_garbage() -> None:
    async with connected() as (broker, channel, reports, _):
        broker.answer = lambda body: b"garbage" if len(broker.received) == 1 else RESPONSES[body.API_KEY]
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.wake()

        await eventually(lambda: reports.confirmed)
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


async def test_sv_4_the_first_leader_and_isr_after_a_registration_has_every_replica_of_the_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the first one a broker writes its file of high watermarks, with the partitions that it knows by then."""
    monkeypatch.setattr(pending_requests, "PARTITIONS_PER_REQUEST", 10)
    monkeypatch.setattr(request_builders, "AT_ONCE", 7)
    async with connected(up_to_date=False) as (broker, channel, _, found):
        found.topics["t"].partitions.update({index: not_moving(1, 2, 3) for index in range(95)})
        topic_writes.put_topic(found, "elsewhere", UUID(int=8), {0: not_moving(1, 2)}, version=1)
        topic_writes.put_topic(found, "here", UUID(int=9), dict.fromkeys(range(20), not_moving(3, 1)), version=1)
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


async def test_sv_5_a_broker_that_does_not_authorize_this_server_is_logged_once_and_learns_everything_later(
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
        await eventually(lambda: reports.confirmed)
        assert broker.kinds()[-3:] == [UpdateMetadataRequest, LeaderAndIsrRequest, StopReplicaRequest]
        assert links.troubles == 0
    told = [one.getMessage() for one in caplog.records if "CLUSTER_ACTION" in one.getMessage()]
    assert told == [
        "broker 3 does not take this server as its controller (CLUSTER_AUTHORIZATION_FAILED): give the principal of"
        " this server's login CLUSTER_ACTION on the cluster, or name it in super.users"
    ]


async def test_sv_4_a_large_first_leader_and_isr_does_not_hold_the_event_loop() -> None:
    """Other tasks run between slices; what changes in the meantime is sent after it."""
    async with connected(up_to_date=False) as (broker, channel, _, found):
        found.topics["t"].partitions.update(dict.fromkeys(range(60_000), not_moving(1, 2, 3)))
        for measured in tries():
            async with measured:
                await in_turns(channel._building(LeaderAndIsr({}, is_complete=True), 7))
        assert broker.received == [], "nothing before the first wake"


@pytest.mark.parametrize("release", RELEASES)
async def test_sv_4_each_broker_is_sent_the_highest_versions_that_it_serves(release: str) -> None:
    """Also a broker that has been upgraded before the others: it says itself what it serves."""
    highest = RELEASES[release]
    async with connected(highest | {ApiKey.API_VERSIONS: 3}, up_to_date=False) as (broker, channel, reports, found):
        partitions = found.topics["t"].partitions
        partitions[2] = replace(not_moving(3, 1), leader_recovery_state=1)
        channel.pending.stop("gone", 4, StopReplicaState(5, delete=True))
        channel.wake()

        await eventually(lambda: reports.confirmed)
        assert broker.spoken == set(highest.items())
        metadata, replicas, stop = broker.received
        assert {body.broker_epoch for body in broker.received} == {103}
        assert {body.controller_epoch for body in broker.received} == {9}
        assert [topic.topic_id for topic in metadata.topic_states] == [TOPIC_ID]
        own = next(live for live in metadata.live_brokers if live.id == 1000)
        assert [(one.listener, one.host, one.port, one.security_protocol) for one in own.endpoints] == [
            ("PLAINTEXT", "server", 9092, 0)
        ]
        assert [state.offline_replicas for state in metadata.topic_states[0].partition_states] == [[], [], []]
        version = highest[ApiKey.LEADER_AND_ISR]
        (topic,) = replicas.topic_states
        assert topic.topic_id == TOPIC_ID
        assert [
            (one.partition_index, one.leader, one.isr, one.replicas, one.adding_replicas, one.is_new)
            for one in topic.partition_states
        ] == [
            (0, 1, [1, 2], [3, 4, 1, 2], [3, 4], True),
            (1, 1, [1, 2, 3], [1, 2, 3], [], False),
            (2, 3, [3, 1], [3, 1], [], False),
        ]
        assert [one.leader_recovery_state for one in topic.partition_states] == [0, 0, int(version >= 6)]
        (state,) = stop.topic_states[0].partition_states
        assert (state.partition_index, state.leader_epoch, state.delete_partition) == (4, 5, True)


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({}, "no common version of UpdateMetadataRequest: it serves none"),
        (
            {ApiKey.LEADER_AND_ISR: 4, ApiKey.STOP_REPLICA: 3, ApiKey.UPDATE_METADATA: 6},
            "no common version of UpdateMetadataRequest: it serves versions 0 to 6",
        ),
    ],
    ids=["Kafka 4 on KRaft", "Kafka 2.7"],
)
async def test_sv_4_a_broker_that_serves_no_version_of_ours_gets_nothing_and_is_asked_again(
    versions: dict[int, int], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    links = BrokerLinks()
    async with connected(versions | {ApiKey.API_VERSIONS: 3}, up_to_date=False, links=links) as (
        broker,
        channel,
        _,
        _f,
    ):
        channel.wake()
        await eventually(lambda: broker.connections >= 2)
        assert broker.received == []
        assert links.troubles == 1
        told = [one for one in caplog.messages if said in one]
        assert len(told) == 1, "once"
        assert "learns nothing from this server, which controls brokers of Kafka 2.8 to 3.9" in told[0]

        broker.versions = NEWEST  # it has been upgraded
        await eventually(lambda: links.troubles == 0)
