"""What happens to brokers, controllers and our servers. Each step leaves them running."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

from kafka_reassign_rpc.client import KafkaError
from tests.campaign.generator import SERVER_NAMES
from tests.campaign.proxies import WRITE_CUTS, cut
from tests.campaign.server_steps import restart_reader
from tests.campaign.site import WAIT_S
from tests.processes import NotReady
from tests.stock.kraft import KRaftNode

from .kraft_site import STATE_TOPIC, KRaftSite

__all__ = ["restart_reader"]

# Brokers


async def kill_broker(site: KRaftSite, broker: int, away: float) -> str:
    await _killed(site.brokers[broker], away)
    await site.unfenced(broker)
    return "started again"


async def stop_broker(site: KRaftSite, broker: int, away: float) -> str:
    """A controlled shutdown."""
    node = site.brokers[broker]
    await node.stop()
    await asyncio.sleep(away)
    await node.start()
    await site.unfenced(broker)
    return "started again"


async def freeze_broker(site: KRaftSite, broker: int, away: float) -> str:
    await _frozen(site.brokers[broker], away)
    await site.unfenced(broker)
    return "thawed"


async def cut_broker(site: KRaftSite, broker: int, away: float, how: str) -> str:
    """Its connections to the controllers are cut, those to others are not."""
    async with AsyncExitStack() as stack:
        for proxy in site.proxies[broker]:
            await stack.enter_async_context(cut(proxy, how))
        await asyncio.sleep(away)
    await site.unfenced(broker)
    return "reaches the controllers again"


async def kill_log_leader(site: KRaftSite, away: float) -> str:
    broker = await site.log_leader()
    return "nobody led the log" if broker is None else f"broker {broker} {await kill_broker(site, broker, away)}"


async def freeze_log_leader(site: KRaftSite, away: float) -> str:
    broker = await site.log_leader()
    return "nobody led the log" if broker is None else f"broker {broker} {await freeze_broker(site, broker, away)}"


# Controllers


async def kill_controller(site: KRaftSite, active: bool, away: float) -> str:
    node = await _controller(site, active=active)
    await _killed(node, away)
    return f"controller {node.id} started again"


async def freeze_controller(site: KRaftSite, active: bool, away: float) -> str:
    node = await _controller(site, active=active)
    await _frozen(node, away)
    return f"controller {node.id} thawed"


async def kill_two_controllers(site: KRaftSite, away: float) -> str:
    """Without a majority nothing is decided."""
    first = await _controller(site, active=True)
    second = next(one for one in site.controllers.values() if one is not first)
    await asyncio.gather(_killed(first, away), _killed(second, away))
    return f"controllers {first.id} and {second.id} started again"


async def _controller(site: KRaftSite, *, active: bool) -> KRaftNode:
    leads = await site.active_controller()
    if active and leads is not None:
        return site.controllers[leads]
    return next(one for id_, one in site.controllers.items() if id_ != leads)


async def _killed(node: KRaftNode, away: float) -> None:
    """kill -9, and a start."""
    await node.kill()
    await asyncio.sleep(away)
    await node.start()


async def _frozen(node: KRaftNode, away: float) -> None:
    node.freeze()
    try:
        await asyncio.sleep(away)
    finally:
        node.thaw()


# Our servers


async def kill_server(site: KRaftSite, leads: bool, away: float) -> str:
    name, role = _server(site, leads=leads)
    await site.running[name].kill()
    await asyncio.sleep(away)
    await _serve(site, name)
    return f"killed {role} {name}"


async def stop_server(site: KRaftSite, leads: bool, away: float) -> str:
    name, role = _server(site, leads=leads)
    code = await site.running[name].stop()
    assert code == 0, f"server {name} ended with {code}"
    await asyncio.sleep(away)
    await _serve(site, name)
    return f"stopped {role} {name}"


async def freeze_server(site: KRaftSite, leads: bool, away: float) -> str:
    name, role = _server(site, leads=leads)
    site.running[name].freeze()
    try:
        await asyncio.sleep(away)
    finally:
        site.running[name].thaw()
    return f"froze {role} {name}"


async def cut_server(site: KRaftSite, leads: bool, away: float, how: str) -> str:
    """From all brokers."""
    name, role = _server(site, leads=leads)
    async with AsyncExitStack() as stack:
        for proxy in site.proxies[name]:
            await stack.enter_async_context(cut(proxy, how))
        await asyncio.sleep(away)
    return f"cut off {role} {name}"


async def cut_requests(site: KRaftSite, away: float, cuts: Sequence[str]) -> str:
    """Connections of our servers are cut at larger requests, before brokers have them or when the answer comes."""
    proxies = [proxy for name in SERVER_NAMES for proxy in site.proxies[name]]
    before = sum(proxy.cuts for proxy in proxies)
    for proxy in proxies:
        proxy.cut_writes(WRITE_CUTS[one] for one in cuts)
    await asyncio.sleep(away)
    for proxy in proxies:
        proxy.cut_writes(())
    return f"cut {sum(proxy.cuts for proxy in proxies) - before} times"


def _server(site: KRaftSite, *, leads: bool) -> tuple[str, str]:
    leader = site.leader() or SERVER_NAMES[0]
    other = next(name for name in SERVER_NAMES if name != leader)
    return (leader, "the leader") if leads else (other, "a standby")


async def _serve(site: KRaftSite, name: str) -> None:
    """It ends where the cluster does not answer at its start, and is started again as by an init."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        with suppress(NotReady):
            await site.serve(name)
            return
        await asyncio.sleep(1)
    raise TimeoutError(f"server {name} did not start within {WAIT_S:g} s")


# The state log


async def elect_log(site: KRaftSite) -> str:
    """Its preferred leader leads it."""
    try:
        async with site.cluster() as client:
            answers = await client.elect_preferred_leaders([(STATE_TOPIC, 0)])
    except KafkaError as error:
        return error.name
    return ",".join("ok" if one is None else one.name for one in answers.values())
