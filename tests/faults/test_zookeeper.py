"""ZooKeeper is killed and comes back in the middle of moves."""

import asyncio
import time
from pathlib import Path

import pytest

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster, Name, Replicas, ask, metadata, only_lost_replicas_moved
from tests.processes import children_of, exists, processes
from tests.vendor_requests import told, wanted
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

pytestmark = pytest.mark.gate

SLOW = 300_000
INTERVAL_S = 1.5
HEALS = ("--failure-interval-ms", str(round(INTERVAL_S * 1000)))


async def test_sv_3_and_46_6_zookeeper_is_killed_and_started_again_in_the_middle_of_moves(tmp_path: Path) -> None:
    """ZooKeeper is away for longer than the interval. All brokers were gone with it, so none is healed."""
    async with processes(tmp_path) as group:
        data = ("zookeeper", "--data-dir", str(tmp_path / "zookeeper"))
        first = await group.start("zookeeper", *data, "--port", "0")
        address = first.ready_value("zookeeper")
        async with ZooKeeper(address, session_timeout_ms=60_000) as zk:
            cluster = Cluster(group, zk, address, tmp_path)
            await cluster.server("a", *HEALS)
            await cluster.fleet("1,2,3,4", "t:4:2:600000", bandwidth=SLOW)
            await cluster.server("b", *HEALS, broker_id=1001)
            written = (await cluster.topic("t"))["partitions"]
            targets: dict[Name, Replicas] = {
                ("t", int(index)): [broker for broker in (1, 2, 3, 4) if broker not in replicas]
                for index, replicas in written.items()
            }
            epoch = await cluster.epoch()
            assert set((await cluster.alter("a", targets)).values()) == {0}

            children = children_of(first.pid)
            await first.kill()
            await eventually(lambda: not any(map(exists, children)))
            await eventually(lambda: nobody_controls(cluster))
            seen = await metadata(cluster.address("a"))
            assert {broker.node_id for broker in seen.brokers} >= {1, 2, 3, 4}, "clients can still reach the brokers"
            await asyncio.sleep(INTERVAL_S)
            await group.start("zookeeper", *data, "--port", address.rpartition(":")[2])

            await cluster.rests_at(targets)
            await eventually(lambda: one_controls(cluster))
            assert await cluster.epoch() > epoch
            for server in cluster.servers:
                assert "heal.scheduled" not in {event["event"] for event in await cluster.events(server)}
            for process in (*cluster.servers.values(), *cluster.fleets.values()):
                assert process.alive
                assert "Traceback" not in process.log


async def test_46_6_when_all_brokers_lose_their_sessions_only_one_that_stays_away_is_healed(
    zookeeper: EmbeddedZooKeeper, zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    """Nobody reaches ZooKeeper for longer than the interval. Brokers count as failed since it began.

    A controller that is back before the brokers still gives them time.
    """
    interval = ("--failure-interval-ms", "10000")
    chroot = zk_connect.removeprefix(zookeeper.address)
    async with Proxy(zookeeper.address) as proxy, Proxy(zookeeper.address) as late, processes(tmp_path) as group:
        cluster = Cluster(group, zk, proxy.address + chroot, tmp_path)
        last = Cluster(group, zk, late.address + chroot, tmp_path)
        await asyncio.gather(cluster.server("a", *interval), cluster.fleet("5"), last.fleet("4"))
        await cluster.fleet("1,2,3", "t:20:2:2000")
        await cluster.server("b", *interval, broker_id=1001)
        before = await cluster.replicas()

        proxy.silence()
        late.silence()
        await cluster.fleets["5"].kill()
        await eventually(lambda: nobody_has_a_session(cluster))
        long_ago = b'{"version":1,"timestamp":%d}' % (time.time_ns() // 1_000_000 - 60_000)
        for broker in range(1, 6):
            await zk.create(znode_paths.failed_broker(broker), long_ago)
        proxy.heal()
        await eventually(lambda: missed(cluster, 4, 5))
        await eventually(lambda: are_given_time(cluster, 4, 5))
        late.heal()
        await eventually(lambda: missed(cluster, 5))
        await eventually(lambda: nothing_is_on_5(cluster), within=60)
        after = await cluster.replicas()
        await cluster.rests_at(after)
        await eventually(lambda: nothing_is_failed(cluster))
        assert only_lost_replicas_moved(before, after, 5)
        events = [event for server in cluster.servers for event in await cluster.events(server)]
        assert [event["broker"] for event in events if event["event"] == "heal.scheduled"] == [5]


async def nobody_has_a_session(cluster: Cluster) -> bool:
    return not await cluster.live() and await cluster.zk.exists(znode_paths.CONTROLLER) is None


async def are_given_time(cluster: Cluster, *brokers: int) -> bool:
    """Whether the controller knows these failed brokers, and does not heal them yet."""
    (server,) = await controllers(cluster)
    shown = told(await ask(cluster.address(server), wanted("healing"), 0))
    now = time.time_ns() // 1_000_000
    return {one["broker"] for one in shown["failed"] if (one["heal_at"] or 0) > now} == set(brokers)


async def missed(cluster: Cluster, *brokers: int) -> bool:
    return (await cluster.failed()).keys() == set(brokers) == {1, 2, 3, 4, 5} - await cluster.live()


async def nothing_is_on_5(cluster: Cluster) -> bool:
    return not any(5 in found for found in (await cluster.replicas()).values())


async def nothing_is_failed(cluster: Cluster) -> bool:
    """A failure is forgotten after the last move off its broker, by another write."""
    return await cluster.failed() == {}


async def controllers(cluster: Cluster) -> list[str]:
    return [name for name in cluster.servers if await cluster.is_controller(name)]


async def nobody_controls(cluster: Cluster) -> bool:
    return not await controllers(cluster)


async def one_controls(cluster: Cluster) -> bool:
    return len(await controllers(cluster)) == 1
