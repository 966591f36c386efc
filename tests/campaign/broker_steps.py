"""What happens to brokers. Each step leaves the broker running and registered."""

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.stock.jars import BROKER_VERSION

from .proxies import cut
from .site import OLD_PROTOCOL, Site, start_broker
from .stock_logs import delete_begun, given_up


async def kill_broker(site: Site, broker: int, away: float) -> str:
    """kill -9, and a start no earlier than its session's end."""
    with site.absence(broker):
        await site.brokers[broker].kill()
        await asyncio.sleep(away)
        await _start(site, broker)
    return "started again"


async def stop_broker(site: Site, broker: int, away: float) -> str:
    """A controlled shutdown."""
    with site.absence(broker):
        await site.brokers[broker].stop()
        await asyncio.sleep(away)
        await _start(site, broker)
    return "started again"


async def freeze_broker(site: Site, broker: int, away: float) -> str:
    """Nothing of it moves for a while; a session may be over by then."""
    with site.absence(broker, lives_on=True):
        site.brokers[broker].freeze()
        try:
            await asyncio.sleep(away)
        finally:
            site.brokers[broker].thaw()
        await site.registered(broker)
    return "thawed"


async def cut_broker(site: Site, broker: int, away: float, how: str) -> str:
    """Its connections to ZooKeeper are cut, those to others are not."""
    before = await _registration(site, broker)
    with site.absence(broker, lives_on=True):
        async with cut(site.proxies[broker], how):
            await asyncio.sleep(away)
        await site.registered(broker)
    return "kept its session" if await _registration(site, broker) == before else "registered anew"


async def lose_log_dir(site: Site, broker: int, log_dir: int, away: float, kill: bool) -> str:
    """A log dir is gone, and comes back; the broker takes it up at its next start.

    The path becomes a file, since root may write into any directory. A replica that left the broker meanwhile and came
    back as a new one lies in another log dir. Kafka then does not start before its older copy is deleted by hand
    (LogManager.loadLog: "Duplicate log directories"), so the step deletes it.
    """
    path = site.log_dirs(broker)[log_dir]
    others = [other for other in site.log_dirs(broker) if other != path]
    aside = path.with_name(path.name + ".away")
    site.disturbed.add(broker)
    with site.absence(broker):
        path.rename(aside)
        path.touch()
        await asyncio.sleep(away)
        noticed = b"Stopping serving replicas in dir" in site.brokers[broker].printed()
        await (site.brokers[broker].kill() if kill else site.brokers[broker].stop())
        deleted = _put_back(path, aside, others)
        await _start(site, broker)
    site.disturbed.discard(broker)
    return f"the broker {'had' if noticed else 'had not'} noticed, {deleted} older copies deleted"


async def kill_two_brokers(site: Site, brokers: list[int], away: float) -> str:
    """More harm than min.insync.replicas allows: partitions stand still, nothing may be lost."""
    with site.absence(*brokers):
        for broker in brokers:
            await site.brokers[broker].kill()
        await asyncio.sleep(away)
        for broker in brokers:
            await _start(site, broker)
    return "both started again"


async def upgrade_broker(site: Site, broker: int, away: float) -> str:
    """It gets the newer jars, and still speaks the older protocol with the others."""
    site.brokers[broker].version = BROKER_VERSION
    return await stop_broker(site, broker, away)


async def raise_protocol(site: Site, broker: int, away: float) -> str:
    """It may speak the newer protocol, now that all brokers have the newer jars."""
    for name in OLD_PROTOCOL:
        site.brokers[broker].properties.pop(name, None)
    return await stop_broker(site, broker, away)


def _put_back(path: Path, aside: Path, others: Iterable[Path]) -> int:
    """Give the log dir back without the replicas that lie in another one now; returns how many these are."""
    newer = {replica.name for other in others for replica in other.iterdir() if replica.is_dir()}
    older = [replica for replica in aside.iterdir() if replica.is_dir() and replica.name in newer]
    for replica in older:
        shutil.rmtree(replica)
    path.unlink()
    aside.rename(path)
    return len(older)


async def _registration(site: Site, broker: int) -> int | None:
    found = await site.read(lambda: site.zk.exists(znode_paths.broker(broker)))
    return None if found is None else found.czxid


async def _start(site: Site, broker: int) -> None:
    await site.unregistered(broker)
    begun = [name for one, name in await asyncio.to_thread(given_up, site.broker_logs) if one == broker]
    delete_begun(site.log_dirs(broker), begun)
    await start_broker(site.brokers[broker])
    await site.registered(broker)
