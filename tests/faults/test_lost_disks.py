"""Simulated brokers lose one of their log dirs for real: what it held is repaired elsewhere (KIP-46)."""

import asyncio
from pathlib import Path

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import Cluster, Name, ask, only_lost_replicas_moved
from tests.faults.test_healing import everybody_has_everything
from tests.http_client import get
from tests.vendor_requests import told, wanted
from tests.waiting import eventually

pytestmark = pytest.mark.gate

BROKER = 3
DISK = "/simulated/broker-3/dir-1"
DISKS = ("--log-dirs", "2")
SETTINGS = ("--failure-interval-ms", "6000", "--self-healing-throttle", "400000", "--self-healing-max-moves", "3")
PAGE = ("--metrics-listener", "127.0.0.1:0", "--status-page", "full")
TOPIC = "t:24:3:200000"


async def brokers_with_two_disks(cluster: Cluster) -> None:
    """Brokers 1 to 5; server `a` is the controller."""
    await asyncio.gather(cluster.server("a", *SETTINGS, *PAGE), cluster.fleet(str(BROKER), options=DISKS))
    await cluster.fleet("1,2,4,5", TOPIC, options=DISKS)
    await eventually(lambda: everybody_has_everything(cluster))


async def without_removed(cluster: Cluster) -> dict[Name, list[int]]:
    """The replicas of every partition; a replica that its broker has yet to delete does not count."""
    removed = (await cluster.topic("t"))["removing_replicas"]
    return {
        name: [broker for broker in found if broker not in removed.get(str(name[1]), ())]
        for name, found in (await cluster.replicas()).items()
    }


async def test_dh_3_what_a_disk_of_a_simulated_broker_held_is_repaired_although_controllers_are_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    """One controller after the other continues the repair, and dies at its next step."""
    await brokers_with_two_disks(cluster)
    await asyncio.gather(*[cluster.server(f"standby {n}", *SETTINGS, broker_id=1000 + n) for n in range(1, 4)])
    before = await cluster.replicas()
    held = [name for name, found in before.items() if BROKER in found]
    lost_dir = tmp_path / "fleet" / f"broker-{BROKER}-dir-1.failed"
    lost_dir.touch()
    controller = "a"

    async def elected() -> str | None:
        return next(iter([name for name in cluster.servers if await cluster.is_controller(name)]), None)

    async def is_shown() -> bool:
        """By the API and on /metrics, once it is noted."""
        found = told(await ask(cluster.address("a"), wanted("healing"), 0))["log_dirs"]
        assert [(one["broker"], one["paths"]) for one in found] == [(BROKER, [DISK])]
        metrics = (await get(cluster.servers["a"].ready_value("metrics"), "/metrics")).body.decode()
        assert f'kafka_reassign_log_directory_offline{{broker="{BROKER}",log_directory="{DISK}"}} 1.0' in metrics
        return bool(0 < (found[0]["replicas"] or 0) < len(held))

    async def is_queued() -> bool:
        return await cluster.zk.exists(znode_paths.REASSIGN_QUEUE) is not None

    async def is_half_done() -> bool:
        return bool(await cluster.records()) and await without_removed(cluster) != before

    async def is_repaired() -> bool:
        assert not await cluster.records()
        assert not await is_queued()
        return await cluster.zk.children(znode_paths.FAILED_LOG_DIRS) == []

    for reached in (is_shown, is_queued, is_half_done):
        await eventually(reached, within=90)
        assert reached is not is_shown or await without_removed(cluster) == before, "nothing moves before the interval"
        await cluster.servers.pop(controller).kill()
        controller = await eventually(elected)
    await eventually(is_repaired, within=90)
    after = await without_removed(cluster)
    moved = [name for name in held if BROKER not in after[name]]
    assert 0 < len(moved) < len(held), "its other log dir works"
    assert only_lost_replicas_moved(before, after, BROKER)
    lost_dir.unlink()
    await cluster.fleets[str(BROKER)].stop()
    await cluster.fleet(str(BROKER), options=DISKS)
    await cluster.rests_at(after)
