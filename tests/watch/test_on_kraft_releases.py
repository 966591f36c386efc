"""Watch beside stock Kafka in KRaft mode of several releases, with moves of each release's own tool.

CI runs `IN_CI`, and `test_on_stock_kafka` runs 4.1; the variable KAFKA_RELEASES names others, with commas between them:
each needs a pom in tests/stock/poms.
"""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path
from typing import Any

import pytest

from tests.jvm import QUICK
from tests.stock.jars import classpath, require
from tests.stock.kraft import kraft_cluster
from tests.stock.tools import MAIN_CLASSES
from tests.waiting import eventually
from tests.watch.test_on_stock_kafka import BACK, MOVED, RECORD_BYTES, RECORDS, fill
from tests.watch.watching import Watch, watching

pytestmark = [pytest.mark.stock, pytest.mark.in_ci, pytest.mark.timeout(300)]

IN_CI = "4.3.1"
RELEASES = os.environ.get("KAFKA_RELEASES", IN_CI).split(",")
QUICK_TO_FENCE = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
SMALL_FETCHES = {"replica.fetch.max.bytes": "50000", "replica.fetch.response.max.bytes": "50000"}
"""A throttle lets a whole fetch through: the move would end with its first one."""


async def reassign(version: str, bootstrap: str, folder: Path, topic: str, throttle: int) -> None:
    """In a JVM of its own: `Tools` needs classes that moved in 4.4."""
    plan = folder / f"{topic}.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [2]}]}))
    tool = [MAIN_CLASSES["reassign-partitions"], "--bootstrap-server", bootstrap, "--execute"]
    what = ["--reassignment-json-file", str(plan), "--throttle", str(throttle)]
    process = await asyncio.create_subprocess_exec(
        "java", *QUICK, "-cp", classpath(version), *tool, *what, stdout=PIPE, stderr=STDOUT
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out


async def reason(watch: Watch) -> str | None:
    found = (await watch.moves()).get(f"{BACK.topic}-0")
    return None if found is None else found["stalled"]


@pytest.mark.parametrize("version", RELEASES)
async def test_kr_1_moves_of_each_releases_own_tool_are_seen_until_they_end_and_a_fenced_target_is_named(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(version)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALL_S", 2.0)
    nodes = kraft_cluster(
        tmp_path / "nodes", per_node=dict.fromkeys((1, 2), QUICK_TO_FENCE | SMALL_FETCHES), version=version
    )
    try:
        await asyncio.gather(*(node.start() for node in nodes))
        bootstrap = f"127.0.0.1:{nodes[0].port}"
        await asyncio.to_thread(fill, bootstrap)
        async with watching(bootstrap, tmp_path / "events") as watch:
            await eventually(lambda: watch.watcher.answers)
            await reassign(version, bootstrap, tmp_path, MOVED.topic, RECORDS * RECORD_BYTES // 6)

            async def measured() -> Any:
                found = (await watch.moves()).get(f"{MOVED.topic}-0")
                return found if found is not None and found["bytes_copied"] else None

            one = await eventually(measured)
            assert (one["original"], one["target"], one["adding"]) == ([1], [2], [2])
            assert one["bytes_total"] > RECORDS * RECORD_BYTES
            assert one["bytes_total"] >= one["bytes_copied"]

            async def is_over() -> bool:
                return ("move.completed", MOVED.topic) in await watch.events()

            await eventually(is_over)
            await reassign(version, bootstrap, tmp_path, BACK.topic, 1)
            await eventually(lambda: bool(watch.watcher.view().term.cluster.moving))  # type: ignore[union-attr]
            await nodes[1].kill()

            async def is_named() -> bool:
                return await reason(watch) == "broker 2 is fenced"

            await eventually(is_named, within=60)
            assert any(text.startswith("1 of 2 brokers live; lost: 2") for text in await watch.problems())
    finally:
        await asyncio.gather(*(node.kill() for node in nodes))
