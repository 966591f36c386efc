"""A partition whose move changes: what the command shows of its target, and of a move that waits behind it."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.controller.cluster import Cluster, cluster
from tests.reassign_command.run_command import Command

HELD = ("held", 0)


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        await made.create_topic("held", {0: (1, 2)}, held=True)
        yield made


async def what_is_copied(command: Command) -> str:
    """Of the only move that --describe shows: what comes after the bytes."""
    output = await command("--describe")
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
        [found] = (await command.json("--describe"))["reassignments"]
        assert (found["adding_replicas"], found["removing_replicas"]) == (adding, removing)
        assert [one["broker"] for one in found["new_assigned"]] == list(target)


async def test_240_1_describe_says_that_a_move_which_adds_nothing_copies_nothing(world: Cluster) -> None:
    await world.kill_broker(2)
    assert await world.alter({HELD: (2,)}) == {HELD: (0, None)}
    assert await what_is_copied(Command(world.bootstrap)) == "removes 1"
