"""A topic's znodes vanish in a campaign, and come back as they were."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import Unknown
from tests.controller.bare_controller import put_topic
from tests.waiting import eventually

from . import topic_steps
from .security import OPEN
from .site import SERVER_IDS, Site
from .topic_steps import vanish_topic

PATH = znode_paths.topic("t")
OURS = SERVER_IDS["a"]


class Disturbed:
    """The real ZooKeeper, but a state is written just before the first transaction, and each one's answer is lost."""

    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk
        self.made: list[type[Op]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._zk, name)

    async def multi(self, ops: Sequence[Op]) -> None:
        if not self.made:
            await self._zk.set(znode_paths.partition_state("t", 1), b"written meanwhile")
        self.made.append(type(ops[0]))
        await self._zk.multi(ops)
        raise Unknown


async def site_of(zk: ZooKeeper, controller: int, client: object = None) -> Site:
    """A topic of two partitions, and a controller that does nothing."""
    await put_topic(zk, "t", {0: (1, 2), 1: (2, 3)})
    await zk.create(znode_paths.CONTROLLER, b'{"brokerid":%d}' % controller)
    nothing = cast(Any, None)
    site = Site(Path(), nothing, cast(ZooKeeper, client or zk), nothing, OPEN)
    site.stock = cast(Any, type("Stock", (), {"brokers": {1: None, 2: None, 3: None}}))
    site.topic_ids["t"] = json.loads((await zk.get(PATH))[0])["topic_id"]
    return site


async def znodes_of(zk: ZooKeeper) -> dict[str, bytes]:
    return {path: (await zk.get(path))[0] for path in await zk.tree(PATH)}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody controls in most of these tests."""
    monkeypatch.setattr(topic_steps, "SEIZED_WITHIN_S", 0.5)


async def test_hm_2_the_step_ends_once_what_was_put_back_is_taken_up(
    zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_steps, "SEIZED_WITHIN_S", 60.0)
    site = await site_of(zk, OURS)
    created = (await zk.get(PATH))[1].czxid
    step = asyncio.create_task(vanish_topic(site, "t", 0.0))

    async def is_back() -> bool:
        stat = await zk.exists(PATH)
        return stat is not None and stat.czxid > created

    await eventually(is_back)
    for index in (0, 1):
        assert not step.done()
        await zk.set(znode_paths.partition_state("t", index), b"taken up")
    assert "were gone" in await step


async def test_hm_2_znodes_come_back_as_they_were_when_they_vanished_though_answers_are_lost(zk: ZooKeeper) -> None:
    disturbed = Disturbed(zk)
    site = await site_of(zk, OURS, disturbed)
    before, created = await znodes_of(zk), (await zk.get(PATH))[1].czxid
    assert await vanish_topic(site, "t", 0.0) == f"{len(before)} znodes were gone for 0 s"
    assert await znodes_of(zk) == before | {znode_paths.partition_state("t", 1): b"written meanwhile"}
    assert (await zk.get(PATH))[1].czxid > created
    # The first deletion was refused: it would have lost what was written meanwhile.
    assert disturbed.made == [Delete, Delete, Create]


async def test_hm_2_no_znode_vanishes_while_a_stock_broker_controls(zk: ZooKeeper) -> None:
    site = await site_of(zk, 1)
    created = (await zk.get(PATH))[1].czxid
    assert await vanish_topic(site, "t", 0.0) == "nothing: a stock broker controls"
    assert (await zk.get(PATH))[1].czxid == created


async def test_hm_2_what_has_vanished_comes_back_once_a_server_of_ours_controls_and_no_hand_over_begins_before(
    zk: ZooKeeper,
) -> None:
    site = await site_of(zk, OURS)
    await zk.ensure_path(znode_paths.DELETE_TOPICS)

    async def is_gone() -> bool:
        return await zk.exists(PATH) is None

    controllers = iter([False, True, True, False, False])

    async def stock_controls() -> bool:
        if now := next(controllers):
            assert await is_gone()
            assert not await site.nothing_is_deleted()
        return now

    site.stock_controls = stock_controls  # type: ignore[method-assign]
    assert "were gone" in await vanish_topic(site, "t", 0.0)
    assert not await is_gone()
    assert await site.nothing_is_deleted()


async def test_hm_2_a_stock_broker_that_controls_when_a_topic_is_back_gives_way(zk: ZooKeeper) -> None:
    """It gives states that it finds no epochs that brokers accept: a move would stand still until it is gone."""
    site = await site_of(zk, OURS)
    controllers = iter([False, False, True])
    taken = []

    async def stock_controls() -> bool:
        return next(controllers)

    async def take_over() -> None:
        taken.append((site.servers.locked(), site.deletions))

    site.stock_controls = stock_controls  # type: ignore[method-assign]
    site.take_over = take_over  # type: ignore[method-assign]
    assert "were gone" in await vanish_topic(site, "t", 0.0)
    assert taken == [(True, 0)]
