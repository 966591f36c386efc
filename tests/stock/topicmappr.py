"""DataDog's topicmappr (kafka-kit 4): where it would put replicas.

It is built by `go install github.com/DataDog/kafka-kit/v4/cmd/topicmappr@e8eb36f`; TOPICMAPPR names the program.
"""

import asyncio
import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path

from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.processes import ended

from .generate import Placement

TIMEOUT_S = 1200
METRICS = "topicmappr"


def program() -> str | None:
    """The path of topicmappr; None where none was named."""
    return os.environ.get("TOPICMAPPR")


async def tell_sizes(zookeeper: str, snapshot: Path, *others: int) -> None:
    """Write what topicmappr's metricsfetcher writes into a ZooKeeper: the size of each partition, and the free bytes of
    each broker. Each broker has twice the storage that the fullest one needs.

    others  brokers that metadata names beside those of the snapshot
    """
    partitions = snapshot_files.read(snapshot, "partitions").to_pylist()
    held = dict.fromkeys((*(row["broker"] for row in snapshot_files.read(snapshot, "brokers").to_pylist()), *others), 0)
    sizes: dict[str, dict[str, dict[str, float]]] = {}
    for row in partitions:
        sizes.setdefault(row["topic"], {})[str(row["partition"])] = {"Size": float(row["bytes"])}
        for broker in row["replicas"]:
            held[broker] += row["bytes"]
    storage = 2 * max(held.values())
    free = {str(broker): {"StorageFree": float(storage - size)} for broker, size in held.items()}
    async with ZooKeeper(zookeeper) as zk:
        for name, metrics in (("partitionmeta", sizes), ("brokermetrics", free)):
            path = f"/{METRICS}/{name}"
            await zk.ensure_path(path)
            await zk.set(path, gzip.compress(json.dumps(metrics).encode()))


async def mapped(zookeeper: str, chroot: str, bootstrap: str, arguments: Sequence[str], directory: Path) -> Placement:
    """The map that `topicmappr …` makes for all topics of the cluster on a chroot. Call `tell_sizes` before.

    directory   for the file of the map; it must be there
    """
    found, file = program(), directory / "map.json"
    assert found is not None
    where = ("--kafka-addr", bootstrap, "--zk-addr", zookeeper, "--zk-prefix", chroot, "--zk-metrics-prefix", METRICS)
    process = await asyncio.create_subprocess_exec(
        *(found, *arguments, "--topics", ".*", *where, "--ignore-warns"),
        *("--out-path", f"{directory}/", "--out-file", file.stem),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), TIMEOUT_S)
    except TimeoutError:
        await ended(process)
        raise
    if process.returncode:
        raise RuntimeError(output.decode(errors="replace")[-4000:])
    if b"No partition reassignments" in output:
        return {}
    placed = json.loads(file.read_text())["partitions"]
    return {(one["topic"], one["partition"]): one["replicas"] for one in placed}
