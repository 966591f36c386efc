"""A partition whose move changes: what the command shows of its target, and of a move that waits behind it."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import SIZE, Cluster, cluster
from tests.http_client import get
from tests.reassign_command.run_command import Command, Files
from tests.waiting import eventually

HELD = ("held", 0)


@pytest_asyncio.fixture
async def world(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, event_log=tmp_path / "events", metrics=True) as made:
        await made.create_topic("held", {0: (1, 2)}, held=True)
        yield made


async def what_is_copied(command: Command) -> str:
    """Of the only move that `describe` shows: what comes after the bytes."""
    output = await command("describe")
    assert (output.code, output.err, len(output.lines)) == (0, "", 3)
    return output.lines[2].rpartition("; ")[2].strip()


async def test_240_1_describe_names_the_adding_replicas_alone_also_after_a_change_of_target(world: Cluster) -> None:
    command = Command(world.bootstrap)
    for target, adding, removing in (
        ((2, 5, 1), [5], []),
        ((2, 3), [3], [1]),
        ((4, 2, 3, 1), [4, 3], []),
        ((1, 4), [4], [2]),
    ):
        assert set((await world.alter({HELD: target})).values()) == {(0, None)}
        assert await what_is_copied(command) == "to " + ", ".join(f"{broker} (1 B/s)" for broker in adding)
        [found] = (await command.json("describe"))["reassignments"]
        assert (found["adding_replicas"], found["removing_replicas"]) == (adding, removing)
        assert [one["broker"] for one in found["new_assigned"]] == list(target)


async def test_240_1_describe_says_that_a_move_which_adds_nothing_copies_nothing(world: Cluster) -> None:
    await world.kill_broker(2)

    async def is_alone() -> bool:
        return not await world.in_sync(HELD, 2)

    await eventually(is_alone)
    assert await world.alter({HELD: (2,)}) == {HELD: (0, None)}
    assert await what_is_copied(Command(world.bootstrap)) == "removes 1"


async def test_236_12_move_leaders_has_the_named_replica_lead_at_once_and_says_the_way_back(world: Cluster) -> None:
    await world.create_topic("ready", {0: (1, 2, 3)})
    command = Command(world.bootstrap)

    async def leads() -> tuple[int, list[int]]:
        [found] = (await command.json("describe-topic", "ready"))["partitions"]
        return found["leader"], found["replicas"]

    output = await command("move", "ready", "-p", "0:3", "--leaders")
    assert (output.code, output.err) == (0, "")
    assert await leads() == (3, [3, 1, 2])
    back = output.lines[-1].removeprefix("The way back: kafka-reassign ")
    assert (await command(*back.split())).code == 0
    assert await leads() == (1, [1, 2, 3])


async def test_236_12_a_move_that_waits_while_its_partition_moves_is_shown_next_to_the_one_in_flight(
    world: Cluster, files: Files
) -> None:
    command = Command(world.bootstrap)
    assert await world.alter({HELD: (3, 2)}, reason="first") == {HELD: (0, None)}
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    await eventually(lambda: world.disabled(HELD))
    assert await world.alter({HELD: (2, 4)}, queue=True, reason="second") == {HELD: (0, None)}
    assert await world.states() == {HELD: "moving"}, "clients of KIP-455 see one move of a partition"

    listed = (await command("--list")).lines
    assert listed[1:] == [
        "held-0: replicas: 3,2,1. adding: 3. removing: 1. reason: first",
        "held-0: replicas: 3,2. adding: 4. removing: 3. waiting. route: queue. reason: second",
    ]
    documents = (await command.json("--list"))["reassignments"]
    assert [(one["state"], one["adding_replicas"]) for one in documents] == [("moving", [3]), ("waiting", [4])]

    described = (await command("describe")).lines
    waits = "held-0, adds 4, waits for reassignments to be enabled: /admin/reassign_cancel exists"
    assert described[3] == "1 waiting move by queue: second"
    assert " ".join(line.strip() for line in described[4:]) == waits
    document = await command.json("describe")
    assert [one["adding_replicas"] for one in (*document["reassignments"], *document["waiting"])] == [[3], [4]]

    async def is_measured() -> bool:
        body = (await get(world.metrics_address, "/api/v1/status")).body
        return json.loads(body)["totals"]["bytes_total"] is not None

    await eventually(is_measured)
    status = (await command("status")).lines
    assert any(line.startswith("1 move in flight, 1 waiting: ") for line in status)
    rows = [row.group() for row in re.finditer(r"^held-0 .*\n(?: .*\n)*", "\n".join([*status, ""]), re.MULTILINE)]
    assert ["[1, 2]" in rows[0], "[3, 2]" in rows[0], "first" in rows[0]] == [True] * 3
    assert ["[3, 2]" in rows[1], "[2, 4]" in rows[1], "waits" in rows[1], "second" in rows[1]] == [True] * 4
    document = await command.json("status")
    totals = json.loads((await get(world.metrics_address, "/api/v1/status")).body)["totals"]
    assert (document["waiting"], totals["in_flight"], totals["waiting"]) == (1, 1, {"queue": 1})
    moving, waiting = document["moves"]
    assert (moving["state"], moving["adding"], moving["total_bytes"]) == ("moving", [3], SIZE)
    assert (waiting["state"], waiting["adding"], waiting["total_bytes"]) == ("waiting", [4], SIZE)

    plans = [files.plan("held", (0, target)) for target in ((2, 4), (3, 2))]
    verified = await command("--verify-queue", "--reassignment-json-file", plans[0])
    assert (verified.code, verified.lines[1]) == (2, "Reassignment of partition held-0 is waiting in the queue.")
    verified = await command("--verify-queue", "--reassignment-json-file", plans[1])
    assert verified.code == 1
    assert "is waiting in the queue, but to replica set 2,4 rather than 3,2." in verified.lines[1]

    assert (await command("--cancel")).code == 0
    await eventually(lambda: world.has((*HELD, (1, 2))))
    assert await world.queue_gone()
