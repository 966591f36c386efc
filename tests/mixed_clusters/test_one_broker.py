"""What an operator does in front of a stock broker 3.9.1: look, take over, hand over. One broker serves all tests."""

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import DescribeConfigsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.docs.pages import DOCS, text_of
from tests.faults.cluster import Cluster, address_of, ask, metadata
from tests.jvm import QUICK
from tests.preflight.command import every_znode, run
from tests.processes import ended, processes
from tests.reassign_command.run_command import Command, kafka_reassign
from tests.stock import class_archives
from tests.stock.cluster import StockBroker, StockCluster
from tests.stock.jars import BROKER_VERSION, classpath, require
from tests.stock.tools import Output, Tools
from tests.waiting import eventually

from .mixed_cluster import OUTLIVES_PAUSES, controller

pytestmark = [
    pytest.mark.stock,
    pytest.mark.release,
    pytest.mark.asyncio(loop_scope="module"),
]

BROKER = 1


class OneBroker:
    """A stock broker on a ZooKeeper of its own; `cluster` starts our servers there.

    untouched   the znodes before the first server of ours
    """

    def __init__(self, broker: StockBroker, cluster: Cluster, directory: Path, untouched: Collection[str]) -> None:
        self.broker = broker
        self.cluster = cluster
        self.directory = directory
        self.untouched = untouched

    async def is_controlled_by(self, wanted: int) -> bool:
        """Whether `/controller` names it, and the broker as well."""
        shown = await metadata(address_of(self.broker.address))
        return await controller(self.cluster.zk) == wanted and shown.controller_id == wanted


