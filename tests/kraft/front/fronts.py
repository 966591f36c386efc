"""Fronts of a stock cluster whose handler carries out at once what it is asked."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.front import Front, FrontNodes, FrontSettings
from kafka_reassign_rpc.kraft.upstream import Upstream, Wanted
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, Reply, RequestHeader
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsResponse,
    ApiMessage,
    ListPartitionReassignmentsResponse,
)
from kafka_reassign_rpc.security.tls.context_parts import ReloadedContext
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.server_limits import ServerLimits
from kafka_reassign_rpc.support.host_port import Address
from tests.kraft.stock_cluster import StockCluster
from tests.stock.ports import ports_in_a_row

ALTER, LIST = 45, 46
NODE = 1_000


class Carrying:
    """`asked`: the requests that have reached it: API key, and the client's id."""

    served: Mapping[int, tuple[int, int]] = {ALTER: (0, 1), LIST: (0, 0)}
    max_elements: Mapping[int, int] = {}

    def __init__(self, upstream: Upstream) -> None:
        self.asked: list[tuple[int, str | None]] = []
        self.principals: set[str] = set()
        self._upstream = upstream

    def refusal(self, _header: RequestHeader, _error: RemoteProtocolError) -> ApiMessage | None:
        return None

    def illegal_sasl_state(self, _request: DecodedRequest, _text: str) -> ApiMessage | None:
        return None

    async def handle(self, request: DecodedRequest, peer: Peer) -> Reply:
        header = request.header
        self.asked.append((header.api_key, header.client_id))
        assert peer.allowed
        self.principals.add(peer.principal)
        return await (self._alter if header.api_key == ALTER else self._list)(request.body, header.api_version)

    async def _alter(self, asked: Any, version: int) -> ApiMessage:
        targets = {
            TopicPartition(topic.name, one.partition_index): one.replicas
            for topic in asked.topics
            for one in topic.partitions
        }
        found = await self._upstream.alter(targets)
        of = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
        topics: dict[str, list[Any]] = {}
        for name, outcome in found.items():
            error = outcome.error
            topics.setdefault(name.topic, []).append(
                of.ReassignablePartitionResponse(
                    partition_index=name.partition,
                    error_code=0 if error is None else error.code,
                    error_message=None if error is None else error.message,
                )
            )
        responses = [of(name=name, partitions=some) for name, some in topics.items()]
        return AlterPartitionReassignmentsResponse(
            version=version, error_code=0, error_message=None, responses=responses
        )

    async def _list(self, asked: Any, version: int) -> ApiMessage:
        wanted = None
        if asked.topics is not None:
            wanted = {(one.name, index) for one in asked.topics for index in one.partition_indexes}
        moves = (await self._upstream.look(Wanted())).moves
        assert not isinstance(moves, KafkaError), moves
        of = ListPartitionReassignmentsResponse.OngoingTopicReassignment
        topics: dict[str, list[Any]] = {}
        for name, move in moves.items():
            if wanted is None or name in wanted:
                topics.setdefault(name.topic, []).append(
                    of.OngoingPartitionReassignment(
                        partition_index=name.partition,
                        replicas=list(move.replicas),
                        adding_replicas=list(move.adding_replicas),
                        removing_replicas=list(move.removing_replicas),
                    )
                )
        found = [of(name=name, partitions=some) for name, some in topics.items()]
        return ListPartitionReassignmentsResponse(version=version, error_code=0, error_message=None, topics=found)


class Fronted:
    def __init__(self, front: Front, handler: Carrying) -> None:
        self.front = front
        self.handler = handler

    @property
    def bootstrap(self) -> str:
        return str(self.front.address)

    @property
    def at(self) -> tuple[str, int]:
        return self.front.address

    @property
    def principals(self) -> set[str]:
        """Who has asked the handler."""
        return self.handler.principals

    def of(self, client: str) -> list[int]:
        """The API keys of this client's requests that have reached the handler."""
        return [key for key, name in self.handler.asked if name == client]


@asynccontextmanager
async def fronted(
    cluster: StockCluster,
    *,
    protocol: str = "PLAINTEXT",
    nodes: FrontNodes = FrontNodes.BESIDE,
    host: str = "127.0.0.1",
    brokers: Sequence[Address] = (),
    limits: ServerLimits | None = None,
    tls: ReloadedContext | None = None,
) -> AsyncIterator[Fronted]:
    ports = cluster.secured if protocol.startswith("SASL") else {one: node.port for one, node in cluster.nodes.items()}
    upstream = Upstream({"bootstrap_servers": cluster.bootstrap}, lambda: True)
    await upstream.start()
    handler = Carrying(upstream)
    port = ports_in_a_row(2 + max(ports)) if nodes is FrontNodes.PORTS else 0
    settings = FrontSettings(
        listener=Listener("127.0.0.1", port, "FRONT", protocol, tls),
        advertised=Address(host, port),
        node_id=NODE,
        brokers=brokers or [Address("127.0.0.1", port) for port in ports.values()],
        nodes=nodes,
    )
    front = Front(settings, handler, limits)
    await front.start()
    try:
        yield Fronted(front, handler)
    finally:
        await front.close()
        await upstream.close()
