"""A scripted controller over real sockets: sends requests to brokers, and answers theirs.

It holds only the state that ISR changes need. The test makes all other decisions of a real controller.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet import Fleet
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, decode_request, encode_response
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionResponse,
    ApiVersionsResponse,
    ControlledShutdownResponse,
)
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from tests.stop_listening import stop_listening

from . import messages

ID = 1000
TIMEOUT_S = 60.0


class Partition(NamedTuple):
    """A partition's state in the scripted controller."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    epoch: int = 0
    version: int = 0


class ScriptedController:
    """Controller 1000 with epoch 1. The next AlterPartitions get `alter_errors` at the top level, one each."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.partitions: dict[TopicPartition, Partition] = {}
        self.requests: list[DecodedRequest] = []
        self.alter_errors: list[int] = []
        self.partition_errors: list[int] = []
        self.epoch = 1
        self.silent = False
        self.dead: set[int] = set()
        self._connections: dict[int, RpcClient] = {}
        self._server: asyncio.Server | None = None
        self._changed = asyncio.Condition()
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        await self.update_metadata()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server is not None
        await stop_listening([self._server])
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections.values():
            connection.close()

    @property
    def address(self) -> tuple[str, int]:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    # ------------------------------------------------------------------------------------------ to brokers

    async def send(self, broker: int, request: Any, version: int) -> Any:
        """Sends a request to a broker of the fleet, on the one connection to it."""
        host, port = self.fleet.addresses[broker]
        async with self._turn:
            if broker not in self._connections:
                self._connections[broker] = await RpcClient.open(host, port, str(ID), TIMEOUT_S)
            return await self._connections[broker].call(type(request), request, version)

    async def update_metadata(self, *names: TopicPartition) -> None:
        """Sends all brokers the live brokers and these partitions' states."""
        brokers = {
            broker: address
            for broker, address in {**self.fleet.addresses, ID: self.address}.items()
            if broker not in self.dead
        }
        by_topic: dict[str, list[dict[str, Any]]] = {"t": []}
        for name in names:
            by_topic.setdefault(name.topic, []).append(self._state(name))
        for topic, states in by_topic.items():
            for broker_id, broker in self.fleet.brokers.items():
                request = messages.update_metadata(
                    *states,
                    brokers=brokers,
                    topic=topic,
                    controller_epoch=self.epoch,
                    broker_epoch=broker.broker_epoch,
                )
                answer = await self.send(broker_id, request, 8)
                assert answer.error_code == 0

    async def set(self, index: int, partition: Partition, topic: str = "t", *, is_new: bool = False) -> None:
        """Sets the partition's state, and sends it to all replicas and to the metadata of all brokers."""
        name = TopicPartition(topic, index)
        self.partitions[name] = partition
        await self.update_metadata(name)
        for broker in partition.replicas:
            await self.leader_and_isr(broker, name, is_new=is_new)

    async def leader_and_isr(self, broker: int, name: TopicPartition, *, is_new: bool = False) -> int:
        """Sends LeaderAndIsr to one replica; returns the partition's error."""
        request = messages.leader_and_isr(
            self._state(name) | {"is_new": is_new},
            topic=name.topic,
            controller_epoch=self.epoch,
            broker_epoch=self.fleet.brokers[broker].broker_epoch,
        )
        answer = await self.send(broker, request, 7)
        assert answer.error_code == 0
        error: int = answer.topics[0].partition_errors[0].error_code
        return error

    async def stop_replica(self, broker: int, name: TopicPartition, *, delete: bool = True) -> int:
        request = messages.stop_replica(
            (name.partition, self.partitions[name].epoch, delete),
            topic=name.topic,
            controller_epoch=self.epoch,
            broker_epoch=self.fleet.brokers[broker].broker_epoch,
        )
        answer = await self.send(broker, request, 4)
        assert answer.error_code == 0
        error: int = answer.partition_errors[0].error_code
        return error

    def _state(self, name: TopicPartition) -> dict[str, Any]:
        one = self.partitions[name]
        return {
            "index": name.partition,
            "leader": one.leader,
            "epoch": one.epoch,
            "isr": list(one.isr),
            "replicas": list(one.replicas),
            "version": one.version,
        }

    # ------------------------------------------------------------------------------------------ from brokers

    async def until(self, condition: Callable[[], bool], timeout: float = TIMEOUT_S) -> None:
        """Waits until a request has made the condition true."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(condition)

    async def isr_is(self, index: int, *members: int, timeout: float = TIMEOUT_S) -> None:
        """Waits until leaders have changed the ISR to these members."""
        name = TopicPartition("t", index)
        await self.until(lambda: set(self.partitions[name].isr) == set(members), timeout)

    def of(self, key: int) -> list[Any]:
        """The received requests of an API, in order."""
        return [request.body for request in self.requests if request.header.api_key == key]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                request = decode_request(await reader.readexactly(size))
                header = request.header
                body = self._answer(request, header.api_version)
                if self.silent:
                    continue
                writer.write(encode_response(body, version=header.api_version, correlation_id=header.correlation_id))
                async with self._changed:
                    self._changed.notify_all()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass  # Either side is through.
        finally:
            writer.close()

    def _answer(self, request: DecodedRequest, version: int) -> Any:
        self.requests.append(request)
        key = request.header.api_key
        if key == 18:
            return ApiVersionsResponse(version=version, error_code=0, api_keys=[(7, 0, 3), (18, 0, 4), (56, 0, 3)])
        if key == 7:
            return ControlledShutdownResponse(version=version, error_code=0, remaining_partitions=[])
        assert key == 56, key
        if self.alter_errors:
            return AlterPartitionResponse(
                version=version, throttle_time_ms=0, error_code=self.alter_errors.pop(0), topics=[]
            )
        topics = []
        for topic in request.body.topics:
            answers = [self._altered(partition) for partition in topic.partitions]
            topics.append((topic.topic_id, answers))
        return AlterPartitionResponse(version=version, throttle_time_ms=0, error_code=0, topics=topics)

    def _altered(self, asked: Any) -> tuple[int, int, int, int, list[int], int, int]:
        name = TopicPartition("t", asked.partition_index)
        stands = self.partitions[name]
        error = self.partition_errors.pop(0) if self.partition_errors else 0
        if not error and asked.leader_epoch != stands.epoch:
            error = 74
        elif not error and asked.partition_epoch != stands.version:
            error = 95
        if not error:
            isr = tuple(member.broker_id for member in asked.new_isr_with_epochs)
            stands = self.partitions[name] = stands._replace(isr=isr, version=stands.version + 1)
        return (
            name.partition,
            error,
            stands.leader,
            stands.epoch,
            list(stands.isr),
            0,
            stands.version,
        )
