"""Brokers with the partition of a state log, each with its own view of who leads, as where one is cut off."""

import struct
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Self
from uuid import UUID

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.request_routing import RequestRouter, connect
from kafka_reassign_rpc.kraft.state_log.leader_calls import LeaderCalls
from kafka_reassign_rpc.kraft.state_log.log_format import Kind, cut
from kafka_reassign_rpc.kraft.state_log.record_batches import batches, encode_batch
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    FetchResponse,
    FindCoordinatorResponse,
    InitProducerIdResponse,
    ListOffsetsResponse,
    MetadataResponse,
    ProduceResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from tests.python_client.scripted_nodes import ScriptedCluster, ScriptedNode, listening

TOPIC, TOPIC_ID = "log", UUID(int=7)
OUT_OF_RANGE, NOT_LEADER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 1, 6, 74, 75
COORDINATOR_NOT_AVAILABLE = 15
EPOCHS = 40
"""The producer id."""
SERVED = [
    (ApiKey.PRODUCE, 3, 11),
    (ApiKey.FETCH, 4, 12),
    (ApiKey.LIST_OFFSETS, 1, 7),
    (ApiKey.METADATA, 0, 12),
    (ApiKey.API_VERSIONS, 0, 3),
    (ApiKey.FIND_COORDINATOR, 0, 4),
    (ApiKey.INIT_PRODUCER_ID, 0, 4),
]