def names_the_controller(bootstrap: str) -> bool:
    """Whether a new client learns of the controller. One that learns of no broker at first never asks again."""
    try:
        known = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=10)
    except KafkaException:
        return False
    return bool(known.controller_id >= 0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stock(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OneBroker]:
    require(BROKER_VERSION)
    directory = tmp_path_factory.mktemp("one-broker")
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        async with ZooKeeper(zookeeper.address) as outside:
            await outside.ensure_path("/kafka")
        connect = f"{zookeeper.address}/kafka"
        zk = await stack.enter_async_context(ZooKeeper(connect))
        brokers = StockCluster(connect, directory, [BROKER])
        stack.push_async_callback(brokers.kill)
        group = await stack.enter_async_context(processes(directory))
        await brokers.start()
        await eventually(lambda: asyncio.to_thread(names_the_controller, brokers.bootstrap), within=120)
        topic = NewTopic("t", num_partitions=3, replication_factor=1)
        admin = AdminClient({"bootstrap.servers": brokers.bootstrap, "log_level": 0})
        await asyncio.to_thread(admin.create_topics([topic], operation_timeout=30)["t"].result, 60)
        untouched = await every_znode(zk)
        yield OneBroker(brokers.brokers[BROKER], Cluster(group, zk, connect, directory), directory, set(untouched))


async def test_sv_3_the_controllership_of_a_stock_broker_is_taken_as_the_setting_says_and_given_back(
    stock: OneBroker,
) -> None:
    cluster = stock.cluster
    before = await cluster.epoch()
    for name, takeover, server in (("never", "never", 1001), ("vacant", "vacant", 1002)):
        await cluster.server(name, "--controller-takeover", takeover, broker_id=server)
        assert (await metadata(cluster.address(name))).controller_id == BROKER
        assert await cluster.epoch() == before
    assert await cluster.servers["vacant"].stop() == 0

    await cluster.server("always", "--controller-takeover", "always", *OUTLIVES_PAUSES)
    await eventually(lambda: stock.is_controlled_by(1000), within=60)
    assert await cluster.epoch() == before + 1
    await stock.broker.wait_for_line(re.compile(rb"\[Controller id=1\] Resigned"))
    assert await cluster.servers["always"].stop() == 0

    await eventually(lambda: stock.is_controlled_by(BROKER), within=60)
    assert await cluster.epoch() == before + 2
    assert (await metadata(cluster.address("never"))).controller_id == BROKER
    assert await cluster.servers["never"].stop() == 0


async def test_sv_4_a_stock_cluster_is_safe_and_the_check_changes_nothing_in_it(stock: OneBroker) -> None:
    before = await every_znode(stock.cluster.zk)

    ended = await run("check", "--zookeeper-connect", stock.cluster.connect, "--json")
    taken = await run("check", "--zookeeper-connect", stock.cluster.connect, "--json", "--broker-id", str(BROKER))

    assert (ended.code, ended.err) == (0, "")
    levels = {one["subject"]: one["level"] for one in ended.document["findings"]}
    assert {subject for subject, level in levels.items() if level != "OK"} == set()
    assert {"rights", "brokers", "versions", "protocol", "listeners", "policies", "migration"} <= set(levels)
    assert taken.code == 1
    assert [one["subject"] for one in taken.document["findings"] if one["level"] == "UNSAFE"] == ["broker-id"]
    assert await every_znode(stock.cluster.zk) == before


async def test_sv_7_the_status_of_a_cluster_whose_controller_is_a_stock_broker(stock: OneBroker) -> None:
    by_nodes = await Command(stock.broker.address).json("status")
    by_zookeeper = await run("status", "--zookeeper-connect", stock.cluster.connect, "--json")

    assert by_zookeeper.code == 0
    shown = {"id": BROKER, "at": [stock.broker.address]}
    assert by_nodes["controller"] == {**shown, "epoch": None, "since": None}
    stat = await stock.cluster.zk.exists(znode_paths.CONTROLLER)
    assert stat is not None
    epoch = await stock.cluster.epoch()
    assert by_zookeeper.document["controller"] == {**shown, "kind": "broker", "epoch": epoch, "since": stat.ctime}


FEATURES = {
    "describe": "describe",
    "a level of the metadata": "upgrade --metadata 3.8",
    "a feature": "upgrade --feature group.version=1",
    "two features": "upgrade --feature group.version=1 --feature none.such=3",
    "as a dry run": "upgrade --metadata 3.8 --dry-run",
    "a level of the metadata again": "downgrade --metadata 3.3",
    "without care": "downgrade --metadata 3.3 --unsafe",
    "a lower level of a feature": "downgrade --feature group.version=1",
    "without the feature": "disable --feature group.version",
    "a level that is none": "upgrade --metadata soon",
}
"""Calls of kafka-features.sh."""
_FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")


async def test_sv_2_kafka_features_sh_says_of_a_server_what_it_says_of_a_stock_broker(
    stock: OneBroker, zk_connect: str
) -> None:
    """The server has no brokers, so the tool cannot ask one of them instead."""
    await eventually(lambda: stock.is_controlled_by(BROKER), within=60)
    server = await stock.cluster.server("features", connect=zk_connect, broker_id=1003)
    bootstraps = (stock.broker.address, server.ready_value("bootstrap"))
    with Tools(BROKER_VERSION) as tools:
        for label, call in FEATURES.items():
            outputs = [await tools.run("features", "--bootstrap-server", at, *call.split()) for at in bootstraps]
            theirs, ours = ([one.code, *said(one)] for one in outputs)
            assert ours == theirs, label
            assert ours[0] == int(call != "describe"), ours
    assert await server.stop() == 0


def said(output: Output) -> list[str]:
    """What a tool has printed, without the frames of Java's stack."""
    return [line for line in output.lines + output.err.splitlines() if not _FRAME.match(line)]


BLOCK = re.compile(r"^```(sh)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STOCK_TOOLS = {
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "zookeeper-shell.sh": "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka -server",
}
"""What Kafka's scripts of these names run."""


OF_OTHERS = " || test $? = 1"
"""A sample names brokers, topics or files that are not here: the command says so, and ends with 1."""


def commands_of_the_page() -> list[str]:
    """The blocks of commands of docs/operations.md, and the commands of its sample sessions, in their order."""
    found = []
    for kind, text in BLOCK.findall(text_of(DOCS / "operations.md")):
        samples = (line[2:] for line in text.splitlines() if line.startswith("$ "))
        found += [text] if kind else [f"{line.partition(' #')[0]}{of_others(line)}\n" for line in samples]
    return found


def of_others(line: str) -> str:
    return OF_OTHERS if re.search(r" --broker|moves\.json|--undo|--without|--topic payments", line) else ""


def free_address() -> str:
    """An address that the system has just given, and that nothing uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


async def test_sv_4_the_commands_of_the_operators_page_do_what_it_says_word_for_word(
    stock: OneBroker, tmp_path: Path
) -> None:
    addresses, *commands = commands_of_the_page()
    given = {
        "ZOOKEEPER": stock.cluster.connect,
        "BROKERS": stock.broker.address,
        "SERVER": free_address(),
        "METRICS": free_address(),
    }
    assert re.findall(r"^export (\w+)=\S+$", addresses, re.MULTILINE) == list(given), "only addresses are replaced"
    assert len(commands) >= 10
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, main_class in STOCK_TOOLS.items():
        program = programs / name
        options = " ".join(("-Xmx128m", *QUICK, *class_archives.of_tools(BROKER_VERSION)))
        program.write_text(f'#!/bin/sh\nexec java {options} -cp "{classpath(BROKER_VERSION)}" {main_class} "$@"\n')
        program.chmod(0o755)
    shown = [f"echo '=== {index}'\n{text}" for index, text in enumerate(commands)]
    script = tmp_path / "operations.sh"
    script.write_text("set -euo pipefail\n" + "".join(shown))
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    epoch = await stock.cluster.epoch()

    process = await asyncio.create_subprocess_exec(
        "bash",
        str(script),
        cwd=tmp_path,
        env=os.environ | given | {"PATH": path},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), 300)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        await ended(process)

    said = out.decode()
    assert process.returncode == 0, said
    parts = [part.partition("\n")[2] for part in said.split("=== ")[1:]]
    assert len(parts) == len(commands)
    look, stand_by, take_over = parts[:3]
    assert "It is safe for a kafka-reassign-rpc server to control this cluster." in look
    assert '{"ready":true,"role":"standby","controller":1}' in stand_by
    assert f": controller {BROKER} at {stock.broker.address}" in stand_by
    place = f"1000 at {given['SERVER']}, epoch {epoch + 1},"
    assert f": controller {place}" in take_over
    assert f"controller: server {place} since " in take_over
    assert "No partition reassignments found." in parts[3]
    assert '"role":"controller"' in said
    back = next(part for text, part in zip(commands, parts, strict=True) if 'kill "$SERVE"' in text)
    assert f"controller: broker {BROKER} at {stock.broker.address}, epoch {epoch + 2}, since " in back
    left = set(await every_znode(stock.cluster.zk)) - set(stock.untouched)
    assert not [path for path in left if path.startswith("/admin")], "the page says how to delete all of them"


async def test_hm_1_the_stock_tool_changes_our_settings_on_our_node_and_then_the_defaults_of_stock_brokers(
    stock: OneBroker,
) -> None:
    """Among those defaults, one name of ours made it refuse every other change."""
    cluster, interval, enabled = stock.cluster, "failure.interval.ms", "partition.reassignments.enabled"
    await cluster.server("settings", *OUTLIVES_PAUSES)
    await eventually(lambda: stock.is_controlled_by(1000), within=60)
    ours, defaults = ("--entity-name", "1000"), ("--entity-default",)
    try:
        with Tools(BROKER_VERSION) as tools:

            async def configs(entity: tuple[str, ...], *args: str) -> Output:
                where = ("--bootstrap-server", stock.broker.address, "--entity-type", "brokers", *entity)
                return await tools.run("configs", *where, *args)

            added = await configs(ours, "--alter", "--add-config", f"{interval}=60000,{enabled}=false")
            assert added.code == 0, added
            shown = await configs(ours, "--describe")
            assert f"{interval}=60000 sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:{interval}=60000" in shown.out
            assert (await configs(ours, "--alter", "--delete-config", enabled)).code == 0
            assert enabled not in (await configs(ours, "--describe")).out
            other = await configs(defaults, "--alter", "--add-config", "log.retention.ms=3600000")
            assert other.code == 0, other

            async def is_told() -> bool:
                """The tool deletes what the broker that it asks knows of."""
                return "log.retention.ms=3600000" in (await configs(defaults, "--describe")).out

            await eventually(is_told)
            assert (await configs(defaults, "--alter", "--delete-config", "log.retention.ms")).code == 0

            # What an earlier version has left there: the broker shows it as secrets, until it is moved.
            old = {interval: "5", enabled: "true"}
            await ConfigStore(cluster.zk).alter("brokers", "<default>", lambda _: old)

            async def secrets() -> set[str]:
                """The defaults that the stock broker shows without values: the tool stops if it asks this node."""
                cls = DescribeConfigsRequest
                resource = cls.DescribeConfigsResource(resource_type=4, resource_name="", configuration_keys=None)
                answer = await ask(address_of(stock.broker.address), cls(resources=[resource]), 1)
                return {one.name for one in answer.results[0].configs if one.is_sensitive and one.value is None}

            async def are_secrets() -> bool:
                return await secrets() == set(old)

            await eventually(are_secrets, within=60)
            host, port = cluster.address("settings")
            moved = await kafka_reassign("settings", "--bootstrap-server", f"{host}:{port}", "--move")
            assert moved.code == 0, moved

            async def are_gone() -> bool:
                return not await secrets()

            await eventually(are_gone, within=60)
            again = await configs(defaults, "--alter", "--add-config", "log.retention.ms=3600000")
            assert again.code == 0, again
    finally:
        assert await cluster.servers["settings"].stop() == 0
    await cluster.zk.delete(znode_paths.SETTINGS)
    await eventually(lambda: stock.is_controlled_by(BROKER), within=60)
