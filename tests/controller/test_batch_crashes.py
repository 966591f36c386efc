"""KIP-236's znodes and a controller that dies between any two writes of what it does about them.

Every write is a transaction of its own. Whoever comes next finds the znodes as they are and brings all to the end that
the one before was bringing it to.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import pytest

from kafka_reassign_rpc.controller import store
from kafka_reassign_rpc.core.errors import NotController
from kafka_reassign_rpc.zookeeper import paths
from kafka_reassign_rpc.zookeeper.session import ZooKeeper
from tests.controller.rig import Name, Replicas, Rig, batch, batch_json, office, put_topic, records, register

NAMES: tuple[Name, ...] = (("a", 0), ("a", 1), ("b", 0))
ORIGIN: Mapping[Name, Replicas] = {("a", 0): (2, 1), ("a", 1): (1, 2, 3), ("b", 0): (1,)}
TARGET: Mapping[Name, Replicas] = {("a", 0): (3, 4), ("a", 1): (3, 5), ("b", 0): (2, 1)}
ALTERED: Mapping[Name, Replicas] = {("a", 0): (5, 6), ("a", 1): (6, 5, 1), ("b", 0): (6,)}


async def submit(controller: Rig) -> None:
    await controller.zk.ensure_path("/admin")
    await controller.zk.create(paths.REASSIGN_PARTITIONS, batch(TARGET))


async def look(controller: Rig) -> None:
    await controller.look()


async def half_way(controller: Rig) -> None:
    """One is done, another has a new leader and a new replica in sync, the third has got nowhere."""
    await controller.caught_up(("b", 0))
    await controller.isr(("a", 0), (2, 1, 3))


async def complete(controller: Rig) -> None:
    for name in NAMES:
        if controller.partition(*name).is_moving:
            await controller.caught_up(name)


async def request_cancel(controller: Rig) -> None:
    await controller.zk.create(paths.CANCEL_IN_PROGRESS, b"")


async def alter(controller: Rig) -> None:
    await controller.alter(ALTERED)


async def alter_to_cancel(controller: Rig) -> None:
    await controller.alter({name: None for name in NAMES if controller.partition(*name).is_moving})


class Story(NamedTuple):
    """What has happened before, what the controller dies in, and where partitions end; the first if it was answered."""

    before: tuple[Callable[[Rig], Awaitable[None]], ...]
    dies_in: Callable[[Rig], Awaitable[None]]
    ends: tuple[Mapping[Name, Replicas], ...]


HALF = {**ORIGIN, ("b", 0): TARGET["b", 0]}

STORIES = {
    "a batch that is taken up": Story((submit,), look, (TARGET,)),
    "a batch that is completed": Story((submit, look), complete, (TARGET,)),
    "a cancel of all": Story((submit, look, request_cancel), look, (ORIGIN,)),
    "a cancel of all half-way": Story((submit, look, half_way, request_cancel), look, (HALF,)),
    "a cancel before anything starts": Story((submit, request_cancel), look, (ORIGIN,)),
    "clients' targets": Story((submit, look), alter, (ALTERED, TARGET)),
    "clients' cancels": Story((submit, look), alter_to_cancel, (ORIGIN, TARGET)),
}


async def live_through(zk: ZooKeeper, connect: str, story: Story, lives: int) -> bool:
    answered = False
    async with office(connect) as controller:
        for step in story.before:
            await step(controller)
        controller.zk.lives = lives
        try:
            await story.dies_in(controller)
            answered = True
        except NotController:
            pass
    found = await batch_json(zk)
    if found is not None:
        for topic in await zk.children(paths.REASSIGNMENTS):
            for index in await zk.children(paths.reassignment_topic(topic)):
                entry = found.get((topic, int(index)))
                if entry is not None and story.dies_in is look and await controller_has_started(zk, topic, int(index)):
                    assert entry["original_replicas"] == list(ORIGIN[topic, int(index)]), "before anything moves"
    async with office(connect) as successor:
        await successor.check()
        await successor.settle()
        await successor.check()
        for name in NAMES:
            value = successor.partition(*name)
            ends = [story.ends[0][name]] if answered else [end[name] for end in story.ends]
            assert value.replicas in ends, f"{name} after {lives} transactions"
            assert (value.adding, value.removing, value.retired) == ((), (), ())
    assert await records(zk) == set()
    assert await batch_json(zk) is None
    assert await zk.exists(paths.CANCEL_IN_PROGRESS) is None
    return answered


async def controller_has_started(zk: ZooKeeper, topic: str, index: int) -> bool:
    """The topic znode says that the partition moves."""

    found = json.loads((await zk.get(paths.topic(topic)))[0])
    return str(index) in found["adding_replicas"] or str(index) in found["removing_replicas"]


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
async def test_236_10_a_controller_that_dies_between_any_two_writes_is_made_good(
    zk: ZooKeeper, zk_connect: str, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_OPERATIONS", 1)
    lives = 0
    while True:
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as world:
            await register(world, 1, 2, 3, 4, 5, 6)
            for topic in ("a", "b"):
                await put_topic(
                    world, topic, {index: ORIGIN[topic, index] for name, index in NAMES if name == topic}, topic_id=None
                )
            if await live_through(world, connect, story, lives):
                break
        lives += 1
    assert lives >= 2, "so many transactions can be died between"
