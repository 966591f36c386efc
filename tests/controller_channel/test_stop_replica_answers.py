"""StopReplica is repeated until the broker has confirmed each replica."""

from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel import ChannelManager
from kafka_reassign_rpc.controller_channel import broker_channel as channel_module
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, StopReplicaState
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.messages import (
    StopReplicaRequest,
    StopReplicaResponse,
)
from tests.controller_channel.scripted_broker import (
    FENCED_LEADER_EPOCH,
    KAFKA_STORAGE_ERROR,
    UNKNOWN_SERVER_ERROR,
    ChannelReports,
    connected,
    note_waits,
    stop_answer,
)
from tests.core.build import TOPIC_ID, cluster, not_moving
from tests.waiting import eventually


async def test_455_4_a_failed_stop_does_not_count_as_stopped_and_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module, "FIRST_REFUSAL_S", 0.01)
    stop, times = StopReplicaState(5, delete=True), 3

    def refuse(body: Any) -> Any:
        """The second replica some times, the third forever: it is fenced."""
        codes = {1: KAFKA_STORAGE_ERROR, 2: FENCED_LEADER_EPOCH}
        return stop_answer(body, 4, codes if len(broker.received) < times else {})

    async with connected() as (broker, channel, reports, _):
        broker.answer = refuse
        for index in range(3):
            channel.pending.stop("t", index, stop)
        channel.wake()

        await eventually(lambda: len(reports.confirmed) >= times)
        assert [stops for _, stops in reports.confirmed] == [
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

        await eventually(lambda: len(reports.confirmed) >= 2)
        assert [list(stops) for _, stops in reports.confirmed] == [[TopicPartition("t", 1)], [TopicPartition("t", 0)]]


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
        await eventually(lambda: reports.confirmed)
        assert reports.confirmed == [(3, {TopicPartition("t", 0): stop})]
        assert broker.kinds() == [StopReplicaRequest] * 3


async def test_455_4_a_refused_stop_waits_longer_each_time_and_ends_with_the_channel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with connected() as (broker, channel, _, _found):
        waits = note_waits(monkeypatch, channel._retry._run, short=8)
        failed = StopReplicaResponse.StopReplicaPartitionError(
            version=4, topic_name="t", partition_index=1, error_code=KAFKA_STORAGE_ERROR
        )
        broker.answer = lambda _: StopReplicaResponse(version=4, error_code=0, partition_errors=[failed])
        channel.pending.stop("t", 1, StopReplicaState(5, delete=True))
        channel.wake()

        await eventually(lambda: len(waits) == 9)
        assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert channel._retry._timer is not None
        await channel.close()
        assert channel._retry._timer is None


@pytest.mark.parametrize(
    ("deleted", "now", "sent"),
    [
        (TOPIC_ID, "in deletion", True),
        (TOPIC_ID, "there", False),
        (UUID(int=99), "there", True),
        (TOPIC_ID, "gone", True),
        (None, "there", True),
    ],
    ids=["in deletion", "unmarked", "another topic", "gone", "of an earlier topic"],
)
async def test_hm_2_no_log_is_deleted_with_a_topic_whose_mark_is_gone_when_the_stop_is_sent(
    deleted: UUID | None, now: str, sent: bool
) -> None:
    """The mark was removed by hand while the broker did not answer. Other stops go out anyway."""
    stop = StopReplicaState(DELETED_EPOCH, delete=True, created=5, deleted=deleted)
    other = StopReplicaState(7, delete=False)
    async with connected() as (broker, channel, reports, found):
        broker.answer = lambda body: stop_answer(body, 4)
        channel.pending.stop("t", 0, stop)
        channel.pending.stop("t", 1, other)
        found.topics["t"].deleting = now == "in deletion"
        if now == "gone":
            del found.topics["t"]
        channel.wake()
        await eventually(lambda: not channel._wakeup.is_set())
        told = {name.partition: one for _, stops in reports.confirmed for name, one in stops.items()}
        assert told == ({0: stop, 1: other} if sent else {1: other})
        assert not channel.pending.has_stops


def test_455_5_a_replica_that_is_removed_again_is_stopped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped, added and removed in one round: after the round only the leader epoch differs."""
    channels = ChannelManager(lambda: cluster(live=(1, 2, 3)), Sender(1000, 1, ()), ChannelReports())
    stopped: list[tuple[int, int]] = []
    monkeypatch.setattr(
        channels, "stop_and_delete", lambda broker, *name: stopped.append((broker, name[-1].leader_epoch))
    )
    before = replace(not_moving(1, 2, epoch=7), pending_deletion=(3,))
    channels.partition_changed("t", 0, before, replace(before, isr=(1,)))
    assert stopped == [], "nothing has happened to it"
    channels.partition_changed("t", 0, before, replace(before, leader_epoch=9))
    assert stopped == [(3, 9)]
