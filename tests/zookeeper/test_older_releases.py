"""ZooKeeper as the first Kafka brokers that a server controls bring it: 3.5 (Kafka 2.8) has no request that reads many
znodes, and closes the connection behind it; 3.5 and 3.6 (up to Kafka 3.4) tell of what a transaction creates the path
alone.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, SetData, Stat
from kafka_reassign_rpc.zookeeper.transactions import transact, transact_many
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, TransactionFailed
from tests.faults.cluster import Cluster
from tests.preflight.command import run
from tests.processes import processes
from tests.stock.jars import classpath, require
from tests.waiting import eventually
from tests.zookeeper.helpers import Events

pytestmark = [pytest.mark.stock, pytest.mark.asyncio(loop_scope="module")]

BY_KAFKA = {"3.5.9": "2.8.2", "3.6.3": "3.3.2"}
"""Releases of ZooKeeper, and those of Kafka that bring them."""
PATIENT = ("--zookeeper-session-timeout-ms", "30000")
MANY = 1_200
"""More than one packet of reads has."""


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["3.5.9", pytest.param("3.6.3", marks=pytest.mark.release)]
)
async def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a ZooKeeper of that release."""
    kafka = BY_KAFKA[request.param]
    require(kafka)
    directory = tmp_path_factory.mktemp(f"zookeeper-{request.param}")
    async with EmbeddedZooKeeper(directory, heap_mb=128, jars=classpath(kafka)) as server:
        assert f"Zookeeper version: {request.param}" in await server.command("srvr")
        yield server.address


async def test_sv_3_many_znodes_are_read_from_a_zookeeper_of_each_release(old: str) -> None:
    async with ZooKeeper(f"{old}/reads") as zk:
        await zk.ensure_path("/many")
        paths = [f"/many/{number}" for number in range(MANY)]
        await transact_many(zk, [[Create(path, path.encode()) for path in part] for part in (paths[:600], paths[600:])])
        await zk.create("/many/1/below")
        events = Events(zk)

        found, children = await asyncio.gather(zk.multi_get([*paths, "/none"]), zk.multi_children(["/many", "/none"]))

        assert found[-1] is None
        assert [one and one[0] for one in found[:-1]] == [path.encode() for path in paths]
        assert found[7] == await zk.get("/many/7")
        assert children[1] is None
        assert len(children[0] or ()) == MANY
        assert await zk.tree("/many/1") == ["/many/1/below", "/many/1"]
        assert await zk.who_am_i() == frozenset()
        assert (await zk.get("/many/1"))[0] == b"/many/1"
        assert "over" not in events.names


async def test_sv_3_what_a_transaction_creates_in_a_zookeeper_of_each_release_has_its_id_and_time(old: str) -> None:
    async with ZooKeeper(f"{old}/writes") as zk:
        await zk.ensure_path("")
        await zk.create("/a")
        events = Events(zk)
        for number in range(2):  # with a new receipt, and with one that was used before
            made, checked, a = await transact(zk, [Create(f"/{number}", b"x"), Check("/a", number), SetData("/a", b"")])
            assert made == (f"/{number}", await zk.exists(f"/{number}"))
            assert (checked, a) == (None, await zk.exists("/a"))
        many = await transact_many(zk, [[Create(f"/n{number}")] for number in range(20)])
        assert many == [[(f"/n{number}", await zk.exists(f"/n{number}"))] for number in range(20)]
        await transact(zk, [Delete("/0"), Create("/0", sequence=True)])
        with pytest.raises(TransactionFailed) as caught:
            await transact(zk, [Check("/a", 2), Create("/1")])
        assert (caught.value.index, type(caught.value.error)) == (1, NodeExists)
        [raw] = await zk.multi([Create("/raw", ephemeral=True)])
        stat = await zk.exists("/raw")
        assert isinstance(raw, tuple)
        assert isinstance(raw[1], Stat)
        assert stat is not None
        assert (raw[0], raw[1].czxid) == ("/raw", stat.czxid)
        assert events.names == [], "no answer was taken for garbage"


async def test_sv_3_a_server_controls_a_cluster_in_a_zookeeper_of_each_release(old: str, tmp_path: Path) -> None:
    """It is elected, moves go on under the next controller, and no connection is lost but one for each server whose
    ZooKeeper cannot read many.
    """
    connect = f"{old}/cluster"
    async with ZooKeeper(connect) as zk, processes(tmp_path) as group:
        await zk.ensure_path("")
        cluster = Cluster(group, zk, connect, tmp_path)
        await cluster.server("a", *PATIENT)
        await cluster.controlled_by("a")
        await cluster.fleet("1,2,3", "t:4:2:1000000", bandwidth=10_000)
        await cluster.server("b", *PATIENT, broker_id=1001)
        target = {name: [found[1], 6 - sum(found)] for name, found in (await cluster.replicas()).items()}

        assert set((await cluster.alter("a", target)).values()) == {0}

        async def all_move() -> bool:
            return set(await cluster.told("a")) == set(target)

        await eventually(all_move)
        shown = await cluster.told("a")
        for name in target:
            stat = await zk.exists(znode_paths.reassignment(*name))
            assert stat is not None
            assert (shown[name]["id"], shown[name]["since"]) == (stat.czxid, stat.ctime)
        checked = await run("check", "--zookeeper-connect", connect, "--broker-id", "1002")
        assert "closed" not in checked.out
        assert "rights: the ACLs of" in checked.out
        await cluster.servers["a"].stop()
        await cluster.controlled_by("b")
        assert set((await cluster.alter("b", dict.fromkeys(target))).values()) == {0}
        await eventually(lambda: cluster.moves_nothing("b"))

        for server in cluster.servers.values():
            assert server.log.count("connection lost") <= 1, server.log
