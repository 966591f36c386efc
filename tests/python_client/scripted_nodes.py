"""Nodes of a cluster, as far as the client can see them: real sockets, and answers that a test chooses."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsResponse,
    ApiVersionsResponse,
    ListPartitionReassignmentsResponse,
    MetadataResponse,
)
from kafka_reassign_rpc.protocol.served_connection import Connection
from kafka_reassign_rpc.protocol.versions import SUPPORTED
from tests.stop_listening import stop_listening

METADATA, API_VERSIONS, ALTER, LIST = 3, 18, 45, 46
NOT_CONTROLLER = 41
SERVED = [(METADATA, 0, 12), (API_VERSIONS, 0, 3), (ALTER, 0, 1), (LIST, 0, 0)]

Reply = Callable[[bytes], bytes | None]
"""What is sent in the place of an answer; None: nothing, and the connection is closed."""


class ScriptedCluster:
    """`members`: node -> its port, as Metadata tells them. `controller`: which node is it."""

    def __init__(self) -> None:
        self.members: dict[int, int] = {}
        self.controller = 1

    def metadata(self, version: int) -> MetadataResponse:
        brokers = [
            MetadataResponse.MetadataResponseBroker(
                version=version, node_id=node, host="127.0.0.1", port=port, rack=None
            )
            for node, port in self.members.items()
        ]
        return MetadataResponse(
            version=version, brokers=brokers, cluster_id="c", controller_id=self.controller, topics=[]
        )


class ScriptedNode:
    """`asked`: the API keys of its requests, in order; `body`: of the last one. `replies`: what becomes of the answers
    to an API. `muted_s`: it reads nothing for so long after each answer, as a broker whose quota a client exceeds.
    """

    def __init__(self, cluster: ScriptedCluster, node: int) -> None:
        self.cluster = cluster
        self.node = node
        self.asked: list[int] = []
        self.body: Any = None
        self.replies: dict[int, Reply] = {}
        self.connections = 0
        self.port = 0
        self.muted_s = 0.0
        self._writers: set[asyncio.StreamWriter] = set()

    def disconnect(self) -> None:
        for writer in list(self._writers):
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        connection = Connection(SUPPORTED)
        with suppress(OSError):
            while data := await reader.read(1000):
                connection.receive(data)
                while connection.queued:
                    request = connection.parse(connection.next_frame())
                    assert isinstance(request, DecodedRequest)
                    key = request.header.api_key
                    self.asked.append(key)
                    self.body = request.body
                    answer = connection.answer(request, self._answer(key, request.header.api_version))
                    reply = self.replies[key](answer) if key in self.replies else answer
                    if reply is None:
                        writer.close()
                        break
                    writer.write(reply)
                    if self.muted_s:
                        await asyncio.sleep(self.muted_s)
        self._writers.discard(writer)
        writer.close()

    def _answer(self, key: int, version: int) -> Any:
        code = 0 if self.cluster.controller == self.node else NOT_CONTROLLER
        match key:
            case 3:
                return self.cluster.metadata(version)
            case 18:
                return ApiVersionsResponse(version=version, error_code=0, api_keys=SERVED)
            case 45:
                return AlterPartitionReassignmentsResponse(
                    version=version, error_code=code, error_message=None, responses=[]
                )
        return ListPartitionReassignmentsResponse(version=version, error_code=code, error_message=None, topics=[])


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def accepting(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port whose connections are served so. All of them have ended at the end of the block: one whose client has
    gone a moment before would be a warning in a later test.
    """
    running: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await serve(reader, writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running[asyncio.create_task(run(reader, writer))] = writer

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await stop_listening([server])
        for writer in running.values():
            writer.close()
        await asyncio.gather(*running)
        for writer in running.values():
            with suppress(OSError):
                await writer.wait_closed()


@asynccontextmanager
async def listening(node: ScriptedNode, context: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedNode]:
    """The node listens on a port of its own, which is what Metadata tells of it."""
    async with accepting(node.serve, context) as port:
        node.port = node.cluster.members[node.node] = port
        yield node


def addresses(nodes: Iterable[ScriptedNode]) -> list[str]:
    return [f"127.0.0.1:{node.port}" for node in nodes]
