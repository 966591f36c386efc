"""Kafka's own tools: 2.8's `kafka-reassign-partitions.sh --zookeeper` and `kafka-preferred-replica-election.sh
--zookeeper`, the last version that writes these znodes itself; `zookeeper-shell.sh`, as an operator uses it; and a
later `kafka-reassign-partitions.sh` with waiting moves."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller.duties import leader_balance
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps, ReassignmentSettings
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, FOLLOWER_REPLICAS
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from tests.controller.bare_controller import Name, Replicas, batch
from tests.controller.cluster import NO_BALANCE, Cluster, cluster
from tests.jvm import QUICK
from tests.stock import class_archives
from tests.stock.jars import BROKER_VERSION, classpath, require
from tests.waiting import eventually

VERSION = "2.8.2"
TOOL = "kafka.admin.ReassignPartitionsCommand"
ELECTION = "kafka.admin.PreferredReplicaLeaderElectionCommand"
LATER_TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
SHELL = "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka"
LOG4J = Path(__file__).parents[2] / "stock" / "log4j-tools.properties"

pytestmark = [pytest.mark.stock]


@pytest_asyncio.fixture
async def world(zk_connect: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    require(VERSION)
    monkeypatch.setattr(leader_balance, "FIRST_CHECK_S", 600.0)  # a slow tool alone lets leaders be elected
    async with cluster(zk_connect, broker_settings=NO_BALANCE) as made:
        await made.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
        await made.create_topic("free", {0: (1, 2)})
        yield made


async def tool(world: Cluster, *arguments: str) -> str:
    """The output of Kafka 2.8's tool."""
    return await _run(VERSION, TOOL, "--zookeeper", world.connect, *arguments)


async def later_tool(world: Cluster, *arguments: str) -> str:
    """The output of Kafka 3.9's tool."""
    return await _run(BROKER_VERSION, LATER_TOOL, "--bootstrap-server", world.bootstrap, *arguments)


def java(version: str, *arguments: str) -> list[str]:
    command = ["java", "-Xmx128m", *QUICK, *class_archives.of_tools(version), f"-Dlog4j.configuration=file:{LOG4J}"]
    return [*command, "-cp", classpath(version), *arguments]


