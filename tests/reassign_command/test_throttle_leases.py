"""--lease: a throttle for exactly the replicas that move, which the controller removes itself (236-11)."""

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.reassign_command.set_and_clear_throttles import LEASE_NEEDS_THROTTLE, VERIFY_LATER
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from tests.interop.clusters import BROKERS, Ours
from tests.reassign_command.run_command import Command, Files
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.asyncio(loop_scope="package")]


@pytest_asyncio.fixture(loop_scope="package")
async def command(ours: Ours) -> Command:
    host, port = await ours.address(3)
    await ours.set_rates()  # 1 B/s for followers: a lease is not above it, so what it throttles does not end
    return Command(f"{host}:{port}")


async def test_236_11_execute_with_a_lease_needs_no_verify(command: Command, ours: Ours, files: Files) -> None:
    configs = ConfigStore(ours.znodes)
    before = {broker: await configs.get("brokers", str(broker)) for broker in BROKERS}
    await ours.prepare_data("leased")
    await ours.create_topic("leased", {0: [1, 2]}, held=False)
    plan = files.plan("leased", (0, [3, 4]))

    output = await command("--execute", "--throttle", "5000", "--lease", "--reassignment-json-file", plan)

    assert (output.code, output.err) == (0, "")
    assert VERIFY_LATER not in output.lines
    assert output.lines[-2:] == [
        "On brokers 1,2,3,4 it stays 1 B/s to receive: its own dynamic config is stricter, and a lease relaxes no "
        "limit. To lift it for them: --lift-stricter",
        "Successfully started partition reassignment for leased-0",
    ]
    assert await configs.get("topics", "leased") == {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3,0:4"}
    assert await configs.get("brokers", "3") == {**before[3], LEADER_RATE: "5000", FOLLOWER_RATE: "1"}
    document = await command.json(
        "--execute", "--additional", "--throttle", "0", "--lease", "--reassignment-json-file", plan
    )
    assert (document["throttle"], document["lease"]) == (0, True)

    async def as_before() -> bool:
        assert await configs.get("topics", "leased") == {}
        assert {broker: await configs.get("brokers", str(broker)) for broker in BROKERS} == before
        return True

    await eventually(as_before)
    done = "Reassignment of partition leased-0 is completed."
    verify = ("--verify", "--preserve-throttles", "--reassignment-json-file", plan)
    await eventually(lambda: says(command, verify, done))


async def says(command: Command, arguments: tuple[str, ...], line: str) -> bool:
    return line in (await command(*arguments)).lines


async def test_236_11_a_lease_is_of_a_throttle(command: Command, files: Files) -> None:
    output = await command("--execute", "--lease", "--reassignment-json-file", files.plan("nope", (0, [1])))
    assert (output.code, output.out) == (1, f"Error: {LEASE_NEEDS_THROTTLE}\n")
