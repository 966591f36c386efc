"""What the client sends to whom, where another node becomes the controller in the middle of a call."""

from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_reassign_rpc.client import (
    QUEUE,
    MoveTerms,
    Unreachable,
    UnsupportedHere,
    reassignment_calls,
    settings_calls,
)
from kafka_reassign_rpc.client.async_client import AsyncReassignmentClient
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.node_connections import NodeConnections
from kafka_reassign_rpc.client.node_questions import NOT_CONTROLLER
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import encode_body
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    DescribeQuorumRequest,
    DescribeReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka_reassign_rpc.reassign_command import action_settings
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure

OURS, STOCK = 1000, 2
ALTER, DESCRIBE = AlterPartitionReassignmentsRequest.API_KEY, DescribeReassignmentsRequest.API_KEY
LIST = ListPartitionReassignmentsRequest.API_KEY
CLUSTER_AUTHORIZATION_FAILED = 31
T0 = TopicPartition("t", 0)


class Node:
    """A connection to a node that serves these APIs, and answers so."""

    def __init__(self, network: "Network", node: int) -> None:
        self._network = network
        self._node = node

    async def versions(self) -> dict[int, tuple[int, int]]:
        return {ALTER: (0, 1)} | ({DESCRIBE: (0, 0)} if self._node == OURS else {})

    async def call(self, _: Any, __: bytes, version: int, *_more: Any) -> bytes:
        self._network.sent.append(self._node)
        response = AlterPartitionReassignmentsResponse
        if self._node == OURS:
            self._network.controls = STOCK
            refusal = response(error_code=NOT_CONTROLLER, error_message=None, responses=[])
            return encode_body(refusal, version=version)
        one = response.ReassignableTopicResponse.ReassignablePartitionResponse(
            partition_index=0, error_code=0, error_message=None
        )
        topics = [response.ReassignableTopicResponse(name="t", partitions=[one])]
        return encode_body(response(error_code=0, error_message=None, responses=topics), version=version)


class Network(RequestRouter):
    """This server is the controller until it is asked; then a stock broker is."""

    def __init__(self) -> None:
        settings = client_settings({"retry_backoff_ms": 0, "request_timeout_ms": 5000})
        super().__init__(NodeConnections(settings), settings)
        self._nodes.connection = self._reach  # type: ignore[assignment,method-assign]
        self.controls = OURS
        self.sent: list[int] = []
        self.says: list[int] = []
        self.asked: list[int] = []

    async def _reach(self, node: int) -> Node:
        return Node(self, node)

    async def _find_controller(self) -> int:
        return self.controls


async def alter(network: Network, **asked: Any) -> Any:
    moves = {T0: MoveTerms((4, 2, 3), **asked)}
    return await reassignment_calls.alter_partition_reassignments(
        network, moves, allow_replication_factor_change=True, timeout_ms=1000
    )


@pytest.mark.parametrize(
    ("asked", "otherwise"),
    [
        ({"expected": (1, 2, 3)}, reassignment_calls.NO_EXPECTATIONS),
        ({"route": QUEUE}, reassignment_calls.NO_QUEUE),
        ({"throttle": 1_000_000}, reassignment_calls.NO_LEASES),
        ({"reason": "OPS-1"}, reassignment_calls.NO_REASONS),
    ],
)
async def test_860_5_nothing_is_sent_to_a_controller_that_would_ignore_what_is_asked(
    asked: dict[str, Any], otherwise: str
) -> None:
    """A stock broker skips tagged fields that it does not know: the move would start at once and compare nothing."""
    network = Network()
    with pytest.raises(UnsupportedHere, match=otherwise[:30]):
        await alter(network, **asked)
    assert network.sent == [OURS]


async def test_455_1_a_plain_request_follows_the_controller_to_a_stock_broker() -> None:
    network = Network()
    assert await alter(network) == {T0: None}
    assert network.sent == [OURS, STOCK]


class StockNode(Node):
    """It says whether it is the controller."""

    async def versions(self) -> dict[int, tuple[int, int]]:
        return await super().versions() | {LIST: (0, 0)}

    async def call(self, cls: Any, body: bytes, version: int, *_more: Any) -> bytes:
        if cls is not ListPartitionReassignmentsRequest:
            return await super().call(cls, body, version)
        self._network.asked.append(self._node)
        answer = ListPartitionReassignmentsResponse(error_code=self._network.says.pop(0), topics=[])
        return encode_body(answer, version=version)


class Beginning(Network):
    """Nodes name the stock broker until it has said often enough what it `says`; then they name our server."""

    def __init__(self, *says: int) -> None:
        super().__init__()
        self.says = [*says]

    async def _reach(self, node: int) -> Node:
        return StockNode(self, node)

    async def _find_controller(self) -> int:
        return STOCK if self.says else OURS


@pytest.mark.parametrize(
    ("says", "serves"),
    [
        ([NOT_CONTROLLER], 0),
        ([NOT_CONTROLLER, NOT_CONTROLLER], 0),
        ([0], -1),
        ([NOT_CONTROLLER, 0], -1),
        ([CLUSTER_AUTHORIZATION_FAILED], -1),
    ],
)
async def test_dh_2_a_term_that_begins_is_waited_for_where_nodes_name_the_former_controller_still(
    says: list[int], serves: int
) -> None:
    network = Beginning(*says)
    assert await network.controller_serves(DescribeReassignmentsRequest) == serves
    assert network.asked == [STOCK] * len(says)


async def test_dh_2_a_broker_in_kraft_mode_is_not_asked_whether_it_is_the_controller() -> None:
    """It passes requests on, and keeps the answer while there is no controller."""

    class KRaftNode(StockNode):
        async def versions(self) -> dict[int, tuple[int, int]]:
            return await super().versions() | {DescribeQuorumRequest.API_KEY: (0, 1)}

    network = Beginning(NOT_CONTROLLER)
    nodes: Any = network._nodes
    nodes.connection = lambda node: _soon(KRaftNode(network, node))
    assert await network.controller_serves(DescribeReassignmentsRequest) == -1
    assert network.asked == []


async def _soon(node: Node) -> Node:
    return node


async def test_dh_2_what_only_our_server_carries_out_waits_for_its_term_too() -> None:
    network = Beginning(NOT_CONTROLLER, 0)
    with pytest.raises(UnsupportedHere, match="This request was not sent"):
        await alter(network, route=QUEUE)
    assert network.sent == []
    assert network.asked == [STOCK, STOCK], "in the end the broker was the controller indeed"


async def test_dh_2_what_is_done_is_said_where_another_controller_takes_over_before_it_can_be_read() -> None:
    """Not that nothing was sent."""

    class Changed(Beginning):
        async def ask_node(self, *_: Any, **__: Any) -> Any:
            return SimpleNamespace(responses=[SimpleNamespace(error_code=0, error_message=None)])

        async def controller_serves(self, _: Any) -> int:
            return self.says.pop(0)

    made = AsyncReassignmentClient()
    made._router = Changed(0, -1)
    with pytest.raises(Unreachable) as failed:
        await made.cordon([1])
    assert failed.value.message.startswith("The brokers are cordoned. All that are cordoned could not be read: ")

    def settings() -> Any:
        raise UnsupportedHere(settings_calls.NO_SETTINGS)

    client = SimpleNamespace(change_settings=lambda _: None, settings=settings)
    context: Any = SimpleNamespace(client=client)
    with pytest.raises(TerseFailure, match="The settings are changed"):
        action_settings.COMMAND.run(context, Namespace(set=["a=b"], delete=[], move=False))
