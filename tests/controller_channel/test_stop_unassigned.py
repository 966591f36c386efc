"""What a broker holds although it is not assigned to it: it stops, its log stays, and both are reported."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel import broker_channel as channel_module
from kafka_reassign_rpc.controller_channel import request_builders
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.controller_channel.stop_unassigned import is_unassigned, leader_to_follow
from kafka_reassign_rpc.core.round.changed_by_others import with_former_state
from kafka_reassign_rpc.core.state.cluster import Cluster, FormerPartitions
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from tests.controller_channel.scripted_broker import (
    CLUSTER_AUTHORIZATION_FAILED,
    NEWEST,
    ScriptedBroker,
    connected,
    stop_answer,
)
from tests.core.build import broker, cluster, not_moving
from tests.waiting import eventually

TELLS = {**NEWEST, ApiKey.DESCRIBE_LOG_DIRS: 4}
T2 = TopicPartition("t", 2)


def held(lags: Mapping[tuple[str, int], int], error: int = 0) -> DescribeLogDirsResponse:
    """Of the logs that a broker has in one dir; a lag of -1: no replica has it."""
    result = DescribeLogDirsResponse.DescribeLogDirsResult
    topic = result.DescribeLogDirsTopic
    topics = [
        topic(
            version=4,
            name=name,
            partitions=[
                topic.DescribeLogDirsPartition(
                    version=4, partition_index=index, partition_size=1, offset_lag=lag, is_future_key=False
                )
            ],
        )
        for (name, index), lag in lags.items()
    ]
    one = result(version=4, error_code=0, log_dir="/d", topics=topics, total_bytes=-1, usable_bytes=-1)
    return DescribeLogDirsResponse(version=4, throttle_time_ms=0, error_code=error, results=[one])


def answers(scripted: ScriptedBroker, described: DescribeLogDirsResponse) -> None:
    scripted.answer = lambda body: described if isinstance(body, DescribeLogDirsRequest) else RESPONSES[body.API_KEY]


def is_asked(scripted: ScriptedBroker, times: int = 1) -> bool:
    return scripted.kinds().count(DescribeLogDirsRequest) >= times


def known(made: Cluster) -> None:
    """t-2 to t-4 are not on broker 3, the last one no longer."""
    partitions = made.topics["t"].partitions
    partitions[2] = partitions[3] = not_moving(1, 2)
    partitions[4] = replace(not_moving(1, 2), pending_deletion=(3,))


async def test_sv_4_a_broker_follows_and_stops_what_is_not_assigned_to_it_and_nothing_else() -> None:
    async with connected(TELLS, up_to_date=False) as (scripted, channel, reports, made):
        known(made)
        others = {("t", 1): 0, ("t", 3): -1, ("t", 4): 0, ("vanished", 0): 0}
        answers(scripted, held({**others, T2: 0}))
        channel.wake()
        await eventually(lambda: scripted.kinds().count(StopReplicaRequest) == 1)
        await eventually(lambda: reports.unassigned == [(3, [T2], [TopicPartition("t", 3)])])

        asked, live, follow, stop = scripted.received[-4:]
        assert asked.topics is None
        assert isinstance(live, UpdateMetadataRequest), "it follows nobody whom it does not know to be alive"
        assert isinstance(follow, LeaderAndIsrRequest)
        [topic] = follow.topic_states
        [state] = topic.partition_states
        assert (topic.topic_name, state.partition_index, state.leader, state.leader_epoch) == ("t", 2, 1, 5)
        assert state.replicas == [1, 2, 3], "a broker takes no state that does not name it"
        [[stopped]] = [one.partition_states for one in stop.topic_states]
        assert (stopped.partition_index, stopped.leader_epoch, stopped.delete_partition) == (2, 5, False)

        # A broker goes on naming what it has stopped; it stops it once in each leader epoch.
        channel.pending.review("t", [2])
        channel.wake()
        await eventually(lambda: is_asked(scripted, 2))
        assert scripted.received[-1].topics[0].partitions == [2]
        channel.pending.metadata("t", [0])
        channel.wake()
        await eventually(lambda: scripted.kinds()[-1] is UpdateMetadataRequest)  # the answer has been read
        assert scripted.kinds().count(StopReplicaRequest) == 1
        made.topics["t"].partitions[2] = not_moving(1, 2, epoch=6)
        channel.pending.review("t", [2])
        channel.wake()
        await eventually(lambda: scripted.kinds().count(StopReplicaRequest) == 2)
        [_, again] = [one for one in scripted.received if isinstance(one, StopReplicaRequest)]
        assert again.topic_states[0].partition_states[0].leader_epoch == 6
        assert len(reports.unassigned) == 1, "it is told once"


@pytest.mark.parametrize(
    "how", ["refuses to tell", "tells of no log dir, as one before 3.2 refuses", "does not serve it"]
)
async def test_sv_4_a_broker_that_does_not_tell_what_it_holds_is_named_and_learns_all_else(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    serves = NEWEST if how == "does not serve it" else TELLS
    refusal = held({}, error=CLUSTER_AUTHORIZATION_FAILED)
    if how != "refuses to tell":
        refusal = DescribeLogDirsResponse(version=4, throttle_time_ms=0, error_code=0, results=[])
    async with connected(serves, up_to_date=False) as (scripted, channel, reports, made):
        known(made)
        answers(scripted, refusal)
        channel.wake()
        await eventually(lambda: "broker 3 does not say what it holds" in caplog.text)
        assert not reports.unassigned
        scripted.received.clear()
        channel.pending.metadata("t", [0])
        channel.wake()
        await eventually(lambda: scripted.kinds() == [UpdateMetadataRequest])


async def test_sv_4_what_a_broker_has_refused_to_stop_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "FIRST_REFUSAL_S", 0.01)
    async with connected(TELLS, up_to_date=False) as (scripted, channel, reports, made):
        known(made)

        def answer(body: Any) -> Any:
            if isinstance(body, DescribeLogDirsRequest):
                return held({T2: 0})
            if isinstance(body, StopReplicaRequest) and scripted.kinds().count(StopReplicaRequest) == 1:
                return StopReplicaResponse(version=4, error_code=-1, partition_errors=[])
            return stop_answer(body, 4) if isinstance(body, StopReplicaRequest) else RESPONSES[body.API_KEY]

        scripted.answer = answer
        channel.wake()
        await eventually(lambda: reports.unassigned == [(3, [T2], [])])
        assert scripted.kinds().count(StopReplicaRequest) == 2


async def test_sv_4_a_broker_that_does_not_answer_what_it_holds_learns_all_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One whose disk hangs does not report the room on it, and its replicas on other disks still have to lead."""
    monkeypatch.setattr(channel_module, "FIRST_REFUSAL_S", 0.2)
    async with connected(TELLS, up_to_date=False) as (scripted, channel, reports, made):
        known(made)
        answers(scripted, held({}))
        channel.wake()
        await eventually(lambda: is_asked(scripted) and channel._sending is None)
        scripted.received.clear()
        silent = True

        def answer(body: Any) -> Any:
            if isinstance(body, DescribeLogDirsRequest):
                return None if silent else held({T2: 0})
            return stop_answer(body, 4) if isinstance(body, StopReplicaRequest) else RESPONSES[body.API_KEY]

        scripted.answer = answer
        channel.pending.review("t", [2])
        channel.pending.leader_and_isr("t", 0, is_new=False)
        channel.wake()
        await eventually(lambda: LeaderAndIsrRequest in scripted.kinds(), within=channel_module.ANSWER_TIMEOUT_S / 2)
        channel.pending.everything()
        await eventually(lambda: scripted.kinds().count(LeaderAndIsrRequest) == 2 and is_asked(scripted, times=3))
        silent = False
        await eventually(lambda: reports.unassigned == [(3, [T2], [])])


