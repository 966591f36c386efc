"""Moves that really wait: a cap lets one start at a time, and both tools are asked about all of them (236-13).

Every move here is held until its topic is released, so what moves and what waits stays the same while it is looked at.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.interop.clusters import Ours
from tests.processes import ended
from tests.reassign_command.run_command import Command, Files
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.tools import Output, Tools
from tests.waiting import eventually

pytestmark = [pytest.mark.gate, pytest.mark.stock, pytest.mark.asyncio(loop_scope="package")]

CAP = "partition.reassignments.max.per.broker"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def servers(ours: Ours) -> AsyncIterator[Ours]:
    """Two servers."""
    async with ours.standby():
        yield ours


@pytest_asyncio.fixture(loop_scope="package")
async def command(servers: Ours) -> AsyncIterator[Command]:
    """A cluster in which each broker takes part in one move at a time."""
    host, port = await servers.address(3)
    await servers.set_rates()
    command = Command(f"{host}:{port}")
    assert (await command("settings", "--set", f"{CAP}=1")).code == 0
    yield command
    await command("--cancel", "--preserve-throttles")
    assert (await command("settings", "--delete", CAP)).code == 0


async def states(command: Command) -> dict[str, str]:
    listed = (await command.json("--list"))["reassignments"]
    return {f"{one['topic']}-{one['partition']}": one["state"] for one in listed}


async def test_236_13_both_tools_show_verify_and_cancel_moves_that_wait_also_after_a_failover(
    command: Command, servers: Ours, files: Files
) -> None:
    require(BROKER_VERSION)
    await servers.create_topic("capped", {0: [1, 2], 1: [1, 3], 2: [1, 4]}, held=True)
    all_three = files.plan("capped", (0, [5, 2]), (1, [5, 3]), (2, [5, 4]))
    host, port = await servers.address(2)
    with Tools(BROKER_VERSION) as tools:

        async def stock(*args: str) -> Output:
            output = await tools.run("reassign-partitions", "--bootstrap-server", f"{host}:{port}", *args)
            assert (output.code, output.err) == (0, ""), output
            return output

        executed = await stock("--execute", "--reassignment-json-file", all_three)
        started = "Successfully started partition reassignments for capped-0,capped-1,capped-2"
        assert executed.lines[-1] == started
        listed = await stock("--list")
        assert listed.lines == [
            "Current partition reassignments:",
            "capped-0: replicas: 5,2,1. adding: 5. removing: 1.",
            "capped-1: replicas: 1,3. adding: 5. removing: 1.",
            "capped-2: replicas: 1,4. adding: 5. removing: 1.",
        ]
        still = [f"Reassignment of partition capped-{index} is still in progress." for index in range(3)]
        verified = await stock("--verify", "--reassignment-json-file", all_three)
        assert verified.lines == ["Status of partition reassignment:", *still]
        assert await states(command) == {"capped-0": "moving", "capped-1": "waiting", "capped-2": "waiting"}

        await servers.fail_over()

        assert (await stock("--list")).lines == listed.lines
        one = files.plan("capped", (1, [5, 3]))
        cancelled = await stock("--cancel", "--preserve-throttles", "--reassignment-json-file", one)
        assert "Successfully cancelled partition reassignment for: capped-1" in cancelled.lines
    verified = await command("--verify-queue", "--reassignment-json-file", all_three)
    assert (verified.code, verified.lines[1:]) == (
        1,
        [
            still[0],
            "There is no active reassignment of partition capped-1, but replica set is 1,3 rather than 5,3.",
            "Reassignment of partition capped-2 is waiting in the queue.",
        ],
    )
    described = await command("describe")
    in_flight, partition, _, *waiting = described.lines
    assert in_flight.startswith("1 move by rpc, started ")
    assert partition.startswith("  capped-0, id ")
    assert waiting == [
        "1 waiting move by rpc",
        "  capped-2, adds 5, waits for room on broker 5: at most 1 move in flight there",
    ]
    cancelled = await command("--cancel")
    assert cancelled.lines[0] == "Successfully cancelled partition reassignments for: capped-0,capped-2"
    assert await states(command) == {}
    assert await servers.znodes.exists(znode_paths.REASSIGN_QUEUE) is None


async def test_236_12_what_is_queued_for_a_reason_is_shown_with_it_and_watched_to_its_end(
    command: Command, servers: Ours, files: Files
) -> None:
    await servers.create_topic("awaited", {0: [1, 2], 1: [1, 3]}, held=True)
    plan = files.plan("awaited", (0, [4, 2]), (1, [4, 3]))
    for_a_reason = ("--reassignment-json-file", plan, "--reason", "broker 1 is to go")
    queued = await command("--execute-queue", *for_a_reason)
    assert queued.code == 0
    held = "warning: 2 moves are held by a throttle that is already set: awaited-0, awaited-1; 1 B/s to receive on"
    assert queued.err.startswith(held)
    assert queued.lines[-1] == "Successfully queued partition reassignments for awaited-0,awaited-1"

    async def one_moves() -> bool:
        return await states(command) == {"awaited-0": "moving", "awaited-1": "waiting"}

    await eventually(one_moves)
    assert (await command("--list")).lines[1:] == [
        "awaited-0: replicas: 4,2,1. adding: 4. removing: 1. route: queue. reason: broker 1 is to go",
        "awaited-1: replicas: 1,3. adding: 4. removing: 1. waiting. route: queue. reason: broker 1 is to go",
    ]
    described = await command.json("describe")
    for [one] in (described["reassignments"], described["waiting"]):
        assert (one["route"], one["reason"]) == ("queue", "broker 1 is to go")
    assert (await command("--verify-queue", "--reassignment-json-file", plan)).code == 2

    shown = asyncio.Event()
    watching = asyncio.create_task(command("watch", "--json", first_line=shown))
    await shown.wait()
    await servers.release("awaited")
    looks = [json.loads(line) for line in (await watching).lines]
    assert (looks[0]["waiting"], looks[-1]["waiting"], looks[-1]["moves"]) == (1, 0, [])

    async def done() -> bool:  # the broker that is asked learns of the end a moment late
        return (await command("--verify-queue", "--preserve-throttles", "--reassignment-json-file", plan)).code == 0

    await eventually(done)


async def test_sv_7_events_are_followed_across_a_failover(command: Command, servers: Ours, files: Files) -> None:
    await servers.create_topic("followed", {0: [1, 2], 1: [1, 2]}, held=True)
    host, port = await servers.address(3)
    follower = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kafka_reassign_rpc.reassign_command.main", "--bootstrap-server", f"{host}:{port}"),
        *("events", "--follow", "--json"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert follower.stdout is not None
    told: list[dict[str, Any]] = []

    async def until(event: str, index: int) -> int:
        """The server that has recorded the event."""
        assert follower.stdout is not None
        while True:
            told.append(json.loads(await follower.stdout.readline()))
            if (told[-1]["event"], told[-1].get("topic"), told[-1].get("partition")) == (event, "followed", index):
                return int(told[-1]["server"])

    try:
        async with asyncio.timeout(240):
            before = servers.controller_id
            await command("--execute", "--reassignment-json-file", files.plan("followed", (0, [3, 4])))
            assert await until("move.started", 0) == before
            await servers.fail_over()
            await command("--cancel", "--reassignment-json-file", files.plan("followed", (0, [3, 4])))
            assert await until("move.cancelled", 0) == servers.controller_id != before
    finally:
        await ended(follower)
    assert sum(one["event"] == "move.started" and one["topic"] == "followed" for one in told) == 1, "told once"
