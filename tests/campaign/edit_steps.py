"""Replicas are taken away in a topic's znode, by hand or with an older dump, under a producer with acks=1. Nothing
else is harmed meanwhile.

With acks=1, what a leader has taken and no follower has fetched is lost at any change of leader. So these are promised:
the records that were acknowledged CHANGE_S before the edit, and those that were acknowledged CHANGE_S after another
replica led. A leader that nobody has stopped goes on taking records: these are lost.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

from .site import WAIT_S, Site

CHANGE_S = 2.0
QUIET_S = 5.0
ASK_EVERY_S = 0.2


async def edit_replicas(site: Site, topic: str, replicas: list[int]) -> str:
    """Somebody writes other replicas into the topic's znode."""
    path = znode_paths.topic(topic)

    async def edit(znodes: Sequence[Create]) -> list[int]:
        found = json.loads(znodes[0].data)
        found["partitions"]["0"] = replicas
        await site.zk.set(path, json.dumps(found).encode())
        return replicas

    return await _edited(site, topic, edit)


async def put_back_older(site: Site, topic: str) -> str:
    """Somebody deletes the topic's znodes and puts older ones back, in one transaction."""

    async def put_back(znodes: Sequence[Create]) -> list[int]:
        older = site.older.get(topic, znodes)
        await site.zk.multi([*(Delete(one.path) for one in reversed(znodes)), *older])
        wanted: list[int] = json.loads(older[0].data)["partitions"]["0"]
        return wanted

    return await _edited(site, topic, put_back)


async def _edited(site: Site, topic: str, edit: Callable[[Sequence[Create]], Awaitable[list[int]]]) -> str:
    if await site.stock_controls():
        return "nothing: a stock broker controls, which follows no edit"
    began = time.monotonic()
    await asyncio.sleep(QUIET_S)
    paths = sorted(await site.zk.tree(znode_paths.topic(topic)))
    znodes = [Create(path, (await site.zk.get(path))[0]) for path in paths]
    before = time.monotonic()
    wanted = await edit(znodes)
    site.older.setdefault(topic, znodes)
    promised = site.load.promise(topic, began, before - CHANGE_S)
    deadline = time.monotonic() + WAIT_S
    while not await _rests_at(site, topic, wanted):
        if time.monotonic() > deadline:
            raise AssertionError(f"{topic} does not rest at {wanted}")
        await asyncio.sleep(ASK_EVERY_S)
    settled = time.monotonic()
    await asyncio.sleep(CHANGE_S + QUIET_S)
    promised += site.load.promise(topic, settled + CHANGE_S, time.monotonic() - CHANGE_S)
    return f"rests at {wanted} after {settled - before:.1f} s, {promised} records promised"


async def _rests_at(site: Site, topic: str, wanted: list[int]) -> bool:
    try:
        found = json.loads((await site.zk.get(znode_paths.topic(topic)))[0])
        state = json.loads((await site.zk.get(znode_paths.partition_state(topic, 0)))[0])
    except NoNode:
        return False
    moves = found.get("adding_replicas") or found.get("removing_replicas")
    return not moves and found["partitions"]["0"] == wanted and state["leader"] in wanted and state["isr"] != []
