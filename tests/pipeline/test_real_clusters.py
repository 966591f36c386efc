"""From running clusters to plans: thirty simulated brokers with many partitions, and stock brokers with data.

What the stock tool's own --generate proposes for the same cluster is beside each plan.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.pipeline.plans import plan_summary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.effort import in_all
from tests.faults.cluster import Cluster
from tests.pipeline.test_export import rows, run
from tests.processes import processes
from tests.stock.cluster import StockCluster
from tests.stock.generate import Figures, NotKnownYet, Placement, figures, generated, planned
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.tools import Tools
from tests.waiting import eventually

pytestmark = [pytest.mark.gate, pytest.mark.stock, pytest.mark.timeout(600), pytest.mark.usefixtures("shared")]

BROKERS, NEW, RACKS = range(1, 28), range(28, 31), 5
PARTITIONS = in_all(20_000, elsewhere=8_000)


@pytest.fixture
def tools() -> Iterator[Tools]:
    require(BROKER_VERSION)
    with Tools(BROKER_VERSION) as tools:
        yield tools


def topics() -> Iterator[tuple[str, int, int]]:
    """Name, partitions, bytes of each: the first has a quarter of all partitions, the n-th an n-th of that."""
    left, rank = PARTITIONS, 1
    while left > 0:
        count = min(left, max(1, PARTITIONS // (4 * rank)))
        yield f"t{rank}", count, 1000 * (1 + rank * 7 % 13)
        left, rank = left - count, rank + 1


_ROUNDING = 1e-9
"""A share of exactly the tolerance is within it, and may be computed as 0.10000000000000006."""


def must_be_as_even(ours: Figures, theirs: Figures, tolerance: float) -> None:
    """By every measure: as even as --generate's proposal, or within the tolerance."""
    for name in ("bytes", "replicas", "leaders"):
        assert getattr(ours, name) <= max(getattr(theirs, name), tolerance) + _ROUNDING, (name, ours, theirs)


@pytest.mark.gate  # test_export.py and test_plan_command.py export from six brokers and plan the same in each run
async def test_dp_2_thirty_brokers_with_many_partitions_are_exported_and_planned_for_a_part_of_what_generate_moves(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path, tools: Tools
) -> None:
    made = {name: (count, size) for name, count, size in topics()}
    plan = tmp_path / "plan"
    async with processes(tmp_path) as group:
        cluster = Cluster(group, zk, zk_connect, tmp_path)
        await cluster.server("one")
        racks = {broker: f"r{broker % RACKS}" for broker in (*BROKERS, *NEW)}
        seeded = [f"{name}:{count}:3:{size}" for name, (count, size) in made.items()]
        # These sessions survive a busy machine.
        await cluster.fleet(",".join(map(str, BROKERS)), *seeded, racks=racks, session_ms=20_000)
        await cluster.fleet(",".join(map(str, NEW)), racks=racks, session_ms=20_000)
        bootstrap = cluster.servers["one"].ready_value("bootstrap")
        await eventually(lambda: asyncio.to_thread(all_led, bootstrap), within=240)
        attempts = itertools.count()

        def exported() -> Path | None:
            """A complete snapshot, as soon as the node that answers knows the whole cluster. Preferred leaders are
            compared, and a plan is made for those that the snapshot shows.
            """
            out = tmp_path / f"snapshot-{next(attempts)}"
            code, said, err = run("export", "--bootstrap-server", bootstrap, "--out", str(out))
            assert code == 0, err
            whole = f"30 brokers, {len(made)} topics, {PARTITIONS} partitions, {3 * PARTITIONS} replicas" in said
            return out if whole and "warning" not in err and is_led_as_preferred(out) else None

        out = await eventually(lambda: asyncio.to_thread(exported), within=240)
        everywhere = [*BROKERS, *NEW]

        async def asked_broker() -> Placement | None:
            """The tool asks any node, which may learn of topics later than the controller."""
            with contextlib.suppress(NotKnownYet):
                return await generated(tools, bootstrap, list(made), everywhere, tmp_path / "topics.json")
            return None

        proposed = await eventually(asked_broker, within=240)

    partitions = rows(out, "partitions")
    assert {(row["topic"], row["partition"]) for row in partitions} == {
        (name, index) for name, (count, _) in made.items() for index in range(count)
    }
    assert all(row["bytes"] == made[row["topic"]][1] and len(row["isr"]) == 3 for row in partitions)
    assert len(rows(out, "replicas")) == 3 * PARTITIONS
    assert {row["broker"]: row["rack"] for row in rows(out, "brokers")} == racks

    new = ",".join(map(str, NEW))
    code, _, err = run("plan", "expand", "--brokers", new, "--snapshot", str(out), "--out", str(plan))
    assert code == 0, err
    ours, theirs = figures(out, planned(plan)), figures(out, proposed)
    summary = plan_summary.read_summary(plan)
    assert (ours.moves, ours.copied) == (summary.moves, summary.bytes)
    assert summary.lower_bound <= ours.copied <= 1.1 * summary.lower_bound
    assert 5 * ours.copied <= theirs.copied
    must_be_as_even(ours, theirs, 0.1)


