"""`kafka-reassign-rpc status`: who controls a cluster, since when, and what is under way."""

import json
from typing import Any

import pytest

from kafka_reassign_rpc.preflight import read_status
from kafka_reassign_rpc.preflight.cluster_status import BROKER, SERVER
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import encode_controller, encode_failure
from tests.faults.cluster import Cluster
from tests.waiting import eventually

from .command import run

pytestmark = [pytest.mark.asyncio(loop_scope="module")]


async def test_sv_7_both_ways_name_the_controller_its_epoch_its_election_and_the_moves(simulated: Cluster) -> None:
    before = await simulated.replicas()
    targets = {name: [({1, 2, 3} - set(found)).pop(), found[0]] for name, found in before.items()}
    data, stat = await simulated.zk.get(znode_paths.CONTROLLER)
    epoch = await simulated.epoch()
    bootstrap = simulated.servers["a"].ready_value("bootstrap")
    assert set((await simulated.alter("a", targets)).values()) == {0}

    by_zookeeper, by_nodes = [
        await run("status", *place, "--json")
        for place in (("--zookeeper-connect", simulated.connect), ("--bootstrap-server", bootstrap))
    ]

    for ended in (by_zookeeper, by_nodes):
        assert (ended.code, ended.err) == (0, "")
        found = ended.document
        assert (found["controller"]["id"], found["controller"]["kind"]) == (1000, SERVER)
        assert found["controller"]["at"] == [bootstrap]
        assert found["controller"]["epoch"] == epoch
        assert abs(found["controller"]["since"] - stat.ctime) < 5_000
        assert found["brokers"] == [1, 2, 3]
        assert found["moving"] == {"rpc": 6}
        assert found["waiting"] == {}
    assert json.loads(data)["brokerid"] == 1000
    shown = (await run("status", "--bootstrap-server", bootstrap)).out
    assert shown.startswith(f"controller: server 1000 at {bootstrap}, epoch {epoch}, since 20")
    assert "moves in flight: 6 (6 by rpc)\n" in shown
    assert "self-healing: off, 0 moves in flight, 0 wait\n" in shown
    await simulated.alter("a", dict.fromkeys(targets))


async def told_by_nodes(cluster: Cluster) -> Any:
    """The controller as the nodes name it."""
    ended = await run("status", "--bootstrap-server", cluster.servers["a"].ready_value("bootstrap"), "--json")
    assert (ended.code, ended.err) == (0, "")
    return ended.document["controller"]


async def test_sv_7_the_nodes_tell_the_last_of_many_elections(simulated: Cluster) -> None:
    for _ in range(3):
        assert await simulated.servers["a"].stop() == 0
        await simulated.server("a")
    stat = await simulated.zk.exists(znode_paths.CONTROLLER)
    assert stat is not None

    found = await told_by_nodes(simulated)

    assert found["epoch"] == await simulated.epoch()
    assert abs(found["since"] - stat.ctime) < 5_000


async def test_sv_7_a_server_without_an_event_log_names_no_epoch(simulated: Cluster) -> None:
    assert await simulated.servers["a"].stop() == 0
    await simulated.server("a", "--event-log-dir", "")

    found = await told_by_nodes(simulated)

    assert (found["id"], found["kind"], found["epoch"], found["since"]) == (1000, SERVER, None, None)
    assert await simulated.servers["a"].stop() == 0
    await simulated.server("a")


async def test_sv_7_a_lost_broker_and_a_controller_that_is_a_broker_are_shown(simulated: Cluster) -> None:
    assert await simulated.servers["a"].stop() == 0
    await simulated.zk.create(znode_paths.CONTROLLER, encode_controller(2, 0), ephemeral=True)
    await simulated.zk.create(znode_paths.failed_broker(9), encode_failure(1_700_000_000_000))

    found = await read_status.from_zookeeper(simulated.connect, 10)
    shown = (await run("status", "--zookeeper-connect", simulated.connect)).out

    assert found.controller is not None
    assert (found.controller.id, found.controller.kind) == (2, BROKER)
    assert "broker 9: gone since 2023-11-14 22:13:20 UTC\n" in shown
    await simulated.zk.delete(znode_paths.failed_broker(9))
    await simulated.zk.delete(znode_paths.CONTROLLER)


async def test_sv_7_a_cluster_without_a_controller_is_exit_code_1(simulated: Cluster) -> None:
    if simulated.servers["a"].alive:
        assert await simulated.servers["a"].stop() == 0
    await eventually(lambda: has_no_controller(simulated))

    ended = await run("status", "--zookeeper-connect", simulated.connect)

    assert (ended.code, ended.out.splitlines()[0]) == (1, "controller: none")


async def has_no_controller(cluster: Cluster) -> bool:
    return await cluster.zk.exists(znode_paths.CONTROLLER) is None


@pytest.mark.parametrize("place", [("--bootstrap-server", "127.0.0.1:1"), ("--zookeeper-connect", "127.0.0.1:1")])
async def test_sv_7_where_nobody_answers_one_line_says_so_in_time(place: tuple[str, str]) -> None:
    ended = await run("status", *place, "--timeout-ms", "300")

    assert (ended.code, ended.out) == (1, "")
    assert len(ended.err.splitlines()) == 1
    assert "127.0.0.1:1" in ended.err
