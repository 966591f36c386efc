"""The client's call for the version of the controller and the states of brokers."""

from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, ControllerState, ReassignmentClient, UnsupportedHere
from kafka_reassign_rpc.client.controller_state_calls import controller_state
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsResponse


def check(state: ControllerState) -> None:
    assert (state.version, state.brokers) == (version("kafka-reassign-rpc"), {})
    assert state.epoch > 0
    assert state.since > 0


def test_sv_11_the_controller_tells_its_version_and_no_broker_where_none_has_a_lease(
    client: ReassignmentClient,
) -> None:
    check(client.controller_state())


async def test_sv_11_and_so_it_does_for_asyncio(bootstrap: str) -> None:
    async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
        check(await client.controller_state())


@pytest.mark.parametrize("served", [-1, 0], ids=["a_stock_controller", "an_earlier_version"])
async def test_sv_11_a_controller_that_does_not_tell_its_state_is_not_taken_for_one_without_leases(served: int) -> None:
    answer = DescribeReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, descriptions=[])

    async def serves(_cls: Any) -> int:
        return served

    async def ask(build: Any, _cls: Any) -> DescribeReassignmentsResponse:
        assert served == 0, "a stock controller is sent nothing"
        assert build(0).include_state
        return answer

    router: Any = SimpleNamespace(controller_serves=serves, ask_controller=ask)
    with pytest.raises(UnsupportedHere, match="that needs a kafka-reassign-rpc server"):
        await controller_state(router, 1_000)