def is_led_as_preferred(snapshot: Path) -> bool:
    return all(row["leader"] == row["replicas"][0] for row in rows(snapshot, "partitions"))


def all_led(bootstrap: str) -> bool:
    """By their preferred leaders: a plan is made for those that the snapshot shows, and a broker that was away for a
    moment on a busy machine has lost some.
    """
    with ReassignmentClient(bootstrap_servers=bootstrap) as client, contextlib.suppress(KafkaError):
        everything = client.describe_everything()
        there = {(one.name, index): p for one in everything.topics for index, p in one.partitions.items()}
        if len(everything.nodes) != 31 or len(there) != PARTITIONS or any(len(p.isr) != 3 for p in there.values()):
            return False
        others = [name for name, p in there.items() if p.leader != p.replicas[0]]
        if others:
            client.elect_preferred_leaders(others)
        return not others
    return False


Filled = Mapping[str, list[tuple[list[int], int]]]
"""By topic the replicas and kilobytes of each partition."""

STOCK: Filled = {
    "large": [([1, 2], 100), ([2, 1], 100)] * 4,
    "small": [([1, 2], 10), ([2, 1], 10), ([1, 3], 10), ([2, 3], 10)],
}
"""Broker 3 is almost empty."""


@pytest.mark.gate  # tests/reassign_command/test_on_stock_kafka.py carries out a plan there in each run
async def test_dp_4_a_plan_from_stock_brokers_is_carried_out_there_and_moves_no_more_than_generate_would(
    tmp_path: Path, tools: Tools
) -> None:
    out, plan, after = (tmp_path / name for name in ("snapshot", "plan", "after"))
    async with EmbeddedZooKeeper(tmp_path / "zookeeper") as zookeeper:
        racks = {broker: {"broker.rack": f"r{broker}"} for broker in (1, 2, 3)}
        cluster = StockCluster(f"{zookeeper.address}/stock", tmp_path, (1, 2, 3), per_broker=racks)
        try:
            await cluster.start()
            await asyncio.to_thread(fill, cluster.bootstrap, STOCK)
            where = ("--bootstrap-server", cluster.bootstrap)
            code, said, err = await asyncio.to_thread(run, "export", *where, "--out", str(out))
            assert (code, err) == (0, ""), err
            proposed = await generated(tools, cluster.bootstrap, list(STOCK), [1, 2, 3], tmp_path / "topics.json")

            goal = ("rebalance", "--tolerance", "0.3", "--topics", ",".join(STOCK))
            code, said, err = await asyncio.to_thread(
                run, "plan", *goal, "--snapshot", str(out), "--out", str(plan), "--max-moves-per-broker", "2"
            )
            assert code == 0, err
            ours, theirs = figures(out, planned(plan)), figures(out, proposed)
            assert ours.copied <= theirs.copied
            must_be_as_even(ours, theirs, 0.3)
            assert len(plan_summary.read_summary(plan).batches) > 1

            led_first = let_another_replica_lead_first(plan)
            code, said, err = await asyncio.to_thread(run, "submit", *where, "--plan", str(plan), "--execute")
            assert (code, said) == (0, f"{plan}: done; {ours.moves} moves were begun now\n"), err
            assert led_first
            assert "the election failed" not in err
            code, _, err = await asyncio.to_thread(run, "export", *where, "--out", str(after))
            assert (code, err) == (0, ""), err
        finally:
            await cluster.kill()
    assert snapshot_files.check(after).server == "kafka"
    stands = {(row["topic"], row["partition"]): row["replicas"] for row in rows(after, "partitions")}
    wanted = {(row["topic"], row["partition"]): row["replicas"] for row in rows(out, "partitions")} | dict(
        planned(plan)
    )
    assert stands == wanted
    assert {name: sorted(replicas) for name, replicas in stands.items()} == {
        (row["topic"], row["partition"]): sorted(row["isr"]) for row in rows(after, "partitions")
    }
    assert figures(after, {})[3:] == pytest.approx(ours[3:], abs=0.02)


def let_another_replica_lead_first(plan: Path) -> int:
    """Let the second replica of each partition lead before it is copied. Returns of how many."""
    changed = 0
    for file in (plan / "batches").iterdir():
        batch = json.loads(file.read_bytes())
        for entry in batch["partitions"]:
            entry["first_leader"] = entry["expected_replicas"][1]
            changed += 1
        file.write_text(json.dumps(batch))
    return changed


def fill(bootstrap: str, topics: Filled) -> None:
    """Create topics with records in each partition."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        assigned = {
            topic: {"assignments": {index: replicas for index, (replicas, _) in enumerate(partitions)}}
            for topic, partitions in topics.items()
        }
        admin.create_topics(assigned, wait_for_metadata=True)
    finally:
        admin.close()
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0, "linger.ms": 5})
    for topic, partitions in topics.items():
        for index, (_, kilobytes) in enumerate(partitions):
            for _ in range(kilobytes):
                producer.produce(topic, bytes(1000), partition=index)
    assert not producer.flush(60)
