"""What happens to our servers and to ZooKeeper. Each step leaves them running.

A stock broker that has become the controller meanwhile gives way at the end of such a step: it is our servers that a
campaign is about.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.waiting import eventually

from .generator import BROKER_IDS, SERVER_NAMES
from .proxies import WRITE_CUTS, cut
from .site import SERVER_IDS, WAIT_S, Site

RISES_S = 90.0
"""A controller without anything else to write marks its control every minute."""


async def kill_server(site: Site, server: str, away: float) -> str:
    async with _in_our_hands(site, server) as was:
        await site.cluster.servers[server].kill()
        await asyncio.sleep(away)
        await site.serve(server)
    return f"killed {was}"


async def freeze_server(site: Site, server: str, away: float) -> str:
    async with _in_our_hands(site, server) as was:
        site.cluster.servers[server].freeze()
        try:
            await asyncio.sleep(away)
        finally:
            site.cluster.servers[server].thaw()
    return f"froze {was}"


async def cut_server(site: Site, server: str, away: float, how: str) -> str:
    async with _in_our_hands(site, server) as was, cut(site.proxies[server], how):
        await asyncio.sleep(away)
    return f"cut off {was}"


async def cut_commits(site: Site, away: float, cuts: Sequence[str]) -> str:
    """Connections of our servers are cut at writes to ZooKeeper, one after the other. No session ends of that."""
    proxies = [site.proxies[name] for name in SERVER_NAMES]
    async with site.servers:
        before = await site.read(site.cluster.epoch)
        for proxy in proxies:
            proxy.cut_writes(WRITE_CUTS[cut] for cut in cuts)
        await asyncio.sleep(away)
        made = sum(proxy.cuts for proxy in proxies)
        for proxy in proxies:
            proxy.cut_writes(())
        await eventually(lambda: _is_known(site), within=WAIT_S)
        after = await site.read(site.cluster.epoch)
        await site.take_over()
    return f"cut {made} times, {'the epoch stayed' if after == before else f'epoch {before} -> {after}'}"


async def hand_over(site: Site, away: float, kill: bool) -> str:
    """A stock broker becomes the controller, then one of our servers takes it back.

    No topic is in deletion meanwhile: where one of them moves too, a stock controller that takes over deletes its
    replicas, begins them anew, and removes the topic all the same. Brokers go on with its logs under the next topic of
    its name.
    """
    async with site.servers:
        site.ours.clear()
        try:
            await eventually(site.nothing_is_deleted, within=WAIT_S)
            for name in reversed(SERVER_NAMES):
                server = site.cluster.servers[name]
                await (server.kill() if kill else server.stop())
            await site.controlled_by(frozenset(BROKER_IDS))
            stock = await site.read(site.controller)
            await asyncio.sleep(away)
            for name in SERVER_NAMES:
                await site.serve(name)
            await site.take_over()
        finally:
            site.ours.set()
    return f"broker {stock} was the controller"


async def lower_epoch(site: Site, away: float, by: int) -> str:
    """Somebody sets `/controller_epoch` back. Brokers obey no lower epoch than they know: the server, which notices at
    its next write, has to be elected again above it."""
    async with site.servers:
        before = await site.read(site.cluster.epoch)
        lowered = b"%d" % max(before - by, 0)
        await site.read(lambda: site.zk.set(znode_paths.CONTROLLER_EPOCH, lowered))
        await asyncio.sleep(away)

        async def has_risen() -> bool:
            return await site.read(site.cluster.epoch) > before

        await eventually(has_risen, within=RISES_S)
        after = await site.read(site.cluster.epoch)
        await site.take_over()
    return f"epoch {before} -> {lowered.decode()} -> {after}"


async def restart_zookeeper(site: Site, away: float) -> str:
    await site.zookeeper.stop()
    await asyncio.sleep(away)
    await site.zookeeper.start()
    await _ours_again(site)
    return "serves again"


async def kill_zookeeper(site: Site, away: float) -> str:
    await site.zookeeper.kill()
    await asyncio.sleep(away)
    await site.zookeeper.start()
    await _ours_again(site)
    return "serves again"


async def restart_reader(site: Site, member: int, away: float) -> str:
    """A member of the group of readers leaves, and joins again."""
    await asyncio.to_thread(site.load.stop_reader, member)
    await asyncio.sleep(away)
    site.load.start_reader(member)
    return "joined again"


@asynccontextmanager
async def _in_our_hands(site: Site, server: str) -> AsyncIterator[str]:
    """Gives the role of the server; at the end one of ours is the controller."""
    async with site.servers:
        yield "the controller" if await site.read(site.controller) == SERVER_IDS[server] else "a standby"
        if await site.read(site.controller) is not None:
            await site.take_over()


async def _is_known(site: Site) -> bool:
    return await site.read(site.controller) is not None


async def _ours_again(site: Site) -> None:
    """ZooKeeper serves again. Whoever was elected since, one of our servers is the controller in the end."""

    await eventually(lambda: _is_known(site), within=WAIT_S)
    async with site.servers:
        await site.take_over()
