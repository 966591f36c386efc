"""kr-3: what a cluster in KRaft mode tells of lost brokers is asked for, and shown."""

from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    DescribeClusterResponse,
    DescribeQuorumResponse,
    DescribeTopicPartitionsResponse,
)
from tests.python_client.scripted_nodes import API_VERSIONS, METADATA, SERVED, ScriptedCluster, listening
from tests.waiting import eventually
from tests.watch.moving_nodes import LOG_DIRS, QUORUM, TOPIC, TWO_MOVE, MovingNode
from tests.watch.watching import Watch, watching

DESCRIBE_CLUSTER, TOPIC_PARTITIONS = 60, 75
NOT_AUTHORIZED = 31


class KRaftNode(MovingNode):
    """The one node that is left of two. `leads`: whether it leads what moves to node 2. `refusal`: an error code."""

    leads = True
    refusal = 0

    def _answer(self, key: int, version: int) -> Any:
        if key == API_VERSIONS:
            more = [(LOG_DIRS, 0, 4), (QUORUM, 0, 2), (DESCRIBE_CLUSTER, 0, 2), (TOPIC_PARTITIONS, 0, 0)]
            return ApiVersionsResponse(version=version, error_code=0, api_keys=[*SERVED, *more])
        if key == METADATA and not self.leads:
            answer = super()._answer(key, version)
            for partition in answer.topics[0].partitions:
                partition.leader_id, partition.leader_epoch, partition.isr_nodes = -1, 1, []
            return answer
        if key == DESCRIBE_CLUSTER:
            broker = DescribeClusterResponse.DescribeClusterBroker
            found = [
                broker(
                    version=version, broker_id=node, host="127.0.0.1", port=self.port, rack=None, is_fenced=node == 2
                )
                for node in (1, 2)
            ]
            return DescribeClusterResponse(
                version=version, error_code=self.refusal, cluster_id="c", controller_id=1, brokers=found
            )
        if key == QUORUM:
            of_topic = DescribeQuorumResponse.TopicData
            replica = of_topic.PartitionData.ReplicaState
            leader, quiet = (
                replica(
                    version=version,
                    replica_id=node,
                    log_end_offset=1,
                    last_fetch_timestamp=at,
                    last_caught_up_timestamp=at,
                )
                for node, at in ((1, 100_000), (2, 80_000))
            )
            led = of_topic.PartitionData(
                version=version,
                partition_index=0,
                error_code=0,
                leader_id=1,
                current_voters=[leader],
                observers=[quiet],
            )
            topic = of_topic(version=version, topic_name="__cluster_metadata", partitions=[led])
            return DescribeQuorumResponse(version=version, error_code=0, topics=[topic])
        if key == TOPIC_PARTITIONS:
            of = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
            one = of.DescribeTopicPartitionsResponsePartition
            partitions = [
                one(
                    error_code=0,
                    partition_index=index,
                    leader_id=-1,
                    replica_nodes=[2, 1],
                    isr_nodes=[],
                    eligible_leader_replicas=[1],
                    offline_replicas=[],
                )
                for index in TWO_MOVE
            ]
            return DescribeTopicPartitionsResponse(topics=[of(error_code=0, name=TOPIC, partitions=partitions)])
        return super()._answer(key, version)


async def _reason(watch: Watch) -> str | None:
    return {one["stalled"] for one in (await watch.moves()).values()}.pop() if await watch.moves() else None


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALL_S", 0.5)


async def test_kr_3_a_fenced_target_is_named_in_the_move_and_among_the_problems(tmp_path: Path) -> None:
    node = KRaftNode(ScriptedCluster(), 1)
    async with listening(node), watching(f"127.0.0.1:{node.port}", tmp_path / "events") as watch:

        async def is_named() -> bool:
            return await _reason(watch) == "broker 2 is fenced"

        await eventually(is_named)
        assert "1 of 2 brokers live; lost: 2, fenced" in await watch.problems()
        assert watch.watcher.view().term.cluster.soft.kraft.quiet_s == {1: 0.0, 2: 20.0}  # type: ignore[union-attr]
        assert TOPIC_PARTITIONS not in node.asked, "every partition has a leader"


async def test_kr_3_who_may_lead_a_partition_without_leader_is_named(tmp_path: Path) -> None:
    node = KRaftNode(ScriptedCluster(), 1)
    node.leads = False
    node.cluster.members[2] = 1  # it is registered, and answers nothing
    async with listening(node), watching(f"127.0.0.1:{node.port}", tmp_path / "events") as watch:

        async def is_named() -> bool:
            return await _reason(watch) == "there is no leader to copy from: broker 1 is eligible, start it"

        await eventually(is_named)
        assert (await watch.document("status"))["totals"]["offline"] == len(TWO_MOVE)


async def test_kr_3_facts_that_are_refused_are_said_and_the_moves_are_shown(tmp_path: Path) -> None:
    node = KRaftNode(ScriptedCluster(), 1)
    node.refusal = NOT_AUTHORIZED
    async with listening(node), watching(f"127.0.0.1:{node.port}", tmp_path / "events") as watch:

        async def is_said() -> bool:
            return any(text.startswith("Which lost brokers are fenced is not seen") for text in await watch.problems())

        await eventually(is_said)
        assert len(await watch.moves()) == len(TWO_MOVE)

        async def is_named() -> bool:
            return await _reason(watch) == "broker 2 is dead"

        await eventually(is_named)
