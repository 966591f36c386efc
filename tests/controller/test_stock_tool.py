"""Kafka 2.8's own `kafka-reassign-partitions.sh --zookeeper`, the last one that writes the znode itself."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from tests.controller.cluster import Cluster, cluster
from tests.controller.rig import Name, Replicas
from tests.stock.jars import classpath, require
from tests.waiting import eventually

VERSION = "2.8.2"
TOOL = "kafka.admin.ReassignPartitionsCommand"
LOG4J = Path(__file__).parents[1] / "stock" / "log4j-tools.properties"

pytestmark = [pytest.mark.stock, pytest.mark.timeout(120)]


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    require(VERSION)
    async with cluster(zk_connect) as made:
        await made.create_topic("held", {0: (1, 2), 1: (1, 2)}, held=True)
        await made.create_topic("free", {0: (1, 2)})
        yield made


async def tool(world: Cluster, *arguments: str) -> str:
    """What it prints."""
    command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Dlog4j.configuration=file:{LOG4J}"]
    command += ["-cp", classpath(VERSION), TOOL, "--zookeeper", world.connect, *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return out.decode()


def plan(path: Path, targets: Mapping[Name, Replicas]) -> str:
    entries = [{"topic": topic, "partition": index, "replicas": to} for (topic, index), to in targets.items()]
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


async def test_236_5_kafka_2_8s_tool_executes_and_verifies(world: Cluster, tmp_path: Path) -> None:
    moves = plan(tmp_path / "moves.json", {("held", 0): (3, 4), ("free", 0): (4, 5)})

    said = await tool(world, "--reassignment-json-file", moves, "--execute")
    assert "Successfully started partition reassignments for free-0,held-0" in said, said
    await eventually(lambda: world.started(("held", 0)))
    await eventually(lambda: world.has(("free", 0, (4, 5))))

    said = await tool(world, "--reassignment-json-file", moves, "--execute")
    assert "existing assignment running" in said or "existing partition assignment" in said, said
    said = await tool(world, "--reassignment-json-file", moves, "--verify", "--preserve-throttles")
    assert "Reassignment of partition free-0 is complete" in said, said
    assert "Reassignment of partition held-0 is complete" not in said, said

    await world.release("held")
    await eventually(world.batch_gone)
    said = await tool(world, "--reassignment-json-file", moves, "--verify")
    for name in ("free-0", "held-0"):
        assert f"Reassignment of partition {name} is complete" in said, said


async def test_236_2_what_kafka_2_8s_tool_began_can_be_cancelled(world: Cluster, tmp_path: Path) -> None:
    moves = plan(tmp_path / "moves.json", {("held", 0): (3, 4), ("held", 1): (4, 5)})
    said = await tool(world, "--reassignment-json-file", moves, "--execute")
    assert "Successfully started" in said, said
    await eventually(lambda: world.started(("held", 0), ("held", 1)))

    await world.cancel_all()

    assert await world.batch_gone()
    await eventually(lambda: world.has(("held", 0, (1, 2)), ("held", 1, (1, 2))))
    said = await tool(world, "--reassignment-json-file", moves, "--execute")
    assert "Successfully started" in said, "and begun anew"
