"""Write the golden frames: `python -m tests.stock.golden [DIRECTORY]`.

Starts stock clusters whose brokers advertise a recording proxy (capture.py), runs the stock tools against them
and keeps a few frames of every API, version and direction:

    3.9.1 brokers in ZooKeeper mode   driven by the tools of 3.9.1 and 4.1.0; also broker to controller and back
    4.1.0 brokers in KRaft mode       driven by the tools of 4.1.0, for version 1 of AlterPartitionReassignments

Each file is a JSON list of {"api", "key", "version", "direction", "from", "hex"}; `hex` is the frame without the
four bytes of length. Log directories are Kafka's defaults, so no frame has a path of this machine.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from confluent_kafka import Producer

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper

from .capture import Capture, Frame, take
from .cluster import StockCluster
from .jars import TOOL_VERSIONS
from .kraft import kraft_cluster
from .tools import Output, Tools

APIS = frozenset((3, 4, 5, 6, 7, 10, 18, 19, 20, 32, 33, 34, 35, 37, 43, 44, 45, 46, 48, 56, 60, 67, 75))
MAX_BYTES = 6_000
MAX_KEPT = 4
"""Frames of one API, version, direction and sender: of different lengths, from the shortest to the longest."""

_GOLDEN = Path(__file__).parents[1] / "protocol" / "golden"
_LOG_DIRS = Path("/tmp/kafka-logs")


async def record() -> list[tuple[Frame, str]]:
    """Run both clusters; the frames, each with its sender."""
    with tempfile.TemporaryDirectory() as scratch:
        return [*await _zookeeper_mode(Path(scratch)), *await _kraft_mode(Path(scratch))]


async def _zookeeper_mode(scratch: Path) -> list[tuple[Frame, str]]:
    frames: list[tuple[Frame, str]] = []
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(scratch / "zookeeper", heap_mb=128))
        captures = {i: await stack.enter_async_context(Capture()) for i in (1, 2, 3)}
        per_broker = {i: _properties(i, capture) for i, capture in captures.items()}
        cluster = StockCluster(zookeeper.address, scratch / "stock", captures, per_broker=per_broker)
        stack.push_async_callback(cluster.kill)
        for i, capture in captures.items():
            capture.target = partial(getattr, cluster.brokers[i], "port")
        await cluster.start()
        for version in TOOL_VERSIONS:
            with Tools(version) as tools:
                await _drive(tools, captures[1].port, scratch)
            frames += [(frame, _sender(frame, version, "3.9.1")) for frame in take(captures.values())]
        await cluster.brokers[3].stop()
        await cluster.brokers[3].start()
        frames += [(frame, "broker 3.9.1") for frame in take(captures.values()) if frame.peer.isdigit()]
    return frames


async def _kraft_mode(scratch: Path) -> list[tuple[Frame, str]]:
    async with AsyncExitStack() as stack:
        captures = {i: await stack.enter_async_context(Capture()) for i in (1, 2, 3)}
        nodes = kraft_cluster(scratch / "kraft", captures, {i: _properties(i, c) for i, c in captures.items()})
        for node in nodes:
            captures[node.id].target = partial(getattr, node, "port")
            stack.push_async_callback(node.kill)
        await asyncio.gather(*(node.start() for node in nodes))
        with Tools("4.1.0") as tools:
            await _drive(tools, captures[1].port, scratch)
        frames = [(frame, _sender(frame, "4.1.0", "4.1.0 (KRaft)")) for frame in take(captures.values())]
    shutil.rmtree(_LOG_DIRS)
    return frames


def _properties(node_id: int, capture: Capture) -> Mapping[str, str]:
    log_dir = _LOG_DIRS / str(node_id)
    shutil.rmtree(log_dir, ignore_errors=True)
    return {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{capture.port}", "log.dirs": str(log_dir)}


def _sender(frame: Frame, tools: str, brokers: str) -> str:
    """A broker's client id is its own id, also when it is the controller."""
    return f"broker {brokers}" if frame.direction == "response" or frame.peer.isdigit() else f"tools {tools}"


