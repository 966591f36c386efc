"""`kafka-reassign-rpc status` and `kafka-reassign status`: who controls a cluster, and what is under way."""

import json
from collections import Counter

import pytest

from kafka_reassign_rpc.client import QUEUE, AsyncReassignmentClient, MoveTerms, TopicPartition
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_PER_CLUSTER
from kafka_reassign_rpc.core.state.partition import RPC
from kafka_reassign_rpc.core.status.problems import EMPTY_PLACE
from kafka_reassign_rpc.preflight import read_status
from kafka_reassign_rpc.preflight.read_status import BROKER, KRAFT, SERVER
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import encode_controller, encode_failure
from tests.faults.cluster import Cluster
from tests.reassign_command.run_command import Command
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

    ended = await run("status", "--zookeeper-connect", simulated.connect, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.document["controller"]["kind"] == SERVER
    for found in (ended.document, await Command(bootstrap).json("status")):
        assert found["controller"]["id"] == 1000
        assert found["controller"]["at"] == [bootstrap]
        assert found["controller"]["epoch"] == epoch
        assert abs(found["controller"]["since"] - stat.ctime) < 60_000
        assert [one["broker"] for one in found["brokers"]] == [1, 2, 3]
        assert len(found["moves"]) == found["status"]["totals"]["in_flight"] == 6
        assert found["waiting"] == 0
    assert json.loads(data)["brokerid"] == 1000
    shown = (await Command(bootstrap)("status")).out
    assert f": controller 1000 at {bootstrap}, epoch {epoch}," in shown
    drawn = (await run("status", "--zookeeper-connect", simulated.connect)).out
    assert drawn.startswith(f"controller: server 1000 at {bootstrap}, epoch {epoch}, since 20")
    assert "\n6 moves in flight; what is copied: not asked.\n" in drawn
    assert drawn.count("    progress: not asked\n") == 6
    assert "  not asked  not asked  " in drawn, "nor the rates of brokers"
    assert "unknown" not in drawn.partition("6 moves in flight;")[2].replace("THROTTLE", "")
    assert "\n6 moves in flight" in shown
    for text in (shown, drawn):
        for name, target in targets.items():
            assert f"{name[0]}-{name[1]}  {before[name]} to {target}: {target[0]} comes, " in text
    await simulated.alter("a", dict.fromkeys(targets))
    await nothing_is_left(simulated)


async def nothing_is_left(cluster: Cluster) -> None:
    """Of cancelled moves: what is still to be deleted is shown, also by a test that stops the server."""

    async def are_deleted() -> bool:
        return all(len(found) == 2 for found in (await cluster.replicas()).values())

    await eventually(are_deleted)


async def test_fg_1_both_ways_count_a_move_that_waits_for_another_of_its_partition(simulated: Cluster) -> None:
    bootstrap = simulated.servers["a"].ready_value("bootstrap")
    replicas = await simulated.replicas()
    name = min(replicas)
    first, second = ({1, 2, 3} - set(replicas[name])).pop(), replicas[name][0]
    partition = TopicPartition(*name)
    await simulated.configure("a", {MAX_PER_CLUSTER: "1"})
    async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
        for target, route in (((first, second), RPC), ((second, first), QUEUE)):
            answer = await client.alter_partition_reassignments({partition: MoveTerms(target, route)})
            assert answer == {partition: None}
        by_zookeeper = (await run("status", "--zookeeper-connect", simulated.connect, "--json")).document
        for found in (by_zookeeper, await Command(bootstrap).json("status")):
            totals = found["status"]["totals"]
            assert (totals["in_flight"], +Counter(totals["waiting"])) == (1, {"queue": 1})
        await client.alter_partition_reassignments({partition: None})
    await simulated.configure("a", {MAX_PER_CLUSTER: None})
    await nothing_is_left(simulated)


async def test_sv_7_a_lost_broker_and_a_controller_that_is_a_broker_are_shown(simulated: Cluster) -> None:
    assert await simulated.servers["a"].stop() == 0
    await simulated.zk.create(znode_paths.CONTROLLER, encode_controller(2, 0), ephemeral=True)
    await simulated.zk.create(znode_paths.failed_broker(9), encode_failure(1_700_000_000_000))

    found = await read_status.from_zookeeper(simulated.connect, 10)
    shown = (await run("status", "--zookeeper-connect", simulated.connect)).out

    assert found.controller is not None
    assert (found.controller.id, found.controller.kind) == (2, BROKER)
    assert "!! 3 of 4 brokers live; lost: 9 since 2023-11-14 22:13:20 UTC\n" in shown
    assert says_no_rule(shown)
    await simulated.zk.delete(znode_paths.failed_broker(9))
    await simulated.zk.delete(znode_paths.CONTROLLER)


async def test_mg_5_a_kraft_controller_that_has_taken_the_cluster_is_named_as_such(simulated: Cluster) -> None:
    if simulated.servers["a"].alive:
        assert await simulated.servers["a"].stop() == 0
    await eventually(lambda: has_no_controller(simulated))
    data = encode_controller(3000, 0).replace(b'"kraftControllerEpoch":-1', b'"kraftControllerEpoch":4')
    await simulated.zk.create(znode_paths.CONTROLLER, data)

    shown = await run("status", "--zookeeper-connect", simulated.connect)
    found = (await run("status", "--zookeeper-connect", simulated.connect, "--json")).document

    assert shown.out.startswith("controller: KRaft controller 3000, epoch ")
    assert says_no_rule(shown.out)
    assert found["controller"]["kind"] == KRAFT
    assert (found["brokers"], found["healing"]) == ([], None), "brokers in KRaft mode look lost in ZooKeeper"
    assert "brokers in KRaft mode do not register" in " ".join(shown.out.split())
    for asks in (["check"], ["check", "--without", "3"], ["check", "--for-kraft"]):
        checked = (await run(*asks, "--zookeeper-connect", simulated.connect, "--json")).document
        told = {one["subject"] for one in checked["findings"] if one["level"] == "UNSAFE"}
        assert told == {"migration"}, "nothing is said of brokers and replicas"
    await simulated.zk.delete(znode_paths.CONTROLLER)


def says_no_rule(shown: str) -> bool:
    """Caps and switches are those of a server: a stock controller knows none."""
    return "caps:" not in shown and "may start" not in shown


async def test_sv_7_a_cluster_without_a_controller_is_exit_code_1(simulated: Cluster) -> None:
    if simulated.servers["a"].alive:
        assert await simulated.servers["a"].stop() == 0
    await eventually(lambda: has_no_controller(simulated))

    ended = await run("status", "--zookeeper-connect", simulated.connect)

    assert (ended.code, ended.out.splitlines()[0]) == (1, "controller: none")
    assert "!! there is no controller: /controller does not exist\n" in ended.out
    assert "\nNothing moves.\n" in ended.out, "what ZooKeeper alone holds is shown"


async def test_fg_2_an_empty_place_in_zookeeper_may_be_a_mistyped_chroot(simulated: Cluster) -> None:
    host, _, _ = simulated.connect.partition("/")
    ended = await run("status", "--zookeeper-connect", f"{host}/nobody")
    assert ended.code == 1
    assert f"!! {EMPTY_PLACE[:40]}" in ended.out
    assert f"note: {EMPTY_PLACE}" in " ".join(line.strip() for line in ended.out.splitlines())
    assert ended.err == ""


async def has_no_controller(cluster: Cluster) -> bool:
    return await cluster.zk.exists(znode_paths.CONTROLLER) is None


async def test_sv_7_where_no_server_answers_one_line_says_so_in_time() -> None:
    ended = await run("status", "--zookeeper-connect", "127.0.0.1:1", "--timeout-ms", "300")

    assert (ended.code, ended.out) == (1, "")
    assert len(ended.err.splitlines()) == 1
    assert "127.0.0.1:1" in ended.err
