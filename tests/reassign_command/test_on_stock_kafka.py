"""The command and the client on stock Kafka: 3.9.1 in ZooKeeper mode and 4.1.0 in KRaft mode.

What stock Kafka can do works; what needs our server is refused in plain words, with nothing sent and nothing changed.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from confluent_kafka import Producer
from kafka import KafkaAdminClient

from kafka_reassign_rpc.client import (
    QUEUE,
    AsyncReassignmentClient,
    MoveTerms,
    ReassignmentClient,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.config_calls import TOPIC
from kafka_reassign_rpc.client.reassignment_calls import (
    NO_EXPECTATIONS,
    NO_IDENTITIES,
    NO_LEASES,
    NO_QUEUE,
    NO_REPLICATION_FACTOR_GUARD,
)
from kafka_reassign_rpc.client.server_calls import NO_EVENTS
from kafka_reassign_rpc.client.settings_calls import NO_HEALING, NO_SWITCH
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.export_snapshot import ExportedSnapshot, export
from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, PollIntervals, ProgressOutput
from tests.faults.cluster import metadata
from tests.pipeline.plans import write_plan
from tests.reassign_command.run_command import Files, kafka_reassign
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.kraft import VERSION, kraft_cluster, start_all
from tests.stock.tools import Output
from tests.waiting import eventually

pytestmark = [pytest.mark.gate, pytest.mark.stock, pytest.mark.asyncio(loop_scope="module")]


@dataclass
class Stock:
    bootstrap: str
    has_guard: bool
    controller: str | None = None
    """The address of a KRaft controller."""

    async def create(self, topic: str) -> None:
        """Create a topic. The tool may ask any broker for it: all of them know it then."""
        await asyncio.to_thread(self._create, topic)
        for place in self.bootstrap.split(","):
            host, _, port = place.rpartition(":")

            async def is_known(address: tuple[str, int] = (host, int(port))) -> bool:
                return bool((await metadata(address, topic)).topics[0].error_code == 0)

            await eventually(is_known)

    def _create(self, topic: str) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            admin.create_topics({topic: {"assignments": {0: [1]}}}, wait_for_metadata=True)
        finally:
            admin.close()

    async def fill(self, topic: str) -> None:
        """Create a topic with small batches of data: a throttle of 1 B/s lets little more than the first through."""
        await asyncio.to_thread(self._fill, topic)

    def _fill(self, topic: str) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "batch.size": 8_192, "linger.ms": 0, "log_level": 0})
        for _ in range(100):
            producer.produce(topic, bytes(5_000), partition=0)
        assert not producer.flush(60)

    async def run(self, *args: str) -> Output:
        return await kafka_reassign("--bootstrap-server", self.bootstrap, *args)

    async def reaches(self, plan: str, line: str) -> None:
        """Wait until --verify reports all moves as completed."""
        while line not in (output := await self.run("--verify", "--reassignment-json-file", plan)).lines:
            assert output.code == 0, output


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=[BROKER_VERSION, pytest.param(VERSION, marks=pytest.mark.gate)]
)
async def stock(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stock]:
    require(request.param)
    directory: Path = tmp_path_factory.mktemp("stock")
    if request.param == VERSION:
        nodes = kraft_cluster(directory)
        try:
            await start_all(nodes)
            yield Stock(f"127.0.0.1:{nodes[0].port}", has_guard=True, controller=nodes[0].controller)
        finally:
            await asyncio.gather(*(node.kill() for node in nodes))
        return
    async with EmbeddedZooKeeper(directory / "zookeeper") as zookeeper:
        cluster = StockCluster(f"{zookeeper.address}/stock", directory, ids=(1, 2))
        try:
            await cluster.start()
            yield Stock(cluster.bootstrap, has_guard=False)
        finally:
            await cluster.kill()


async def test_236_12_moves_are_made_and_verified(stock: Stock, files: Files) -> None:
    await stock.create("moved")
    plan = files.plan("moved", (0, [2]))
    started = await stock.run("--execute", "--throttle", "50000", "--reassignment-json-file", plan)
    assert started.code == 0, started
    assert started.lines[-1] == "Successfully started partition reassignment for moved-0"
    await stock.reaches(plan, "Reassignment of partition moved-0 is completed.")
    watched = await stock.run("watch")
    assert (watched.code, watched.out) == (0, "No partition reassignments found.\n")
    cancelled = await stock.run("--cancel", "--reassignment-json-file", plan)
    assert cancelled.lines[0] == "None of the specified partition reassignments are active."
    generated = await stock.run("--generate", "--topics-to-move-json-file", files.topics("moved"), "--broker-list", "1")
    assert '"replicas":[1]' in generated.lines[-1]


async def test_236_12_another_replica_leads_by_move_leaders_and_the_way_back_is_the_line_that_it_prints(
    stock: Stock, files: Files
) -> None:
    await stock.create("led")
    plan = files.plan("led", (0, [1, 2]))
    assert (await stock.run("--execute", "--reassignment-json-file", plan)).code == 0
    await stock.reaches(plan, "Reassignment of partition led-0 is completed.")

    async def leads(leader: int, replicas: str) -> bool:
        described = await stock.run("describe-topic", "led")
        return described.lines[-1].split()[:3] == ["led-0", str(leader), replicas]

    await eventually(lambda: leads(1, "1,2"))
    changed = await stock.run("move", "led", "-p", "0:2", "--leaders")
    assert (changed.code, changed.err) == (0, "")
    await eventually(lambda: leads(2, "2,1"))
    back = changed.lines[-1].removeprefix("The way back: kafka-reassign ")
    assert (await stock.run(*back.split())).code == 0
    await eventually(lambda: leads(1, "1,2"))


async def test_236_12_list_and_cancel_ask_kraft_controllers_themselves_and_no_other_says_to_be_one(
    stock: Stock, files: Files
) -> None:
    """The option --bootstrap-controller of the stock tool of 4.1."""
    to_broker = await kafka_reassign("--list", "--bootstrap-controller", stock.bootstrap)
    assert (to_broker.code, to_broker.lines) == (
        1,
        [
            "Error: org.apache.kafka.common.errors.MismatchedEndpointTypeException: The request was sent to an "
            "endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        ],
    )
    if stock.controller is None:
        return
    of_controller = ("--bootstrap-controller", stock.controller)
    throttled = ("--execute", "--additional", "--throttle", "1", "--reassignment-json-file")
    plans = []
    for topic in ("his", "other"):
        await stock.create(topic)
        await stock.fill(topic)
        plans.append(files.plan(topic, (0, [2])))
        assert (await stock.run(*throttled, plans[-1])).code == 0
    listed = await kafka_reassign("--list", *of_controller)
    assert listed.lines == [
        "Current partition reassignments:",
        "his-0: replicas: 2,1. adding: 2. removing: 1.",
        "other-0: replicas: 2,1. adding: 2. removing: 1.",
    ]
    cancelled = await kafka_reassign("--cancel", "--reassignment-json-file", plans[0], *of_controller)
    assert cancelled.lines == [
        "Successfully cancelled partition reassignment for: his-0",
        "None of the specified partition moves are active.",
        "Keeping broker-level throttles on brokers 1,2: other reassignments need them",
        "Clearing topic-level throttles on topic his",
    ]
    cancelled = await kafka_reassign("--cancel", *of_controller)
    assert cancelled.lines == [
        "Successfully cancelled partition reassignment for: other-0",
        "Clearing broker-level throttles on brokers 1,2",
        "Clearing topic-level throttles on topic other",
    ]
    assert (await kafka_reassign("--list", *of_controller)).lines == ["No partition reassignments found."]


async def test_240_5_identities_need_our_server_and_the_command_says_so(stock: Stock) -> None:
    output = await stock.run("describe")
    assert (output.code, output.out) == (
        1,
        f"{NO_IDENTITIES} `kafka-reassign --list` and `kafka-reassign watch` work here.\n",
    )
    async with AsyncReassignmentClient(bootstrap_servers=stock.bootstrap) as client:
        with pytest.raises(UnsupportedHere):
            await client.list_reassignments()
        assert await client.list_partition_reassignments() == {}


async def test_236_12_queue_and_switch_need_our_server_and_nothing_is_half_done(stock: Stock, files: Files) -> None:
    await stock.create("unqueued")
    plan = files.plan("unqueued", (0, [2]))
    output = await stock.run("--execute-queue", "--throttle", "5", "--reassignment-json-file", plan)
    assert output.code == 1
    assert output.lines[-2:] == ["Error reassigning partition(s):", f"unqueued-0: {NO_QUEUE}"]
    assert "throttle" not in output.out
    topics = ("--topics-to-move-json-file", files.topics("unqueued"), "--broker-list", "1")
    for arguments in (("--verify-queue", "--reassignment-json-file", plan), ("--generate-queue", *topics)):
        output = await stock.run(*arguments)
        assert (output.code, output.out) == (1, f"{NO_QUEUE}\n")
    for action in ("--disable", "--enable"):
        output = await stock.run(action)
        assert (output.code, output.out) == (1, f"{NO_SWITCH}\n")
    for more in ((), ("--pause",)):
        healing = await kafka_reassign("heal", "--bootstrap-server", stock.bootstrap, *more)
        assert (healing.code, healing.out) == (1, f"{NO_HEALING}\n")
    output = await stock.run("events")
    assert (output.code, output.out) == (1, f"{NO_EVENTS}\n")
    async with AsyncReassignmentClient(bootstrap_servers=stock.bootstrap) as client:
        with pytest.raises(UnsupportedHere):
            await client.alter_partition_reassignments({("unqueued", 0): MoveTerms((2,), QUEUE)})
        assert not await client.can_queue()
        assert await client.list_partition_reassignments() == {}


async def test_236_11_leases_need_our_server_and_nothing_is_half_done(stock: Stock, files: Files) -> None:
    await stock.create("unleased")
    plan = files.plan("unleased", (0, [2]))
    output = await stock.run("--execute", "--throttle", "5", "--lease", "--reassignment-json-file", plan)
    assert output.code == 1
    assert output.lines[-2:] == ["Error reassigning partition(s):", f"unleased-0: {NO_LEASES}"]
    async with AsyncReassignmentClient(bootstrap_servers=stock.bootstrap) as client:
        with pytest.raises(UnsupportedHere):
            await client.alter_partition_reassignments({("unleased", 0): MoveTerms((2,), throttle=5)})
        assert not await client.can_lease_throttles()
        assert await client.list_partition_reassignments() == {}


async def test_860_5_expected_replicas_are_not_sent_to_a_server_that_would_skip_them(
    stock: Stock, files: Files
) -> None:
    await stock.create("unexpected")
    plan = files.plan("unexpected", (0, [2]), expected_replicas=[2])
    output = await stock.run("--execute", "--expect-current", "--throttle", "5", "--reassignment-json-file", plan)
    assert output.code == 1
    assert output.lines[-2:] == ["Error reassigning partition(s):", f"unexpected-0: {NO_EXPECTATIONS}"]
    async with AsyncReassignmentClient(bootstrap_servers=stock.bootstrap) as client:
        with pytest.raises(UnsupportedHere):
            await client.alter_partition_reassignments({("unexpected", 0): MoveTerms((2,), expected=(1,))})
        assert not await client.can_compare_replicas()
    await stock.reaches(plan, "There is no active reassignment of partition unexpected-0, but replica set is 1 rather "
                        "than 2.")  # fmt: skip


async def test_860_3_the_guard_works_or_is_refused_in_kafkas_words_with_nothing_left_behind(
    stock: Stock, files: Files
) -> None:
    await stock.create("guarded")
    plan = files.plan("guarded", (0, [1, 2]))
    forbid = ("--execute", "--disallow-replication-factor-change", "--throttle", "5", "--reassignment-json-file", plan)
    output = await stock.run(*forbid)
    assert output.code == 1
    refusal = "The replication factor is changed from 1 to 2" if stock.has_guard else NO_REPLICATION_FACTOR_GUARD
    assert output.lines[-2:] == ["Error reassigning partition(s):", f"guarded-0: {refusal}"]
    if not stock.has_guard:
        assert "throttle" not in output.out
    async with AsyncReassignmentClient(bootstrap_servers=stock.bootstrap) as client:
        assert await client.can_forbid_replication_factor_change() == stock.has_guard
        if stock.has_guard:
            partition = TopicPartition("guarded", 0)
            results = await client.alter_partition_reassignments(
                {partition: [1, 2]}, allow_replication_factor_change=False
            )
            assert results[partition] is not None
            return
        with pytest.raises(UnsupportedHere, match="AllowReplicationFactorChange"):
            await client.alter_partition_reassignments({("guarded", 0): [2]}, allow_replication_factor_change=False)
        topics = await client.describe_topics(["guarded"])
        assert topics["guarded"][0].replicas == (1,)  # type: ignore[index]


async def test_dp_1_a_snapshot_of_stock_kafka_holds_what_it_says(stock: Stock, tmp_path: Path) -> None:
    await stock.create("snapped")

    def export_it() -> ExportedSnapshot:
        with ReassignmentClient(bootstrap_servers=stock.bootstrap) as client:
            assert client.change_configs({(TOPIC, "snapped"): {"retention.ms": "77"}}) == {(TOPIC, "snapped"): None}
            return export(client, tmp_path / "out", source=stock.bootstrap, show_status=lambda _: None)

    found = await asyncio.to_thread(export_it)

    assert (found.warnings, found.brokers) == ([], 2)
    assert snapshot_files.check(tmp_path / "out").server == "kafka"
    [row] = [
        row for row in snapshot_files.read(tmp_path / "out", "partitions").to_pylist() if row["topic"] == "snapped"
    ]
    assert (row["replicas"], row["leader"], row["isr"], row["bytes"]) == ([1], 1, [1], 0)
    [row] = [row for row in snapshot_files.read(tmp_path / "out", "replicas").to_pylist() if row["topic"] == "snapped"]
    assert (row["broker"], row["bytes"], row["future"]) == (1, 0, False)
    assert row["log_dir"].startswith("/")
    brokers = snapshot_files.read(tmp_path / "out", "brokers").to_pylist()
    assert [(row["broker"], row["live"]) for row in brokers] == [(1, True), (2, True)]
    assert all(0 < row["free_bytes"] <= row["capacity_bytes"] for row in brokers)
    configs = snapshot_files.read(tmp_path / "out", "configs").to_pylist()
    set_here = [(row["resource_type"], row["resource"], row["name"], row["value"]) for row in configs]
    assert ("topic", "snapped", "retention.ms", "77") in set_here
    assert {row["resource"] for row in configs if row["resource_type"] == "broker"} >= {"1", "2"}


async def test_dp_4_a_plan_is_carried_out_on_stock_kafka_with_what_it_lacks_compared_here(
    stock: Stock, tmp_path: Path
) -> None:
    await stock.create("planned")
    said: list[str] = []

    def submit_it() -> int:
        with ReassignmentClient(bootstrap_servers=stock.bootstrap) as client:
            cluster_id = client.describe_everything().cluster_id
            path = write_plan(tmp_path / "p", cluster_id, {("planned", 0): ([2], [1])})
            show = ProgressOutput(said.append, said.append)
            for begin in (Submission.dry_run, Submission.execute):
                with pytest.raises(UnsupportedHere) as error:
                    begin(Submission(client, path, read_plan(path), show, throttle=5))
                assert error.value.message == NO_LEASES
            assert client.list_partition_reassignments() == {}
            begun = Submission(client, path, read_plan(path), show).execute()
            late = write_plan(tmp_path / "late", cluster_id, {("planned", 0): ([3], [1])})
            with pytest.raises(PlanDoesNotFit, match=r"planned-0: has the replicas \[2\], the plan was made for \[1\]"):
                Submission(client, late, read_plan(late), show, PollIntervals(mismatch=0)).execute()
            return begun

    assert await asyncio.to_thread(submit_it) == 1
    assert said[0] == "this cluster has no compare-and-set: submit compares the assignments before each batch"
    assert (said[1].startswith("this cluster cannot refuse a change of the replication factor")) != stock.has_guard
    assert "batch-0001: 1 done" in said
