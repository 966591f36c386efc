"""What the client sends to whom, where another node becomes the controller in the middle of a call."""

from typing import Any

import pytest

from kafka_reassign_rpc.client import UnsupportedHere, reassignment_calls
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.node_connections import NodeConnections
from kafka_reassign_rpc.client.request_routing import NOT_CONTROLLER, RequestRouter
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import encode_body
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    DescribeReassignmentsRequest,
)

OURS, STOCK = 1000, 2
ALTER, DESCRIBE = AlterPartitionReassignmentsRequest.API_KEY, DescribeReassignmentsRequest.API_KEY
T0 = TopicPartition("t", 0)


class Node:
    """A connection to a node that serves these APIs, and answers so."""

    def __init__(self, network: "Network", node: int) -> None:
        self._network = network
        self._node = node

    async def versions(self) -> dict[int, tuple[int, int]]:
        return {ALTER: (0, 1)} | ({DESCRIBE: (0, 0)} if self._node == OURS else {})

    async def call(self, _: Any, __: bytes, version: int) -> bytes:
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

    async def _reach(self, node: int) -> Node:
        return Node(self, node)

    async def _find_controller(self) -> int:
        return self.controls


async def alter(network: Network, **asked: Any) -> Any:
    given = {"allow_replication_factor_change": True, "expected_replicas": None, "queue": False, "timeout_ms": 1000}
    return await reassignment_calls.alter_partition_reassignments(network, {T0: [4, 2, 3]}, **(given | asked))


@pytest.mark.parametrize(
    ("asked", "otherwise"),
    [
        ({"expected_replicas": {T0: [1, 2, 3]}}, reassignment_calls.NO_EXPECTATIONS),
        ({"queue": True}, reassignment_calls.NO_QUEUE),
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