async def _run(version: str, *arguments: str) -> str:
    command = java(version, *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return out.decode()


def plan(path: Path, targets: Mapping[Name, Replicas]) -> str:
    entries = [{"topic": topic, "partition": index, "replicas": to} for (topic, index), to in targets.items()]
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


@pytest.mark.gate
async def test_236_5_kafka_2_8s_tool_executes_and_verifies(world: Cluster, tmp_path: Path) -> None:
    moves = plan(tmp_path / "moves.json", {("held", 0): (3, 4), ("free", 0): (4, 5)})

    output = await tool(world, "--reassignment-json-file", moves, "--execute")
    assert "Successfully started partition reassignments for free-0,held-0" in output, output
    await eventually(lambda: world.started(("held", 0)))
    await eventually(lambda: world.has(("free", 0, (4, 5))))

    output = await tool(world, "--reassignment-json-file", moves, "--execute")
    assert "existing assignment running" in output or "existing partition assignment" in output, output
    output = await tool(world, "--reassignment-json-file", moves, "--verify", "--preserve-throttles")
    assert "Reassignment of partition free-0 is complete" in output, output
    assert "Reassignment of partition held-0 is complete" not in output, output

    await world.release("held")
    await eventually(world.batch_gone)
    output = await tool(world, "--reassignment-json-file", moves, "--verify")
    for name in ("free-0", "held-0"):
        assert f"Reassignment of partition {name} is complete" in output, output


async def test_236_2_and_236_11_a_cancel_of_moves_by_kafka_2_8s_tool_removes_their_throttle(
    world: Cluster, tmp_path: Path
) -> None:
    configs = ConfigStore(world.zk)
    moves = plan(tmp_path / "moves.json", {("held", 0): (3, 4), ("held", 1): (4, 5)})
    output = await tool(world, "--reassignment-json-file", moves, "--execute", "--throttle", "1")
    assert "Successfully started" in output, output
    await eventually(lambda: world.started(("held", 0), ("held", 1)))
    assert (await configs.get("topics", "held"))[FOLLOWER_REPLICAS] == "0:3,0:4,1:4,1:5"
    assert (await configs.get("brokers", "3"))[FOLLOWER_RATE] == "1"

    await world.cancel_all()

    assert await world.batch_gone()
    assert await configs.get("topics", "held") == await configs.get("brokers", "3") == {}
    await eventually(lambda: world.has(("held", 0, (1, 2)), ("held", 1, (1, 2))))
    output = await tool(world, "--reassignment-json-file", moves, "--execute")
    assert "Successfully started" in output, "and begun anew"


async def test_sv_4_kafka_2_8s_tool_lets_the_preferred_replicas_of_a_file_and_then_of_all_partitions_lead(
    world: Cluster, tmp_path: Path
) -> None:
    everything = [("held", 0), ("held", 1), ("free", 0)]
    assert await world.alter(dict.fromkeys(everything, (2, 1))) == dict.fromkeys(everything, (0, None))
    assert all([await world.led_by(name, 1) for name in everything]), "a new order alone changes no leader"

    async def is_gone() -> bool:
        return await world.zk.exists(znode_paths.PREFERRED_REPLICA_ELECTION) is None

    wanted = [{"topic": "free", "partition": index} for index in (0, 7)]
    file = tmp_path / "elect.json"
    file.write_text(json.dumps({"version": 1, "partitions": wanted}))
    output = await _run(VERSION, ELECTION, "--zookeeper", world.connect, "--path-to-json-file", str(file))
    assert "Successfully started preferred replica election for partitions Set(free-0)" in output, output
    assert "Skipping preferred replica leader election for partition free-7 since it doesn't exist." in output, output
    await eventually(is_gone)
    await eventually(lambda: world.led_by(("free", 0), 2))
    assert await world.led_by(("held", 0), 1)

    output = await _run(VERSION, ELECTION, "--zookeeper", world.connect)
    assert "Successfully started preferred replica election for partitions" in output, output
    await eventually(is_gone)
    for name in everything:
        await eventually(partial(world.led_by, name, 2))
    assert await world.moving() == set()


@asynccontextmanager
async def shell(world: Cluster) -> AsyncIterator[Callable[[str], None]]:
    """Run Kafka's zookeeper-shell.sh with these commands, one a line. A failure shows its output."""
    process = await asyncio.create_subprocess_exec(
        *java(BROKER_VERSION, SHELL, "-server", world.connect),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    stdin = process.stdin
    try:
        yield lambda line: stdin.write(f"{line}\n".encode())
    finally:
        out, _ = await process.communicate(b"quit\n")
        print(out.decode())


async def test_236_5_to_236_8_an_operator_writes_every_znode_by_hand_with_zookeeper_shell(world: Cluster) -> None:
    require(BROKER_VERSION)

    def moves(targets: Mapping[Name, Replicas]) -> str:
        return batch(targets).decode().replace(" ", "")  # the shell takes words

    first, second = ("held", 0), ("held", 1)
    async with shell(world) as type_in:
        type_in(f"create /admin/reassign_partitions {moves({first: (3, 4)})}")
        await eventually(lambda: world.started(first))
        begun = moves({first: (3, 4)}).removesuffix("}]}") + ',"original_replicas":[1,2]}'
        added = begun + ',{"topic":"held","partition":1,"replicas":[4,5]}]}'
        type_in(f"set /admin/reassign_partitions {added}")
        await eventually(lambda: world.started(second))
        type_in("create /admin/cancel_reassignment_in_progress")
        await eventually(world.batch_gone)
        await eventually(lambda: world.has(("held", 0, (1, 2)), ("held", 1, (1, 2))))

        type_in("create /admin/reassign_cancel")
        await eventually(lambda: world.disabled(first))
        type_in(f"create /admin/reassign_partitions_queue {moves({first: (3, 4), second: (3, 4)})}")
        await eventually(lambda: world.waits(first, second))
        type_in(f"set /admin/reassign_partitions_queue {moves({second: (3, 4)})}")
        await eventually(lambda: world.waits(second))
        type_in('create -s /admin/reassignment_requests/request_ {"version":1,"assignments":{"held":{"0":[4,5]}}}')
        type_in("delete /admin/reassign_cancel")
        await eventually(world.queue_gone)
        await eventually(lambda: world.moves_to(first, (4, 5)))
        assert await world.moves_to(second, (3, 4))
        assert (await world.record(first))["route"] == "request"
        type_in("delete /admin/reassignments/held/1")
        await world.release("held")
        await eventually(lambda: world.has(("held", 0, (4, 5)), ("held", 1, (3, 4))))


async def test_236_13_a_later_tool_shows_waiting_moves_as_in_progress_lists_and_cancels_them(
    zk_connect: str, tmp_path: Path
) -> None:
    require(BROKER_VERSION)
    async with cluster(zk_connect, settings=ReassignmentSettings(caps=InFlightCaps(per_cluster=0))) as made:
        await made.create_topic("free", {0: (1, 2)})
        moves = plan(tmp_path / "moves.json", {("free", 0): (3, 4)})
        file = ("--reassignment-json-file", moves)

        output = await later_tool(made, *file, "--execute")
        assert "Successfully started partition reassignment for free-0" in output, output
        assert await made.states() == {("free", 0): "waiting"}
        output = await later_tool(made, *file, "--verify", "--preserve-throttles")
        assert "Reassignment of partition free-0 is still in progress." in output, output
        output = await later_tool(made, "--list")
        assert "free-0: replicas: 1,2. adding: 3,4. removing: 1,2." in output, output
        output = await later_tool(made, *file, "--cancel")
        assert "Successfully cancelled partition reassignment for: free-0" in output, output
        assert await made.states() == {}
        assert await made.queue_gone()
