"""What an operator does by mistake. Nothing may come of it."""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

from kafka_reassign_rpc.client.config_calls import BROKER, config_request
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion
from tests.faults.cluster import Address, ask
from tests.waiting import eventually

from . import checks
from .broker_steps import stop_broker
from .facts import View, read_view
from .generator import BAD_DEFAULTS, HOLDER
from .site import WAIT_S, Site

ASK_S = 30.0
ASK_EVERY_S = 0.3
REFUSALS = (40, 42)
"""INVALID_CONFIG and INVALID_REQUEST."""


async def twin_ids(site: Site, topic: str, away: float) -> str:
    """The topic's znode gets the id of HOLDER, and its own back after a while. No stock broker can be elected then.

    No node may show the topic by that id; afterwards the controller shows it by its own.
    """
    async with site.deletion():  # no hand-over begins meanwhile
        if await site.stock_controls():
            return "nothing: a stock broker controls"
        own = site.topic_ids[topic]
        others = await site.read(lambda: _id_of(site, HOLDER))
        await site.read(lambda: _give_id(site, topic, others))
        await asyncio.sleep(away)
        asked = await asyncio.gather(*(_view(address) for address in site.nodes.values()))
        await site.read(lambda: _give_id(site, topic, own))
        views = {node: view for node, view in zip(site.nodes, asked, strict=True) if view is not None}
        if found := checks.shared_ids(views):
            raise AssertionError("; ".join(found))
        began = time.monotonic()

        async def is_served() -> bool:
            shown = (await read_view(await site.controller_address())).partitions
            return any(name[0] == topic and text.startswith(f"id {own} error 0") for name, text in shown.items())

        await eventually(is_served, within=WAIT_S)
    return f"{len(views)} nodes show no two topics by one id, served {time.monotonic() - began:.1f} s later"


async def _give_id(site: Site, topic: str, new: str) -> None:
    """Nothing else of the znode changes, whatever the controller writes meanwhile."""
    while True:
        found, version = await _read(site, topic)
        with suppress(BadVersion):
            await site.zk.set(znode_paths.topic(topic), json.dumps(found | {"topic_id": new}).encode(), version)
            return


async def _id_of(site: Site, topic: str) -> str:
    return str((await _read(site, topic))[0]["topic_id"])


async def _read(site: Site, topic: str) -> tuple[dict[str, Any], int]:
    data, stat = await site.zk.get(znode_paths.topic(topic))
    return json.loads(data), stat.version


async def _view(address: Address) -> View | None:
    """None where the node does not answer."""
    with suppress(OSError, EOFError, TimeoutError):
        async with asyncio.timeout(ASK_S):
            return await read_view(address)
    return None


async def bad_defaults(site: Site, broker: int, away: float, server: str, row: str) -> str:
    """A client asks a server for cluster-wide configs that end brokers at their next start. The server refuses, and a
    broker that is stopped starts again."""
    request = config_request({(BROKER, ""): BAD_DEFAULTS[row]})
    deadline = time.monotonic() + WAIT_S
    asked, code, told = 0, None, "no answer"
    while code not in REFUSALS:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not refused within {WAIT_S:g} s, asked {asked} times; the last answer: {code} {told}")
        with suppress(OSError, EOFError, TimeoutError):  # it may be stopped, frozen or cut off
            async with asyncio.timeout(ASK_S):
                [answer] = (await ask(site.cluster.address(server), request, 1)).responses
            code, told = answer.error_code, answer.error_message
            if not code:
                raise AssertionError(f"{BAD_DEFAULTS[row]} is accepted")
        asked += 1
        await asyncio.sleep(ASK_EVERY_S)
    return f"refused by {code}, asked {asked} times; {await stop_broker(site, broker, away)}"