async def _drive(tools: Tools, port: int, scratch: Path) -> None:
    """Run every tool once. A throttle holds a move to broker 3 in flight; it is cancelled, then made again."""
    topic = f"golden-{tools.version[0]}"
    server = ("--bootstrap-server", f"127.0.0.1:{port}")

    async def run(tool: str, *args: str) -> Output:
        return await tools.run(tool, *server, *args)

    def plan(name: str, replicas: list[int], **more: list[str]) -> str:
        path = scratch / f"{name}.json"
        moves = [{"topic": topic, "partition": 0, "replicas": replicas, **more}]
        path.write_text(json.dumps({"version": 1, "partitions": moves}))
        return str(path)

    await run("topics", "--create", "--topic", topic, "--replica-assignment", "1:2,2:1", "--config", "retention.ms=900")
    await asyncio.to_thread(_produce, port, topic)
    await run("topics", "--alter", "--topic", topic, "--partitions", "3", "--replica-assignment", "1:2,2:1,1:2")
    await run("topics", "--list")
    for kind, name in (("topics", topic), ("brokers", "1"), ("brokers", None)):
        entity = ["--entity-type", kind, *(["--entity-name", name] if name else ["--entity-default"])]
        setting = "retention.ms=901" if kind == "topics" else "num.io.threads=3"
        await run("configs", "--alter", *entity, "--add-config", setting)
        await run("configs", "--describe", *entity)
        await run("configs", "--alter", *entity, "--delete-config", setting.partition("=")[0])
    moving, moved, back = plan("moving", [3]), plan("moved", [3, 1]), plan("back", [2, 1])
    topics = scratch / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    await run("reassign-partitions", "--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2")
    slow = ("--throttle", "1", "--replica-alter-log-dirs-throttle", "1")
    await run("reassign-partitions", "--execute", "--reassignment-json-file", moving, *slow)
    await run("reassign-partitions", "--list")
    await run("topics", "--describe", "--topic", topic)
    await run("topics", "--alter", "--topic", topic, "--partitions", "4")
    await run("reassign-partitions", "--verify", "--reassignment-json-file", moving)
    await run("reassign-partitions", "--cancel", "--reassignment-json-file", moving)
    for reassignment in (moved, back):
        await run("reassign-partitions", "--execute", "--reassignment-json-file", reassignment)
        while "No partition" not in (await run("reassign-partitions", "--list")).out:
            pass
    if tools.version.startswith("4"):
        guard = "--disallow-replication-factor-change"
        await run("reassign-partitions", "--execute", "--reassignment-json-file", moving, guard)
    await run("leader-election", "--election-type", "preferred", "--all-topic-partitions")
    await run("leader-election", "--election-type", "unclean", "--topic", topic, "--partition", "0")
    await run("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", "77")
    with_dirs = plan("dirs", [2, 1], log_dirs=[str(_LOG_DIRS / "2"), "any"])
    await run("reassign-partitions", "--execute", "--reassignment-json-file", with_dirs)
    await run("log-dirs", "--describe", "--topic-list", topic)
    await run("broker-api-versions")
    await run("configs", "--describe", "--entity-type", "clients")
    await run("topics", "--delete", "--topic", topic)


def _produce(port: int, topic: str) -> None:
    """Produce more than a throttled follower fetches at first; idempotent, so that the broker allocates ids."""
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "enable.idempotence": True})
    for _ in range(30):
        producer.produce(topic, bytes(20_000), partition=0)
    if producer.flush(30):
        raise TimeoutError("the broker did not take the records")


def choose(frames: Iterable[tuple[Frame, str]]) -> dict[str, list[dict[str, object]]]:
    """Up to MAX_KEPT frames of different lengths for each API, version, direction and sender, by file name."""
    groups: defaultdict[tuple[int, int, str, str], dict[int, Frame]] = defaultdict(dict)
    for frame, sender in frames:
        if frame.key in APIS and len(frame.data) <= MAX_BYTES:
            groups[frame.key, frame.version, frame.direction, sender].setdefault(len(frame.data), frame)
    files: defaultdict[str, list[dict[str, object]]] = defaultdict(list)
    for (key, version, direction, sender), by_length in sorted(groups.items()):
        lengths = sorted(by_length)
        step = max(1, (len(lengths) - 1) / (MAX_KEPT - 1))
        kept = sorted({lengths[min(round(i * step), len(lengths) - 1)] for i in range(MAX_KEPT)})
        for frame in (by_length[length] for length in kept):
            entry = {"api": frame.api, "key": key, "version": version, "direction": direction, "from": sender}
            files[f"{key:02}-{frame.api}-v{version}.json"].append({**entry, "hex": frame.data.hex()})
    return files


def write(files: Mapping[str, list[dict[str, object]]], target: Path) -> None:
    """Replace the golden files in `target`."""
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.json"):
        old.unlink()
    for name, entries in files.items():
        (target / name).write_text("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")


if __name__ == "__main__":
    write(choose(asyncio.run(record())), Path(sys.argv[1]) if len(sys.argv) > 1 else _GOLDEN)