class LogBroker(ScriptedNode):
    """leader, epoch    as it sees them
    end             behind its last record
    produce_error   what it answers each Produce; 0: it appends
    unsettled       so many questions for offsets are answered by OFFSET_NOT_AVAILABLE
    partitions      of the topic, all alike
    coordinator_error
                    what it answers who asks for the coordinator of transactions; 0: the leader
    """

    def __init__(self, cluster: ScriptedCluster, node: int, leader: int, epoch: int) -> None:
        super().__init__(cluster, node)
        self.leader = leader
        self.epoch = epoch
        self.batches: list[bytes] = []
        self.end = 0
        self.produce_error = 0
        self.unsettled = 0
        self.coordinator_error = 0
        self.partitions = 1

    def append(self, batch: bytes) -> int:
        (one,) = batches(batch)
        data = bytearray(batch)
        struct.pack_into(">q", data, 0, self.end)
        struct.pack_into(">i", data, 12, self.epoch)
        self.batches.append(bytes(data))
        self.end += one.size
        return self.end - one.size

    def write(self, kind: Kind, payload: bytes, sequence: int) -> None:
        """As the producer of epoch 0."""
        (records,) = cut(kind, [payload], 10_000)
        self.append(encode_batch(records, EPOCHS, 0, sequence, 0))

    def _answer(self, key: int, version: int) -> Any:
        match key:
            case ApiKey.API_VERSIONS:
                return ApiVersionsResponse(version=version, error_code=0, api_keys=SERVED)
            case ApiKey.METADATA:
                return self._metadata(version)
            case ApiKey.PRODUCE:
                return self._produced(version)
            case ApiKey.FETCH:
                return self._fetched(version)
            case ApiKey.LIST_OFFSETS:
                return self._offset(version)
            case ApiKey.FIND_COORDINATOR:
                return self._coordinator(version)
        error = COORDINATOR_NOT_AVAILABLE if self.produce_error else 0
        return InitProducerIdResponse(
            version=version, throttle_time_ms=0, error_code=error, producer_id=EPOCHS, producer_epoch=1
        )

    def _metadata(self, version: int) -> MetadataResponse:
        answer = self.cluster.metadata(version)
        if self.body.topics:
            topic = MetadataResponse.MetadataResponseTopic
            nodes = [*self.cluster.members]
            partitions = [
                topic.MetadataResponsePartition(
                    version=version,
                    error_code=0,
                    partition_index=index,
                    leader_id=self.leader,
                    leader_epoch=self.epoch,
                    replica_nodes=nodes,
                    isr_nodes=nodes,
                    offline_replicas=[],
                )
                for index in range(self.partitions)
            ]
            answer.topics = [topic(version=version, error_code=0, name=TOPIC, topic_id=TOPIC_ID, partitions=partitions)]
        return answer

    def _coordinator(self, version: int) -> FindCoordinatorResponse:
        """As its own partition is led."""
        one = FindCoordinatorResponse.Coordinator(
            version=version,
            key=TOPIC,
            node_id=-1 if self.coordinator_error else self.leader,
            host="",
            port=0,
            error_code=self.coordinator_error,
            error_message=None,
        )
        return FindCoordinatorResponse(version=version, throttle_time_ms=0, coordinators=[one])

    def _epoch_error(self, epoch: int) -> int:
        if epoch < 0 or epoch == self.epoch:
            return 0
        return UNKNOWN_LEADER_EPOCH if epoch > self.epoch else FENCED_LEADER_EPOCH

    def _produced(self, version: int) -> ProduceResponse:
        error = self.produce_error or (0 if self.leader == self.node else NOT_LEADER)
        ((asked,),) = (topic.partition_data for topic in self.body.topic_data)
        offset = -1 if error else self.append(asked.records)
        topic = ProduceResponse.TopicProduceResponse
        one = topic.PartitionProduceResponse(version=version, index=0, error_code=error, base_offset=offset)
        return ProduceResponse(
            version=version,
            responses=[topic(version=version, name=TOPIC, partition_responses=[one])],
            throttle_time_ms=0,
        )

    def _fetched(self, version: int) -> FetchResponse:
        """A follower answers, too, if the epoch is that which it knows."""
        ((asked,),) = (topic.partitions for topic in self.body.topics)
        error = self._epoch_error(asked.current_leader_epoch) or (OUT_OF_RANGE if asked.fetch_offset > self.end else 0)
        found = [one for one in batches(b"".join(self.batches)) if one.last_offset >= asked.fetch_offset]
        topic = FetchResponse.FetchableTopicResponse
        one = topic.PartitionData(
            version=version,
            partition_index=0,
            error_code=error,
            high_watermark=-1 if error else self.end,
            last_stable_offset=self.end,
            log_start_offset=0,
            aborted_transactions=[],
            preferred_read_replica=-1,
            records=b"" if error else b"".join(batch.data for batch in found),
        )
        return FetchResponse(
            version=version,
            throttle_time_ms=0,
            error_code=0,
            session_id=0,
            responses=[topic(version=version, topic=TOPIC, partitions=[one])],
        )

    def _offset(self, version: int) -> ListOffsetsResponse:
        ((asked,),) = (topic.partitions for topic in self.body.topics)
        error = self._epoch_error(asked.current_leader_epoch) or (0 if self.leader == self.node else NOT_LEADER)
        if self.unsettled and not error:
            self.unsettled, error = self.unsettled - 1, 78
        topic = ListOffsetsResponse.ListOffsetsTopicResponse
        one = topic.ListOffsetsPartitionResponse(
            version=version,
            partition_index=0,
            error_code=error,
            timestamp=-1,
            offset=0 if asked.timestamp == -2 else self.end,
            leader_epoch=self.epoch,
        )
        return ListOffsetsResponse(
            version=version, throttle_time_ms=0, topics=[topic(version=version, name=TOPIC, partitions=[one])]
        )


class LogBrokers:
    """An async context manager: brokers by their number from 1 on, each with the leader and the epoch that it sees."""

    def __init__(self, views: Sequence[tuple[int, int]], kind: type[LogBroker] = LogBroker) -> None:
        cluster = ScriptedCluster()
        self.nodes = [kind(cluster, number, *view) for number, view in enumerate(views, 1)]
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for node in self.nodes:
            await self._open.enter_async_context(listening(node))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @property
    def bootstrap(self) -> str:
        """The first one, to which a client then has its only connection."""
        return f"127.0.0.1:{self.nodes[0].port}"

    async def router(self) -> RequestRouter:
        router = await connect(client_settings({"bootstrap_servers": self.bootstrap, "request_timeout_ms": 5_000}))
        self._open.push_async_callback(router.close)
        return router

    async def calls(self) -> LeaderCalls:
        return LeaderCalls(await self.router(), TOPIC, TOPIC_ID)
