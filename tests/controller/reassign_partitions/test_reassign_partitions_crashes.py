"""KIP-236's znodes and a controller that dies between any two of its writes.

The next controller finds the znodes as they are and brings all to the end that the one before was bringing it to.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    Name,
    Replicas,
    batch,
    batch_json,
    elected_controller,
    put_request,
)
from tests.controller.crash_points import (
    FIRST,
    ORIGIN,
    SECOND,
    Ends,
    Step,
    cancel,
    check_end,
    complete,
    every_death,
    is_over_before_death,
)

ALTERED: Mapping[Name, Replicas] = {("a", 0): (5, 6), ("a", 1): (6, 5, 1), ("b", 0): (6,)}


async def submit(controller: BareController) -> None:
    await controller.zk.ensure_path("/admin")
    await controller.zk.create(znode_paths.REASSIGN_PARTITIONS, batch(FIRST))


async def look(controller: BareController) -> None:
    await controller.read_admin_znodes()


async def half_way(controller: BareController) -> None:
    """One move is complete, another has a new leader and a new replica in sync, the third has made no progress."""
    await controller.caught_up(("b", 0))
    await controller.isr(("a", 0), (2, 1, 3))


async def request_cancel(controller: BareController) -> None:
    await controller.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")


async def request_second_in_the_batchs_name(controller: BareController) -> None:
    """Other targets, by a request znode that counts as the batch: the entries leave, the moves go on."""
    await put_request(controller.zk, SECOND, legacy=True)
    await controller.start_requests()


async def alter(controller: BareController) -> None:
    await controller.alter(ALTERED)


class Story(NamedTuple):
    """The steps before, the step in which the controller dies, and the states in which partitions may end."""

    before: tuple[Step, ...]
    dies_in: Step
    ends: Ends


async def lose_the_original_replicas(controller: BareController) -> None:
    """The original replicas are removed from an entry: its move must not be cancelled."""
    found = json.loads((await controller.zk.get(znode_paths.REASSIGN_PARTITIONS))[0])
    for entry in found["partitions"]:
        if (entry["topic"], entry["partition"]) == ("a", 0):
            del entry["original_replicas"]
    await controller.zk.set(znode_paths.REASSIGN_PARTITIONS, json.dumps(found).encode())
    await controller.read_admin_znodes()


HALF = {**ORIGIN, ("b", 0): FIRST["b", 0]}
PASSED = {**ORIGIN, ("a", 0): FIRST["a", 0]}

STORIES = {
    "a batch that is taken up": Story((submit,), look, (FIRST,)),
    "a batch that is completed": Story((submit, look), complete, (FIRST,)),
    "a cancel of all": Story((submit, look, request_cancel), look, (ORIGIN,)),
    "a cancel of all half-way": Story((submit, look, half_way, request_cancel), look, (HALF,)),
    "a cancel that passes over": Story((submit, look, lose_the_original_replicas, request_cancel), look, (PASSED,)),
    "a cancel before anything starts": Story((submit, request_cancel), look, (ORIGIN,)),
    "a cancel of moves without entries": Story((request_second_in_the_batchs_name, request_cancel), look, (ORIGIN,)),
    "a cancel of moves that have lost their entries": Story(
        (submit, look, request_second_in_the_batchs_name, request_cancel), look, (ORIGIN,)
    ),
    "clients' targets": Story((submit, look), alter, (ALTERED, FIRST)),
    "clients' cancels": Story((submit, look), cancel, (ORIGIN, FIRST)),
}


async def live_through(zk: ZooKeeper, connect: str, story: Story, lives: int) -> bool:
    answered = await is_over_before_death(connect, story.before, (story.dies_in,), lives)
    found = await batch_json(zk)
    if found is not None and lose_the_original_replicas not in story.before:
        for topic in await zk.children(znode_paths.REASSIGNMENTS):
            for index in await zk.children(znode_paths.reassignment_topic(topic)):
                entry = found.get((topic, int(index)))
                if entry is not None and story.dies_in is look and await controller_has_started(zk, topic, int(index)):
                    assert entry["original_replicas"] == list(ORIGIN[topic, int(index)]), "before anything moves"
    async with elected_controller(connect) as successor:
        await check_end(zk, successor, story.ends, answered=answered, died_after=lives)
    assert await batch_json(zk) is None
    assert await zk.exists(znode_paths.CANCEL_IN_PROGRESS) is None
    return answered


async def controller_has_started(zk: ZooKeeper, topic: str, index: int) -> bool:
    """The topic znode says that the partition moves."""

    found = json.loads((await zk.get(znode_paths.topic(topic)))[0])
    return str(index) in found["adding_replicas"] or str(index) in found["removing_replicas"]


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
async def test_236_10_the_next_controller_completes_what_one_left_between_any_two_writes(
    zk_connect: str, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live(zk: ZooKeeper, connect: str, lives: int) -> bool:
        return await live_through(zk, connect, story, lives)

    await every_death(zk_connect, monkeypatch, live)
