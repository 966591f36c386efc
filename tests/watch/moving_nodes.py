"""Two scripted nodes with partitions that move from the first to the second."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    DescribeLogDirsResponse,
    DescribeQuorumResponse,
    ListPartitionReassignmentsResponse,
    MetadataResponse,
)
from tests.python_client.scripted_nodes import (
    API_VERSIONS,
    LIST,
    METADATA,
    SERVED,
    ScriptedCluster,
    ScriptedNode,
    listening,
)

LOG_DIRS, QUORUM = 35, 55
TOPIC, TWO_MOVE = "t", (0, 1)


class MovingNode(ScriptedNode):
    """`quorum_leader`: what it says in KRaft mode; None: it is in ZooKeeper mode. `newest`: versions of APIs that are
    the newest of this node, where those of others are others."""

    quorum_leader: int | None = None
    newest: Mapping[int, int] = {}

    def _answer(self, key: int, version: int) -> Any:
        if key == API_VERSIONS:
            more = [] if self.quorum_leader is None else [(QUORUM, 0, 1)]
            served = [(key, low, self.newest.get(key, high)) for key, low, high in (*SERVED, (LOG_DIRS, 0, 2), *more)]
            return ApiVersionsResponse(version=version, error_code=0, api_keys=served)
        if key == QUORUM:
            one = DescribeQuorumResponse.TopicData
            led = one.PartitionData(partition_index=0, error_code=0, leader_id=self.quorum_leader or 0)
            topic = one(topic_name="__cluster_metadata", partitions=[led])
            return DescribeQuorumResponse(version=version, error_code=0, topics=[topic])
        if key == METADATA:
            answer = self.cluster.metadata(version)
            of = MetadataResponse.MetadataResponseTopic
            partitions = [
                of.MetadataResponsePartition(
                    version=version,
                    error_code=0,
                    partition_index=index,
                    leader_id=1,
                    leader_epoch=0,
                    replica_nodes=[2, 1],
                    isr_nodes=[1],
                    offline_replicas=[],
                )
                for index in TWO_MOVE
            ]
            answer.topics = [of(version=version, error_code=0, name=TOPIC, is_internal=False, partitions=partitions)]
            return answer
        if key == LIST:
            move = ListPartitionReassignmentsResponse.OngoingTopicReassignment
            moves = [
                move.OngoingPartitionReassignment(
                    partition_index=index, replicas=[2, 1], adding_replicas=[2], removing_replicas=[1]
                )
                for index in TWO_MOVE
            ]
            topics = [move(name=TOPIC, partitions=moves)]
            return ListPartitionReassignmentsResponse(version=version, error_code=0, error_message=None, topics=topics)
        if key == LOG_DIRS:
            result = DescribeLogDirsResponse.DescribeLogDirsResult
            of_topic = result.DescribeLogDirsTopic
            held = [
                of_topic.DescribeLogDirsPartition(
                    partition_index=index, partition_size=1_000 // self.node, offset_lag=0, is_future_key=False
                )
                for index in TWO_MOVE
            ]
            found = result(error_code=0, log_dir="/a", topics=[of_topic(name=TOPIC, partitions=held)])
            return DescribeLogDirsResponse(version=version, results=[found])
        return super()._answer(key, version)


@asynccontextmanager
async def moving_nodes() -> AsyncIterator[tuple[MovingNode, MovingNode]]:
    cluster = ScriptedCluster()
    first, second = MovingNode(cluster, 1), MovingNode(cluster, 2)
    async with listening(first), listening(second):
        yield first, second