def test_sv_4_only_what_is_known_not_to_be_assigned_counts() -> None:
    name = TopicPartition("t", 0)
    made = cluster(not_moving(1, 2))
    topic = made.topics["t"]
    assert is_unassigned(made, 3, name)
    assert not is_unassigned(made, 1, name)
    assert not is_unassigned(made, 3, TopicPartition("t", 1)), "somebody may put the partition back"
    assert not is_unassigned(made, 3, TopicPartition("u", 0)), "somebody may put the topic back"
    topic.partitions[0] = replace(not_moving(1, 2), pending_deletion=(3,))
    assert not is_unassigned(made, 3, name)
    topic.partitions[0] = replace(not_moving(1, 2), partition_epoch=-1)
    assert not is_unassigned(made, 3, name), "it has no state yet"
    topic.partitions[0] = not_moving(4, isr=(1, 2))
    assert not is_unassigned(made, 2, name), "nobody has decided about this edit yet: the partition will move"
    topic.partitions[0] = not_moving(1, 2)
    topic.unreadable = {0: "/s: garbage"}
    assert not is_unassigned(made, 3, name)
    topic.unreadable = {}
    topic.deleting = True
    assert not is_unassigned(made, 3, name)


def test_sv_4_a_broker_follows_the_leader_or_else_any_other_that_lives() -> None:
    name = TopicPartition("t", 0)
    made = cluster(not_moving(1, 2), live=(1, 2, 3))
    assert leader_to_follow(made, 3, name) == broker(1)
    made.soft.shutting_down.add(1)
    assert leader_to_follow(made, 3, name) == broker(2)
    made.topics["t"].partitions[0] = not_moving(1, 2, leader=NO_LEADER)
    assert leader_to_follow(made, 2, name) == broker(3)
    made.soft.shutting_down.add(2)
    assert leader_to_follow(made, 3, name) is None, "it is the only one"


def another_topic_of_the_name() -> Cluster:
    """The topic that had the name before has vanished; brokers know its epochs."""
    made = cluster(not_moving(1, 2, epoch=0), live=(1, 2, 3))
    former = Topic("t", UUID(int=99), {0: replace(not_moving(3, 1, epoch=8), partition_epoch=40)})
    made.soft.former.keep(former, former.partitions)
    return made


def test_sv_4_the_replica_of_a_topic_whose_name_another_has_stops_above_the_epochs_that_its_broker_knows() -> None:
    made, name = another_topic_of_the_name(), TopicPartition("t", 0)
    request = request_builders.follow(made, Sender(1000, 9, ()), broker(3), {name: broker(1)}, 7)
    [state] = request.topic_states[0].partition_states
    assert request.topic_states[0].topic_id == UUID(int=0), "the broker knows that of the former topic"
    assert (state.leader_epoch, state.partition_epoch) == (9, 40)
    # Put back, it goes on above the epoch in which it was stopped.
    put_back = Topic("t", UUID(int=99), {0: replace(not_moving(3, 1, epoch=8), partition_epoch=0, created=77)})
    former = made.soft.former.of(put_back)[0]
    assert with_former_state(put_back.partitions[0], former).leader_epoch > 9


def test_sv_4_a_broker_that_refuses_a_new_topic_stops_its_replica_of_the_former_one() -> None:
    made, name = another_topic_of_the_name(), TopicPartition("t", 0)
    assert not is_unassigned(made, 1, name)
    assert is_unassigned(made, 1, name, is_refused=True)
    made.soft.former = FormerPartitions()
    assert not is_unassigned(made, 1, name, is_refused=True), "nobody knows the epochs of the former topic"
