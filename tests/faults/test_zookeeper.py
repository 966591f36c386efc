"""ZooKeeper itself is killed and comes back, under a cluster in the middle of moves."""

import asyncio
from pathlib import Path

from kafka_reassign_rpc.zookeeper.session import ZooKeeper
from tests.faults.cluster import Cluster, Name, Replicas, metadata
from tests.processes import children_of, exists, processes
from tests.waiting import eventually

SLOW = 300_000
INTERVAL_S = 1.5
HEALS = ("--failure-interval-ms", str(round(INTERVAL_S * 1000)))


async def test_sv_3_and_46_6_zookeeper_is_killed_and_started_again_in_the_middle_of_moves(tmp_path: Path) -> None:
    """For longer than lost brokers are waited for: with ZooKeeper everybody was gone, so nobody is healed."""
    async with processes(tmp_path) as group:
        data = ("zookeeper", "--data-dir", str(tmp_path / "zookeeper"))
        first = await group.start("zookeeper", *data, "--port", "0")
        address = first.told("zookeeper")
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


async def controllers(cluster: Cluster) -> list[str]:
    return [name for name in cluster.servers if await cluster.is_controller(name)]


async def nobody_controls(cluster: Cluster) -> bool:
    return not await controllers(cluster)


async def one_controls(cluster: Cluster) -> bool:
    return len(await controllers(cluster)) == 1
