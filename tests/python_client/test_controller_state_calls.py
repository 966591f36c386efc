"""The client's call for the version of the controller and the states of brokers."""

from importlib.metadata import version

from kafka_reassign_rpc.client import AsyncReassignmentClient, ControllerState, ReassignmentClient


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
