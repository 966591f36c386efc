"""Watch on stock Kafka 2.8.2 in ZooKeeper mode, the oldest that it looks at: moves of 2.8's own tool by both of its
ways, and what 2.8 does not report."""

import asyncio
import json
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.http_client import get
from tests.jvm import QUICK
from tests.reassign_command.run_command import Command
from tests.stock import class_archives
from tests.stock.cluster import StockCluster
from tests.stock.jars import classpath, require
from tests.waiting import eventually
from tests.watch.watching import Watch, looks_every, watching

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(400)]

VERSION, TOOL = "2.8.2", "kafka.admin.ReassignPartitionsCommand"
RECORDS, RECORD_BYTES = 100, 5_000
SLOW, FAST = 4_000, 50_000_000
TOPICS = ("moved", "back")


class OldCluster:
    """Three brokers, and the tool of their version in a JVM of its own."""

    def __init__(self, stock: StockCluster, folder: Path) -> None:
        self.stock = stock
        self._folder = folder

    def fill(self) -> None:
        """Topics on broker 1 with small batches: a throttle lets little more than the first through. Blocks."""
        admin = KafkaAdminClient(bootstrap_servers=self.stock.bootstrap)
        try:
            admin.create_topics({name: {"assignments": {0: [1]}} for name in TOPICS}, wait_for_metadata=True)
        finally:
            admin.close()
        producer = Producer({"bootstrap.servers": self.stock.bootstrap, "batch.size": 8_192, "log_level": 0})
        for name in TOPICS:
            for _ in range(RECORDS):
                producer.produce(name, bytes(RECORD_BYTES), partition=0)
        assert not producer.flush(60)

    async def tool(self, action: str, targets: Mapping[str, Sequence[int]], *more: str, by: str = "") -> str:
        """`by`: the ZooKeeper; else a broker is asked."""
        plan = self._folder / "plan.json"
        moves = [{"topic": name, "partition": 0, "replicas": list(some)} for name, some in targets.items()]
        plan.write_text(json.dumps({"version": 1, "partitions": moves}))
        where = ["--zookeeper", by] if by else ["--bootstrap-server", self.stock.bootstrap]
        what = [*where, action, "--reassignment-json-file", str(plan), *more]
        jvm = ("java", *QUICK, *class_archives.of_tools(VERSION))
        process = await asyncio.create_subprocess_exec(
            *jvm, "-cp", classpath(VERSION), TOOL, *what, stdout=PIPE, stderr=STDOUT
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, out
        return out.decode()

    def on_disk(self, broker: int, topic: str) -> int:
        folder = self._folder / "stock" / str(broker) / "data" / f"{topic}-0"
        return sum(one.stat().st_size for one in folder.glob("*.log"))


@asynccontextmanager
async def old_cluster(folder: Path) -> AsyncIterator[OldCluster]:
    require(VERSION)
    async with EmbeddedZooKeeper(folder / "zookeeper") as zookeeper:
        patient = {"zookeeper.session.timeout.ms": "9000"}
        stock = StockCluster(f"{zookeeper.address}/stock", folder / "stock", ids=(1, 2, 3), overrides=patient)
        for broker in stock.brokers.values():
            broker.version = VERSION
        try:
            await stock.start()
            yield OldCluster(stock, folder)
        finally:
            await stock.kill()


async def throttles_of(watch: Watch) -> list[int | None]:
    brokers = (await watch.document("brokers"))["brokers"]
    return [one["throttle_in"] and one["throttle_in"]["rate"] for one in brokers]


async def test_kr_1_moves_on_kafka_2_8_are_seen_from_start_to_end_and_what_it_cannot_tell_is_unknown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks_every(1.0, monkeypatch)
    async with old_cluster(tmp_path) as old:
        await asyncio.to_thread(old.fill)
        async with watching(old.stock.bootstrap, tmp_path / "events") as watch:
            await eventually(lambda: watch.watcher.answers)
            await they_start_and_go_on(old, watch)
            await what_it_cannot_tell_is_unknown(old, watch)
            await they_end(old, watch)
            await a_move_by_zookeeper_is_seen_and_its_dead_target_named(old, watch)
    assert "a defect" not in caplog.text


async def they_start_and_go_on(old: OldCluster, watch: Watch) -> None:
    await old.tool("--execute", {"moved": [2], "back": [3]}, "--throttle", str(SLOW))

    async def copied() -> Any:
        one = (await watch.moves()).get("moved-0")
        return one if one and one["bytes_copied"] else None

    one = await eventually(copied)
    assert (one["original"], one["target"], one["adding"], one["leader"]) == ([1], [2], [2], 1)
    assert one["bytes_total"] == old.on_disk(1, "moved") > RECORDS * RECORD_BYTES
    assert one["bytes_copied"] <= old.on_disk(2, "moved") < one["bytes_total"]
    first = one["bytes_copied"]

    async def goes_on() -> bool:
        found = (await watch.moves())["moved-0"]
        return found["bytes_copied"] > first and found["rate"] is not None and found["remaining_ms"] is not None

    await eventually(goes_on)

    async def are_throttled() -> bool:
        return await throttles_of(watch) == [SLOW, SLOW, SLOW]

    await eventually(are_throttled)


async def what_it_cannot_tell_is_unknown(old: OldCluster, watch: Watch) -> None:
    """Kafka 2.8 tells neither who moves nor how, no volumes of log dirs, no cordoned ones; its mode has no quorum."""
    one = (await watch.moves())["moved-0"]
    assert (one["who"], one["route"], one["reason"]) == (None, None, None)
    brokers = (await watch.document("brokers"))["brokers"]
    assert {(one["cordoned"], one["disk"], one["shutting_down"]) for one in brokers} == {(None, None, None)}
    status = await watch.document("status")
    assert status["controller"]["id"] in old.stock.brokers
    assert (status["controller"]["epoch"], status["controller"]["since"]) == (None, None)
    assert (status["totals"]["waiting"], status["enabled"], status["caps"], status["healing"]) == (None,) * 4
    assert status["problems"] == [], "nothing that this principal could see is missing"
    metrics = (await get(watch.served.address, "/metrics")).body
    assert b"\nkafka_reassign_brokers_cordoned " not in metrics
    kraft = watch.watcher.view().term.cluster.soft.kraft  # type: ignore[union-attr]
    assert (kraft.fenced, kraft.eligible, kraft.quiet_s) == (frozenset(), {}, {})
    told = await Command(old.stock.bootstrap).json("status")
    assert {(one["topic"], *one["target"], one["leader"], one["route"]) for one in told["moves"]} == {
        ("moved", 2, 1, None),
        ("back", 3, 1, None),
    }


async def they_end(old: OldCluster, watch: Watch) -> None:
    """2.8's tool clears the throttles of what it cancels."""
    await old.tool("--cancel", {"back": [3]})

    async def is_cancelled() -> bool:
        return ("move.cancelled", "back") in await watch.events()

    await eventually(is_cancelled)
    await old.tool("--execute", {"moved": [2]}, "--additional", "--throttle", str(FAST))

    async def is_completed() -> bool:
        return ("move.completed", "moved") in await watch.events()

    await eventually(is_completed, within=60)
    assert old.on_disk(2, "moved") > RECORDS * RECORD_BYTES

    async def is_needless() -> bool:
        return any("throttled by a config that no move needs" in one for one in await watch.problems())

    await eventually(is_needless)
    await old.tool("--verify", {"moved": [2], "back": [1]})

    async def is_clear() -> bool:
        return await throttles_of(watch) == [None] * 3 and await watch.problems() == []

    await eventually(is_clear)


async def a_move_by_zookeeper_is_seen_and_its_dead_target_named(old: OldCluster, watch: Watch) -> None:
    """2.8 is the last to have that way. It does not know fenced brokers: one that is gone is dead."""
    await old.tool("--execute", {"moved": [3]}, "--throttle", str(SLOW), by=old.stock.zookeeper)

    async def is_seen() -> bool:
        return "moved-0" in await watch.moves()

    await eventually(is_seen)
    await old.stock.brokers[3].kill()

    async def is_lost() -> bool:
        return any(text.startswith("2 of 3 brokers live; lost: 3 since ") for text in await watch.problems())

    await eventually(is_lost, within=60)
    moves = await watch.moves()
    assert (moves["moved-0"]["waits_for"], moves["moved-0"]["route"]) == ("broker 3, which is dead", None)
