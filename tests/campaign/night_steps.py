"""What operators do at night: moves are held and released, brokers are cordoned and opened again.

Each step undoes what it has done, however often it has to ask: nothing may be left held or cordoned in the end.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping

from kafka_reassign_rpc.core.config_values import listed, parse_brokers
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS, ENABLED
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError
from tests.controller.bare_controller import queue_json
from tests.faults.cluster import alter_request, ask
from tests.vendor_requests import order, told

from .site import SERVER_IDS, WAIT_S, Site
from .topic_steps import _named, _told
from .topics_by_admin import ASK_EVERY_S, Targets

SERVER = next(iter(SERVER_IDS.values()))


async def hold_moves(site: Site, topic: str, targets: Targets, away: float) -> str:
    """Moves are queued while reassignments are disabled, held, and released after a while."""
    await _settings(site, lambda now: {**now, ENABLED: "false"})
    try:
        request = alter_request(_named(topic, targets))
        request.queue = True
        queued = await _told(_asked(site, request), str)
        held = await _told(_hold(site, topic, hold=True), str)
    finally:
        await _settings(site, lambda now: {name: value for name, value in now.items() if name != ENABLED})
    await asyncio.sleep(away)
    deadline = time.monotonic() + WAIT_S
    released = "nothing to release"
    while await _are_held(site, topic):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not released within {WAIT_S:g} s; the last answer: {released}")
        released = await _told(_hold(site, topic, hold=False), str)
        await asyncio.sleep(ASK_EVERY_S)
    return f"queued: {queued}; held: {held}; {released}"


async def cordon_broker(site: Site, broker: int, away: float) -> str:
    def with_it(now: Mapping[str, str]) -> dict[str, str]:
        return {**now, CORDONED_BROKERS: listed({*(parse_brokers(now.get(CORDONED_BROKERS, "")) or ()), broker})}

    def without_it(now: Mapping[str, str]) -> dict[str, str]:
        left = {*(parse_brokers(now.get(CORDONED_BROKERS, "")) or ())} - {broker}
        others = {name: value for name, value in now.items() if name != CORDONED_BROKERS}
        return {**others, CORDONED_BROKERS: listed(left)} if left else others

    await _settings(site, with_it)
    await asyncio.sleep(away)
    await _settings(site, without_it)
    return "opened again"


async def _settings(site: Site, change: Callable[[Mapping[str, str]], dict[str, str]]) -> None:
    """Raises ZkError where ZooKeeper does not answer within WAIT_S."""
    deadline = time.monotonic() + WAIT_S
    while True:
        with contextlib.suppress(ZkError):
            return await ServerConfigStore(site.zk, SERVER).alter("brokers", str(SERVER), change)
        if time.monotonic() > deadline:
            raise TimeoutError("ZooKeeper takes no settings")
        await asyncio.sleep(ASK_EVERY_S)


async def _asked(site: Site, request: object) -> list[int]:
    answer = await ask(await site.controller_address(), request, 0)
    return [one.error_code for topic in answer.responses for one in topic.partitions]


async def _hold(site: Site, topic: str, *, hold: bool) -> str:
    answer = await ask(await site.controller_address(), order("hold" if hold else "release", topics=[topic]), 0)
    return f"error {answer.error_code}" if answer.error_code else f"{told(answer)['changed']} changed"


async def _are_held(site: Site, topic: str) -> bool:
    """Also where ZooKeeper does not answer: then it is not known."""
    with contextlib.suppress(ZkError):
        return any("held" in entry for name, entry in (await queue_json(site.zk) or {}).items() if name[0] == topic)
    return True
