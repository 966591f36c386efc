"""A partition without replicas, in a znode written by hand: requests about it are answered without a defect."""

import logging

import pytest

from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    DeleteTopicsRequest,
    DescribeTopicPartitionsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bad_znodes.test_garbage import brokers, no_defect, serving
from tests.faults.cluster import ask
from tests.waiting import eventually

PREFERRED, UNCLEAN = 0, 1
PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE = 80, 83
UNKNOWN_SERVER_ERROR = -1


async def elected(address: tuple[str, int], kind: int, *, everything: bool) -> dict[int, int]:
    """Error codes by partition of topic t."""
    topics = None if everything else [ElectLeadersRequest.TopicPartitions(version=2, topic="t", partitions=[0, 1])]
    answer = await ask(
        address, ElectLeadersRequest(version=2, election_type=kind, topic_partitions=topics, timeout_ms=1000), 2
    )
    assert answer.error_code == 0
    return {
        one.partition_id: one.error_code
        for found in answer.replica_election_results
        if found.topic == "t"
        for one in found.partition_result
    }


async def test_sv_6_a_partition_without_replicas_costs_no_other_partition_its_answer(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2):
        await zk.create(znode_paths.topic("t"), b'{"version":2,"partitions":{"0":[],"1":[1,2]}}')

        async def known() -> bool:
            codes = await elected(address, PREFERRED, everything=False)
            return codes == {0: PREFERRED_LEADER_NOT_AVAILABLE, 1: 84}

        await eventually(known)
        assert await elected(address, PREFERRED, everything=True) == {0: PREFERRED_LEADER_NOT_AVAILABLE}
        assert await elected(address, UNCLEAN, everything=True) == {0: ELIGIBLE_LEADERS_NOT_AVAILABLE}

        alter = AlterPartitionReassignmentsRequest
        moves = [
            alter.ReassignableTopic.ReassignablePartition(version=0, partition_index=0, replicas=replicas)
            for replicas in ([1], None)
        ]
        for move in moves:
            topics = [alter.ReassignableTopic(version=0, name="t", partitions=[move])]
            answer = await ask(address, alter(version=0, timeout_ms=1000, topics=topics), 0)
            assert answer.responses[0].partitions[0].error_code != UNKNOWN_SERVER_ERROR
        assert (await ask(address, ListPartitionReassignmentsRequest(version=0, topics=None), 0)).error_code == 0
        metadata = await ask(address, MetadataRequest(version=9, topics=None), 9)
        assert {one.partition_index for one in metadata.topics[0].partitions} == {0, 1}
        described = DescribeTopicPartitionsRequest
        asked = described(version=0, topics=[described.TopicRequest(version=0, name="t")], cursor=None)
        assert (await ask(address, asked, 0)).topics[0].error_code == 0
        more = CreatePartitionsRequest
        grown = await ask(
            address,
            more(
                version=2,
                topics=[more.CreatePartitionsTopic(version=2, name="t", count=3, assignments=None)],
                timeout_ms=1000,
                validate_only=False,
            ),
            2,
        )
        assert grown.results[0].error_code != UNKNOWN_SERVER_ERROR
        deleted = await ask(address, DeleteTopicsRequest(version=4, topic_names=["t"], timeout_ms=1000), 4)
        assert deleted.responses[0].error_code != UNKNOWN_SERVER_ERROR
        no_defect(caplog)
