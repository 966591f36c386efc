"""Requests by znode, moves under way and a batch, and a controller that dies between any two writes of what it does.

Requests are durable before any controller has seen them: so whether the one that died was done with them or not, all
ends in the same place.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.crash_points import ORIGIN, Step, check_end, complete, every_death, is_over_before_death
from tests.controller.rig import Name, Replicas, Rig, batch, batch_json, office, put_request

FIRST: Mapping[Name, Replicas] = {("a", 0): (3, 4), ("a", 1): (3, 5), ("b", 0): (2, 1)}
SECOND: Mapping[Name, Replicas] = {("a", 0): (4, 5), ("a", 1): (6, 5, 1), ("b", 0): (6,)}


async def request_first(controller: Rig) -> object:
    """In three requests, of which the last one changes its mind about what the first one wants."""
    await put_request(controller.zk, {("a", 0): (5, 6)})
    await put_request(controller.zk, {("a", 1): FIRST["a", 1], ("b", 0): FIRST["b", 0]})
    return await put_request(controller.zk, {("a", 0): FIRST["a", 0]})


async def request_nonsense_and_first(controller: Rig) -> object:
    for data in (b"", b"{", b'{"version":1,"assignments":{"a":{"0":"x"},"nope":{"0":[1]}}}'):
        await put_request(controller.zk, data)
    return await put_request(controller.zk, {("nope", 0): (1, 2), ("a", 0): (1, 1), **FIRST, ("a", 7): (1,)})


async def request_second(controller: Rig) -> object:
    return await put_request(controller.zk, SECOND)


async def request_back(controller: Rig) -> object:
    return await put_request(controller.zk, ORIGIN)


async def request_second_for_one(controller: Rig) -> object:
    return await put_request(controller.zk, {("b", 0): SECOND["b", 0]})


async def request_second_as_legacy(controller: Rig) -> object:
    return await put_request(controller.zk, SECOND, legacy=True)


async def start_first(controller: Rig) -> object:
    return await controller.alter(FIRST)


async def take_requests(controller: Rig) -> None:
    await controller.take_requests()


async def batch_first(controller: Rig) -> None:
    await controller.zk.create(znode_paths.REASSIGN_PARTITIONS, batch(FIRST))
    await controller.look()


async def half_way(controller: Rig) -> object:
    return await controller.isr(("a", 0), (2, 1, 3))


class Story(NamedTuple):
    """What has happened before, what the controller dies in, and where partitions end, answered or not."""

    before: tuple[Step, ...]
    dies_in: Step
    end: Mapping[Name, Replicas]


STORIES = {
    "requests": Story((request_first,), take_requests, FIRST),
    "requests among nonsense": Story((request_nonsense_and_first,), take_requests, FIRST),
    "a client's moves get other targets": Story((start_first, half_way, request_second), take_requests, SECOND),
    "requests' moves get other targets": Story(
        (request_first, take_requests, half_way, request_second), take_requests, SECOND
    ),
    "requests' moves are taken back": Story((request_first, take_requests, request_back), take_requests, ORIGIN),
    "requests' moves are completed": Story((request_first, take_requests), complete, FIRST),
    "the batch's moves are not": Story((batch_first, request_second), take_requests, FIRST),
    "but by requests in its name": Story((batch_first, request_second_as_legacy), take_requests, SECOND),
}


async def nothing_is_left(zk: ZooKeeper) -> None:
    assert await zk.children(znode_paths.REASSIGNMENT_REQUESTS) == []
    assert await batch_json(zk) is None


async def live_through(zk: ZooKeeper, connect: str, story: Story, lives: int) -> bool:
    answered = await is_over_before_death(connect, story.before, (story.dies_in,), lives)
    async with office(connect) as successor:
        await successor.take_requests()
        await check_end(zk, successor, (story.end,), answered=answered, died_after=lives)
    await nothing_is_left(zk)
    return answered


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
async def test_236_10_a_controller_that_dies_between_any_two_writes_is_made_good(
    zk_connect: str, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live(zk: ZooKeeper, connect: str, lives: int) -> bool:
        return await live_through(zk, connect, story, lives)

    await every_death(zk_connect, monkeypatch, live)


async def test_236_10_moves_then_requests_then_a_batch_are_taken_up_however_often_the_controller_dies(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three at once: a client has started a move, a request another one, and then, with nobody there, a request
    and a batch were made. The batch may not have what the requests have; it may have what the client had."""

    async def live(zk: ZooKeeper, connect: str, lives: int) -> bool:
        async with office(connect) as controller:
            await controller.alter({("a", 0): FIRST["a", 0]})
            await put_request(controller.zk, {("a", 1): FIRST["a", 1]})
            await controller.take_requests()
            await half_way(controller)
        await put_request(zk, {("b", 0): FIRST["b", 0]})
        await zk.create(znode_paths.REASSIGN_PARTITIONS, batch(SECOND))

        over = False
        try:
            async with office(connect, lives=lives) as mortal:
                await mortal.take_requests()
                over = True
        except NotController:
            pass
        async with office(connect) as successor:
            await successor.take_requests()
            end = {("a", 0): SECOND["a", 0], ("a", 1): FIRST["a", 1], ("b", 0): FIRST["b", 0]}
            await check_end(zk, successor, (end,), answered=True, died_after=lives)
        await nothing_is_left(zk)
        return over

    await every_death(zk_connect, monkeypatch, live)


async def test_236_8_what_a_client_was_told_is_cancelled_is_not_started_again_by_the_request_that_started_it(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is gone before anybody can be answered."""

    async def live(zk: ZooKeeper, connect: str, lives: int) -> bool:
        cancelled = False
        async with office(connect) as controller:
            await put_request(zk, FIRST)
            controller.zk.lives = lives
            try:
                await controller.take_requests()
                answers = await controller.alter({("a", 0): None})
                cancelled = answers == {("a", 0): None}
            except NotController:
                pass
        async with office(connect) as successor:
            await successor.take_requests()
            ends = [{**FIRST, ("a", 0): ORIGIN["a", 0]}, FIRST]
            await check_end(zk, successor, ends, answered=cancelled, died_after=lives)
        return cancelled

    await every_death(zk_connect, monkeypatch, live)
