"""What a broker answers to LeaderAndIsr of failed log dirs and of logs of earlier topics."""

from functools import partial
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel import ChannelManager
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH
from kafka_reassign_rpc.controller_channel.replica_answers import HostedReplica, LogDirAnswer
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
)
from tests.controller_channel.scripted_broker import (
    INCONSISTENT_TOPIC_ID,
    KAFKA_STORAGE_ERROR,
    STALE_CONTROLLER_EPOCH,
    ChannelReports,
    connected,
    has_received,
    leader_and_isr_answer,
)
from tests.core.build import TOPIC_ID, cluster, not_moving
from tests.waiting import eventually


async def test_sv_4_replicas_on_a_failed_log_dir_are_reported_and_so_is_their_return() -> None:
    codes = iter([{0: 0, 1: KAFKA_STORAGE_ERROR}, {0: 0, 1: STALE_CONTROLLER_EPOCH}, {0: 0, 1: 0}, {0: 0, 1: 0}])
    by_topic = LeaderAndIsrResponse.LeaderAndIsrTopicError

    def answer(_: Any) -> Any:
        found = next(codes)
        parts = [
            by_topic.LeaderAndIsrPartitionError(version=7, partition_index=index, error_code=code)
            for index, code in found.items()
        ]
        topics = [by_topic(version=7, topic_id=id_, partition_errors=parts) for id_ in (TOPIC_ID, UUID(int=99))]
        return LeaderAndIsrResponse(version=7, error_code=0, topics=topics)

    async with connected() as (broker, channel, reports, _):
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
        assert broker.kinds().count(StopReplicaRequest) == 1, "a broker that refuses again is not asked forever"


async def test_sv_10_the_log_of_an_earlier_topic_stays_until_its_replica_has_left_the_isr() -> None:
    refusal = leader_and_isr_answer({1: INCONSISTENT_TOPIC_ID})
    async with connected() as (broker, channel, _, found):
        broker.answer = lambda body: refusal if isinstance(body, LeaderAndIsrRequest) else RESPONSES[body.API_KEY]
        channel.pending.leader_and_isr("t", 1, is_new=True)
        channel.wake()
        await eventually(lambda: channel.replicas._kept_logs)
        channel.replicas.reconsider("t", 0)
        partitions = found.topics["t"].partitions
        partitions[1] = replace(partitions[1], isr=(1, 2))
        channel.replicas.reconsider("t", 1)
        await eventually(lambda: broker.kinds()[-2:] == [StopReplicaRequest, LeaderAndIsrRequest])
        assert not channel.replicas._kept_logs


async def test_hm_2_a_log_of_another_topic_stays_until_another_broker_has_accepted_the_topics_id() -> None:
    """A backup of ZooKeeper may name an id that no broker knows: then this log is the right one, or even the last."""
    refusal = leader_and_isr_answer({0: INCONSISTENT_TOPIC_ID})
    async with connected() as (broker, channel, reports, _found):
        reports.accepted = False
        broker.answer = lambda body: refusal if isinstance(body, LeaderAndIsrRequest) else RESPONSES[body.API_KEY]
        channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.wake()
        await eventually(lambda: channel.replicas.kept_of({"t": [0]}))
        channel.replicas.reconsider("t", 0)
        await eventually(lambda: not channel._wakeup.is_set())
        assert broker.kinds() == [LeaderAndIsrRequest]
        reports.accepted = True
        channel.replicas.reconsider("t", 0)
        await eventually(lambda: broker.kinds()[-2:] == [StopReplicaRequest, LeaderAndIsrRequest])
        assert channel.replicas.kept_of(None) == []


async def test_sv_10_a_log_that_its_broker_accepts_later_is_not_replaced_when_its_replica_leaves_the_isr() -> None:
    """The replica was removed and added again in between."""
    answers = iter([leader_and_isr_answer({1: INCONSISTENT_TOPIC_ID}), leader_and_isr_answer({1: 0})])
    async with connected() as (broker, channel, reports, found):
        broker.answer = lambda body: next(answers) if isinstance(body, LeaderAndIsrRequest) else RESPONSES[body.API_KEY]
        for has_kept in (True, False):
            channel.pending.leader_and_isr("t", 1, is_new=True)
            channel.wake()
            await eventually(lambda: bool(channel.replicas._kept_logs) is has_kept)  # noqa: B023
        partitions = found.topics["t"].partitions
        partitions[1] = replace(partitions[1], isr=(1, 2))
        channel.replicas.reconsider("t", 1)
        await eventually(lambda: not channel._wakeup.is_set())
        assert StopReplicaRequest not in broker.kinds()
        assert reports.log_dirs == []


async def test_sv_10_a_replica_refused_in_sync_is_offline_until_its_broker_accepts_it() -> None:
    """Reported once, with the broker that has the right topic; a second refusal does not say that the log dir works."""
    codes = iter([INCONSISTENT_TOPIC_ID, INCONSISTENT_TOPIC_ID, 0])
    name = TopicPartition("t", 1)
    refused = HostedReplica(name, TOPIC_ID)
    async with connected() as (broker, channel, reports, _):
        broker.answer = lambda body: (
            leader_and_isr_answer({1: next(codes)})
            if isinstance(body, LeaderAndIsrRequest)
            else RESPONSES[body.API_KEY]
        )

        async def told(count: int) -> None:
            channel.pending.leader_and_isr(*name, is_new=False)
            channel.wake()
            await eventually(lambda: broker.kinds().count(LeaderAndIsrRequest) == count)
            await eventually(lambda: not channel._wakeup.is_set())

        assert channel.has_accepted(refused)
        await told(1)
        assert not channel.has_accepted(refused)
        assert channel.replicas.kept_of(None) == channel.replicas.kept_of({"t": [0, 1]}) == [refused]
        assert channel.replicas.kept_of({"t": [0], "u": [1]}) == []
        channel.replicas.refused_in_sync({refused: 2})
        await told(2)
        assert reports.log_dirs == [[LogDirAnswer(name, TOPIC_ID, is_offline=True, in_sync=2)]]
        await told(3)
        assert reports.log_dirs[1:] == [[LogDirAnswer(name, TOPIC_ID, is_offline=False)]]
        assert channel.has_accepted(refused)


async def test_sv_10_a_broker_has_accepted_nothing_before_it_has_answered() -> None:
    name = TopicPartition("t", 1)
    async with connected(up_to_date=False) as (broker, channel, _, _found):
        assert not channel.has_accepted(HostedReplica(name, TOPIC_ID)), "it has been told nothing"
        channel.wake()
        await eventually(lambda: not channel._wakeup.is_set() and LeaderAndIsrRequest in broker.kinds())
        assert channel.has_accepted(HostedReplica(name, TOPIC_ID))
        channel.pending.leader_and_isr(*name, is_new=False)
        assert not channel.has_accepted(HostedReplica(name, TOPIC_ID)), "it may refuse the newest state"


def test_sv_10_a_channel_hears_when_its_broker_leaves_an_isr(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[int, str, int]] = []

    class Channel:
        def __init__(self, broker: int) -> None:
            self.replicas = self
            self.reconsider = partial(self._note, broker)

        def _note(self, broker: int, topic: str, index: int) -> None:
            heard.append((broker, topic, index))

    channels = ChannelManager(lambda: cluster(live=(1, 2, 3)), Sender(1000, 1, ()), ChannelReports())
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
