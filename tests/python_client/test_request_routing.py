"""What the client sends to whom, where another node becomes the controller in the middle of a call."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_reassign_rpc.client import UnsupportedHere, reassignment_calls
from kafka_reassign_rpc.client.request_routing import NOT_CONTROLLER, RequestRouter
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    DescribeReassignmentsRequest,
)

OURS, STOCK = 1000, 2
ALTER, DESCRIBE = AlterPartitionReassignmentsRequest.API_KEY, DescribeReassignmentsRequest.API_KEY
T0 = TopicPartition("t", 0)


class Network(RequestRouter):
    """This server is the controller until it is asked; then a stock broker is."""

    def __init__(self) -> None:
        self._net = SimpleNamespace(sleep=self._no_time)
        self._timeout_ms = 5000
        self._controller = None
        self.controls = OURS
        self.sent: list[int] = []

    async def _no_time(self, _: float) -> None: ...

    async def _find_controller(self) -> int:
        return self.controls

    async def _versions_of(self, node: int) -> dict[int, tuple[int, int]]:
        return {ALTER: (0, 1)} | ({DESCRIBE: (0, 0)} if node == OURS else {})

    async def _send(self, node: int, request: Any) -> Any:
        self.sent.append(node)
        response = AlterPartitionReassignmentsResponse
        if node == OURS:
            self.controls = STOCK
            return response(error_code=NOT_CONTROLLER, error_message=None, responses=[])
        one = response.ReassignableTopicResponse.ReassignablePartitionResponse(partition_index=0, error_code=0)
        return response(
            error_code=0,
            error_message=None,
            responses=[response.ReassignableTopicResponse(name="t", partitions=[one])],
        )


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
