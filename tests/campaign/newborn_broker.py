"""A broker that takes every record, and may know no broker: a stock one is so until its first UpdateMetadata."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from kafka.protocol.metadata import (
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafka.record import MemoryRecords

from kafka_reassign_rpc.protocol.frame_codec import encode_response
from kafka_reassign_rpc.protocol.versions import ApiKey
from tests.stop_listening import stop_listening

from .journal import Record

ID = 1
PARTITIONS = 2
UNKNOWN_TOPIC_OR_PARTITION = 3
NEWEST = {
    ProduceRequest: 7,
    MetadataRequest: 7,
    FindCoordinatorRequest: 2,
    InitProducerIdRequest: 1,
    AddPartitionsToTxnRequest: 1,
    EndTxnRequest: 1,
}
"""The versions that it serves: the last ones without tagged fields."""
REQUESTS = {cls.API_KEY: cls for cls in NEWEST}


class NewbornBroker:
    """The only broker of a cluster that has every topic, with PARTITIONS each.

    newborn    whether it knows no broker and no topic
    taken      by partition: the records in their order
    """

    def __init__(self) -> None:
        self.newborn = False
        self.taken: dict[int, list[Record]] = defaultdict(list)
        self.port = 0
        self._producers = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            while True:
                frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                key, version, correlation_id = (int.from_bytes(frame[a:b], "big") for a, b in ((0, 2), (2, 4), (4, 8)))
                writer.write(
                    encode_response(self._answer(key, version, frame), version=version, correlation_id=correlation_id)
                )
        self._tasks.discard(task)
        writer.close()

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _answer(self, key: int, version: int, frame: bytes) -> Any:
        if key == ApiKey.API_VERSIONS:
            one = partial(ApiVersionsResponse.ApiVersion, version=version, min_version=0)
            keys = [one(api_key=cls.API_KEY, max_version=newest) for cls, newest in NEWEST.items()]
            return ApiVersionsResponse(version=version, error_code=0, api_keys=keys)
        request = REQUESTS[key].decode(frame, version=version, header=True)
        match request:
            case MetadataRequest():
                return self._metadata(request, version)
            case ProduceRequest():
                return self._take(request, version)
            case FindCoordinatorRequest():
                return FindCoordinatorResponse(version=version, node_id=ID, host="127.0.0.1", port=self.port)
            case InitProducerIdRequest():
                self._producers += 1
                return InitProducerIdResponse(version=version, producer_id=self._producers, producer_epoch=0)
            case AddPartitionsToTxnRequest():
                return _added(request, version)
        assert isinstance(request, EndTxnRequest)
        return EndTxnResponse(version=version, error_code=0)

    def _metadata(self, request: Any, version: int) -> Any:
        broker = partial(MetadataResponse.MetadataResponseBroker, version=version)
        topic = MetadataResponse.MetadataResponseTopic
        names = [one.name for one in request.topics or ()]
        if self.newborn:
            unknown = [topic(version=version, error_code=UNKNOWN_TOPIC_OR_PARTITION, name=name) for name in names]
            return MetadataResponse(version=version, brokers=[], controller_id=-1, topics=unknown)
        partitions = [
            topic.MetadataResponsePartition(
                version=version, partition_index=index, leader_id=ID, leader_epoch=0, replica_nodes=[ID], isr_nodes=[ID]
            )
            for index in range(PARTITIONS)
        ]
        return MetadataResponse(
            version=version,
            brokers=[broker(node_id=ID, host="127.0.0.1", port=self.port)],
            controller_id=ID,
            topics=[topic(version=version, name=name, partitions=partitions) for name in names],
        )

    def _take(self, request: Any, version: int) -> Any:
        topic = ProduceResponse.TopicProduceResponse
        answers = []
        for data in request.topic_data:
            for one in data.partition_data:
                batches = MemoryRecords(bytes(one.records))
                while batches.has_next():
                    self.taken[one.index] += [Record.decode(record.value) for record in batches.next_batch()]
            answered = [
                topic.PartitionProduceResponse(version=version, index=one.index, error_code=0)
                for one in data.partition_data
            ]
            answers.append(topic(version=version, name=data.name, partition_responses=answered))
        return ProduceResponse(version=version, responses=answers)


def _added(request: Any, version: int) -> Any:
    topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    found = [
        topic(
            version=version,
            name=one.name,
            results_by_partition=[
                topic.AddPartitionsToTxnPartitionResult(version=version, partition_index=index, partition_error_code=0)
                for index in one.partitions
            ],
        )
        for one in request.v3_and_below_topics
    ]
    return AddPartitionsToTxnResponse(version=version, results_by_topic_v3_and_below=found)


@asynccontextmanager
async def newborn_broker() -> AsyncIterator[NewbornBroker]:
    """It knows itself at first."""
    made = NewbornBroker()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        await stop_listening([server])
        await made.end()
