"""Request znodes, moves in flight and a batch, and a controller that dies between any two of its writes.

Requests are durable before any controller has seen them: so whether the one that died was done with them or not, all
ends in the same place.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from kafka_reassign_rpc.core.kafka_errors import NotController
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
    Step,
    check_end,
    complete,
    every_death,
    is_over_before_death,
)


async def request_first(controller: BareController) -> object:
    """Three requests. The last one changes a target of the first one."""
    await put_request(controller.zk, {("a", 0): (5, 6)})
    await put_request(controller.zk, {("a", 1): FIRST["a", 1], ("b", 0): FIRST["b", 0]})
    return await put_request(controller.zk, {("a", 0): FIRST["a", 0]})


async def request_nonsense_and_first(controller: BareController) -> object:
    for data in (b"", b"{", b'{"version":1,"assignments":{"a":{"0":"x"},"nope":{"0":[1]}}}'):
        await put_request(controller.zk, data)
    return await put_request(controller.zk, {("nope", 0): (1, 2), ("a", 0): (1, 1), **FIRST, ("a", 7): (1,)})


async def request_second(controller: BareController) -> object:
    return await put_request(controller.zk, SECOND)


async def request_back(controller: BareController) -> object:
    return await put_request(controller.zk, ORIGIN)


async def request_second_in_the_batchs_name(controller: BareController) -> object:
    return await put_request(controller.zk, SECOND, legacy=True)


async def start_first(controller: BareController) -> object:
    return await controller.alter(FIRST)


async def start_requests(controller: BareController) -> None:
    await controller.start_requests()


async def batch_first(controller: BareController) -> None:
    await controller.zk.create(znode_paths.REASSIGN_PARTITIONS, batch(FIRST))
    await controller.read_admin_znodes()


async def half_way(controller: BareController) -> object:
    return await controller.isr(("a", 0), (2, 1, 3))


class Story(NamedTuple):
    """The steps before, the step in which the controller dies, and the end of all partitions, answered or not."""

    before: tuple[Step, ...]
    dies_in: Step
    end: Mapping[Name, Replicas]


STORIES = {
    "requests": Story((request_first,), start_requests, FIRST),
    "requests among nonsense": Story((request_nonsense_and_first,), start_requests, FIRST),
    "a client's moves get other targets": Story((start_first, half_way, request_second), start_requests, SECOND),
    "requests' moves get other targets": Story(
        (request_first, start_requests, half_way, request_second), start_requests, SECOND
    ),
    "requests' moves are taken back": Story((request_first, start_requests, request_back), start_requests, ORIGIN),
    "requests' moves are completed": Story((request_first, start_requests), complete, FIRST),
    "the batch's moves are not": Story((batch_first, request_second), start_requests, FIRST),
    "but by requests in its name": Story((batch_first, request_second_in_the_batchs_name), start_requests, SECOND),
}


async def nothing_is_left(zk: ZooKeeper) -> None:
    assert await zk.children(znode_paths.REASSIGNMENT_REQUESTS) == []
    assert await batch_json(zk) is None


async def live_through(zk: ZooKeeper, connect: str, story: Story, lives: int) -> bool:
    answered = await is_over_before_death(connect, story.before, (story.dies_in,), lives)
    async with elected_controller(connect) as successor:
        await successor.start_requests()
        await check_end(zk, successor, (story.end,), answered=answered, died_after=lives)
    await nothing_is_left(zk)
    return answered


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
async def test_236_10_the_next_controller_completes_what_one_left_between_any_two_writes(
    zk_connect: str, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live(zk: ZooKeeper, connect: str, lives: int) -> bool:
        return await live_through(zk, connect, story, lives)

    await every_death(zk_connect, monkeypatch, live)


async def test_236_10_moves_then_requests_then_a_batch_continue_however_often_the_controller_dies(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client has started a move, a request another one. Then, with no controller, a request and a batch are created.

    The batch may not change moves of requests, but it may change the client's move.
    """

    async def live(zk: ZooKeeper, connect: str, lives: int) -> bool:
        async with elected_controller(connect) as controller:
            await controller.alter({("a", 0): FIRST["a", 0]})
            await put_request(controller.zk, {("a", 1): FIRST["a", 1]})
            await controller.start_requests()
            await half_way(controller)
        await put_request(zk, {("b", 0): FIRST["b", 0]})
        await zk.create(znode_paths.REASSIGN_PARTITIONS, batch(SECOND))

        over = False
        try:
            async with elected_controller(connect, lives=lives) as dying:
                await dying.start_requests()
                over = True
        except NotController:
            pass
        async with elected_controller(connect) as successor:
            await successor.start_requests()
            end = {("a", 0): SECOND["a", 0], ("a", 1): FIRST["a", 1], ("b", 0): FIRST["b", 0]}
            await check_end(zk, successor, (end,), answered=True, died_after=lives)
        await nothing_is_left(zk)
        return over

    await every_death(zk_connect, monkeypatch, live)


async def test_236_8_a_request_does_not_start_a_move_again_after_a_client_has_cancelled_it(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is deleted before a client gets an answer."""

    async def live(zk: ZooKeeper, connect: str, lives: int) -> bool:
        cancelled = False
        async with elected_controller(connect) as controller:
            await put_request(zk, FIRST)
            controller.zk.lives = lives
            try:
                await controller.start_requests()
                answers = await controller.alter({("a", 0): None})
                cancelled = answers == {("a", 0): None}
            except NotController:
                pass
        async with elected_controller(connect) as successor:
            await successor.start_requests()
            ends = [{**FIRST, ("a", 0): ORIGIN["a", 0]}, FIRST]
            await check_end(zk, successor, ends, answered=cancelled, died_after=lives)
        return cancelled

    await every_death(zk_connect, monkeypatch, live)
