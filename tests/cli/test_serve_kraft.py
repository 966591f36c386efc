"""sv-1: a stranger's `make serve-kraft`: a cluster, the service in front of it, a first move, and the end of all."""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_reassign_rpc import embedded_kraft
from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.embedded_kraft import KAFKA_VERSION, NODES, JarsUnavailable
from tests.docs.pages import DOCS, README, section_of, shell_commands
from tests.fork_server import KAFKA_REASSIGN, output_of
from tests.http_client import get
from tests.processes import Process, Processes, children_of, exists
from tests.stock.ports import kept_ports
from tests.stock.tools import Tools
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
PORT_0 = ("--listeners", "PLAINTEXT://127.0.0.1:0", "--metrics-listener", "127.0.0.1:0")
TOPIC, TARGET = "payments", [3, 1]


def recipe(*variables: str) -> list[str]:
    """The arguments of `kafka-reassign-rpc`. A `make` that runs the tests has its flags in the environment."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    shown = subprocess.run(
        ["make", "-n", "serve-kraft", *variables], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    command, *arguments = shown.stdout.splitlines()[-1].split()
    assert Path(command).name == "kafka-reassign-rpc"
    return arguments


@pytest.mark.stock
@pytest.mark.gate
async def test_sv_1_make_serve_kraft_serves_a_cluster_the_stock_tool_moves_a_topic_and_ctrl_c_leaves_no_process(
    commands: Processes, tmp_path: Path
) -> None:
    server = await commands.start("serve", *recipe(), *PORT_0)
    assert server.ready_value("brokers") == "1,2,3"
    assert (await get(server.ready_value("metrics"), "/")).status == 200
    children = children_of(server.pid)
    assert len(children) == len(NODES)
    await _pages_hold(commands, server, tmp_path)
    bootstrap, plan = server.ready_value("bootstrap"), tmp_path / "plan.json"
    moves = [{"topic": TOPIC, "partition": index, "replicas": TARGET} for index in range(6)]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    with Tools(KAFKA_VERSION) as tools:
        command = ("reassign-partitions", "--bootstrap-server", bootstrap, "--reassignment-json-file", str(plan))
        begun = await tools.run(*command, "--execute")
        assert begun.code == 0, begun

        async def has_moved() -> bool:
            async with AsyncReassignmentClient(bootstrap_servers=server.ready_value("cluster")) as client:
                found = (await client.describe_topics([TOPIC]))[TOPIC]
            assert not isinstance(found, KafkaError)
            return all(one.replicas == tuple(TARGET) and {*one.isr} == {*TARGET} for one in found.values())

        await eventually(has_moved, within=60)
        assert "is completed" in (await tools.run(*command, "--verify")).out

    assert await server.stop(signal.SIGINT) == 0

    assert not [child for child in children if exists(child)]
    assert "Traceback" not in server.log


async def _pages_hold(commands: Processes, server: Process, folder: Path) -> None:
    """The commands of README.md and of docs/kraft.md, one after the other, as written but for addresses."""
    first = server.ready_value("bootstrap")
    with Tools(KAFKA_VERSION) as tools:
        async with AsyncReassignmentClient(bootstrap_servers=first) as client:

            async def nothing_moves() -> bool:
                return not await client.list_partition_reassignments()

            make, move = shell_commands(section_of(README, "On KRaft"))
            assert make[0] == "make serve-kraft"
            await eventually(lambda: _prints(tools, *move, {"localhost:9092": first}))
            await eventually(nothing_moves)
            before = dict.fromkeys((TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)), (1, 2))
            await client.alter_partition_reassignments(before)
            await eventually(nothing_moves)

            section = section_of(DOCS / "kraft.md", "In five minutes")
            [serve] = re.findall(r"^kafka-reassign-rpc (serve (?:.*\\\n)*.*)", section, re.MULTILINE)
            port = kept_ports(1)[0]
            own = {
                "broker1:9092,broker2:9092": server.ready_value("cluster"),
                "PLAINTEXT://0.0.0.0:9192": f"PLAINTEXT://127.0.0.1:{port}",
                "PLAINTEXT://reassign1:9192": f"PLAINTEXT://127.0.0.1:{port}",
                "127.0.0.1:9404": "127.0.0.1:0",
            }
            words = [own.get(one, one) for one in shlex.split(serve.replace("\\\n", " "))]
            second = await commands.start("second", *words, "--broker-id", "1001", "--data-dir", str(folder))
            assert second.ready_value("brokers") == "1,2,3"
            queue, describe, listed = shell_commands(section)
            entries = [
                {"topic": TOPIC, "partition": index, "replicas": target}
                for index, target in enumerate(([3, 1], [2, 3]))
            ]
            (folder / "move.json").write_text(json.dumps({"version": 1, "partitions": entries}))
            at = {
                "localhost:9192": second.ready_value("bootstrap"),
                "move.json": str(folder / "move.json"),
                "2MB": "10kB",  # the moves last until the last command has shown them: a quota lets some seconds pass
            }
            assert await _prints(tools, *queue, at)
            await eventually(lambda: _prints(tools, *describe, at))
            await eventually(lambda: _prints(tools, *listed, at))
            await client.alter_throttles(0)
            await eventually(nothing_moves)
            assert await second.stop() == 0


async def _prints(tools: Tools, command: str, last: str, addresses: Mapping[str, str]) -> bool:
    """Whether it ends well, and prints this line, but for numbers that differ each time."""
    name, *words = (addresses.get(one, one) for one in shlex.split(command))
    if name == "kafka-reassign":
        found = await output_of(KAFKA_REASSIGN, words)
    else:
        found = await tools.run(name.removeprefix("kafka-").removesuffix(".sh"), *words)
    assert found.code == 0, found
    shown = {_without_sizes(line) for line in found.out.splitlines()}
    return _without_sizes(last) in shown


def _without_sizes(line: str) -> str:
    return re.sub(r"[\d.]+ [kMG]?B", "SIZE", line)


def test_sv_1_make_serve_kraft_takes_a_cluster_that_is_there() -> None:
    theirs = "broker1:9092,broker2:9092"
    arguments = recipe(f"BOOTSTRAP={theirs}")
    assert arguments[:3] == ["serve", "--bootstrap-server", theirs]
    assert "--own-cluster" not in arguments


def test_sv_1_without_maven_it_is_said_what_to_install_or_to_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JarsUnavailable, match=r"Maven is needed.*or serve a cluster of yours: --bootstrap-server"):
        embedded_kraft.class_path(tmp_path)


def test_sv_1_jars_that_maven_has_found_are_looked_for_again_where_one_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, jar = tmp_path / f"classpath-{KAFKA_VERSION}", tmp_path / "one.jar"
    jar.touch()
    kept.write_text(os.pathsep.join([str(jar), str(jar)]))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert embedded_kraft.class_path(tmp_path) == kept.read_text()
    jar.unlink()
    with pytest.raises(JarsUnavailable):
        embedded_kraft.class_path(tmp_path)
