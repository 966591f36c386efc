"""Writes the archives of a version (`class_archives`) at the first start of one of its nodes.

A node that is there for nothing else loads the classes: a broker of a test would stand still while its archive is
written, and lose its session.
"""

import asyncio
import signal
import subprocess
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Producer

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.jvm import QUICK

from .class_archives import archive_of, mapped
from .jars import CACHE, classpath, locked
from .node_jvm import JVM, STARTED, java
from .ports import kept_ports
from .process import LoggedProcess

_LIST_MOVES = {
    "2.": "kafka.admin.ReassignPartitionsCommand",
    "3.3.": "kafka.admin.ReassignPartitionsCommand",
    "": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
}
"""By the beginning of the version. It stands for all tools: most of what one loads is the client's."""


async def of_nodes(version: str, *, is_kraft: bool) -> tuple[str, ...]:
    """Options for the JVM of a node."""
    archive = archive_of(version, "kraft" if is_kraft else "zookeeper")
    if not archive.exists():
        await asyncio.to_thread(_write, version, archive)
    return mapped(archive)


def _write(version: str, archive: Path) -> None:
    with locked(CACHE / f"classes-{version}.lock"):
        if archive.exists():
            return
        with TemporaryDirectory(dir=CACHE) as scratch:
            written = Path(scratch) / "node", Path(scratch) / "tool"
            asyncio.run(_load_classes(version, Path(scratch), *written, is_kraft=archive.name.startswith("kraft")))
            for one, kept in zip(written, (archive, archive_of(version, "tool")), strict=True):
                one.rename(kept)


async def _load_classes(version: str, folder: Path, by_node: Path, by_tool: Path, *, is_kraft: bool) -> None:
    """A node takes a record and answers a tool. Each writes the classes that it has loaded at its end."""
    port, controller = kept_ports(2)
    properties = {"log.dirs": str(folder / "data"), "offsets.topic.replication.factor": "1"}
    config, node = folder / "server.properties", LoggedProcess(folder / "log")
    async with AsyncExitStack() as stack:
        if is_kraft:
            properties |= _in_kraft(port, controller)
            _put(config, properties)
            format_it = ["kafka.tools.StorageTool", "format", "--cluster-id=4L6g3nShT-eMCtK--X86sw", "-c", str(config)]
            subprocess.run([*java(version, JVM), *format_it], check=True, stdout=subprocess.DEVNULL)
        else:
            zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(folder / "zookeeper"))
            listener = f"PLAINTEXT://127.0.0.1:{port}"
            _put(config, properties | {"zookeeper.connect": zookeeper.address, "broker.id": "1", "listeners": listener})
        stack.push_async_callback(node.kill)
        node.launch([*java(version, (*JVM, f"-XX:ArchiveClassesAtExit={by_node}")), "kafka.Kafka", str(config)])
        await node.wait_for_line(STARTED, 240)
        bootstrap = f"127.0.0.1:{port}"
        producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
        producer.produce("created-by-this", b"record")
        assert not producer.flush(60)
        main_class = next(name for begin, name in _LIST_MOVES.items() if version.startswith(begin))
        tool = ["java", *QUICK, f"-XX:ArchiveClassesAtExit={by_tool}", "-cp", classpath(version), main_class]
        subprocess.run([*tool, "--bootstrap-server", bootstrap, "--list"], check=True, capture_output=True)
        node.send(signal.SIGTERM)
        await node.ended()


def _in_kraft(port: int, controller: int) -> Mapping[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }


def _put(config: Path, properties: Mapping[str, str]) -> None:
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
