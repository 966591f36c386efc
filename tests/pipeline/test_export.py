"""Snapshots of a running cluster, and of a simulated one that answers only in part."""

import asyncio
import contextlib
import io
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_reassign_rpc.cli.export_command import watch
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import (
    ClusterNode,
    KafkaError,
    PartitionInfo,
    PartitionReassignment,
    ReassignmentClient,
    TopicPartition,
    Unreachable,
    UnsupportedHere,
    throttle_configs,
)
from kafka_reassign_rpc.client.config_calls import Config, Resource
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs, HeldReplica, LogDir, LogDirCalls
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.core.status.broker_documents import Brokers
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files, snapshot_schema
from kafka_reassign_rpc.pipeline.snapshots.cluster_look import Moves
from kafka_reassign_rpc.pipeline.snapshots.export_snapshot import ExportedSnapshot, export
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import EarlierSizes, RatesTable
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsResponse
from tests.cli.test_usage import run as process
from tests.waiting import eventually

Rows = list[dict[str, Any]]


def rows(path: Path, table: str) -> Rows:
    found: Rows = parquet_files.read(snapshot_files.table_path(path, table), snapshot_schema.TABLES[table]).to_pylist()
    return found


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


def test_dp_1_the_snapshot_of_a_cluster_shows_its_brokers_partitions_moves_and_configs(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    topic = client.describe_topics(["orders"])["orders"]
    assert not isinstance(topic, KafkaError)
    target = tuple(broker for broker in range(1, 7) if broker not in topic[0].replicas)
    moves = {TopicPartition("orders", 0): target}
    current = {TopicPartition("orders", 0): topic[0].replicas}
    client.throttle_moves(throttle_configs.all_moves({}, moves, current), 1000)
    client.change_configs({(2, "orders"): {"retention.ms": "77"}})
    assert not any(client.alter_partition_reassignments(moves).values())

    code, said, _ = run("export", "--bootstrap-server", bootstrap, "--out", str(tmp_path / "out"))

    assert code == 0
    assert "6 brokers, 3 topics, 42 partitions, 1 moving, " in said
    meta = snapshot_files.check(tmp_path / "out")
    assert (meta.source, meta.server) == (bootstrap, "kafka-reassign-rpc")
    brokers = rows(tmp_path / "out", "brokers")
    assert [(row["broker"], row["rack"], row["live"]) for row in brokers] == [
        (1, "a", True), (2, "b", True), (3, "c", True), (4, "a", True), (5, "b", True), (6, "c", True)
    ]  # fmt: skip
    assert [row["cordoned"] for row in brokers] == [False] * 6
    partitions = {(row["topic"], row["partition"]): row for row in rows(tmp_path / "out", "partitions")}
    assert len(partitions) == 42
    moved = partitions["orders", 0]
    assert tuple(moved["replicas"]) == target + topic[0].replicas
    assert (tuple(moved["adding"]), tuple(moved["removing"])) == (target, topic[0].replicas)
    assert {row["bytes"] for (name, _), row in partitions.items() if name == "payments"} == {20_000_000}
    for index in range(1, 12):
        row = partitions["orders", index]
        assert (tuple(row["replicas"]), row["leader"]) == (topic[index].replicas, topic[index].leader)
    ids = {row["topic"]: row["topic_id"] for row in rows(tmp_path / "out", "topics")}
    assert ids == {one.name: one.topic_id for one in client.find_topics(ids).values()}
    assert len(set(ids.values()) - {None, ""}) == 3
    replicas = {(row["topic"], row["partition"], row["broker"]) for row in rows(tmp_path / "out", "replicas")}
    standing = {(*name, broker) for name, row in partitions.items() for broker in row["replicas"]}
    assert standing - replicas <= {("orders", 0, broker) for broker in target}
    configs = {(row["resource_type"], row["resource"], row["name"]): row["value"]
               for row in rows(tmp_path / "out", "configs")}  # fmt: skip
    assert configs["topic", "orders", "retention.ms"] == "77"
    assert configs["broker", str(target[0]), "follower.replication.throttled.rate"] == "1000"
    sources = {(row["resource"], row["name"]): row["source"] for row in rows(tmp_path / "out", "configs")}
    assert sources["orders", "retention.ms"] == 1
    assert sources[str(target[0]), "follower.replication.throttled.rate"] == snapshot_schema.OF_BROKER
    assert sources[str(target[0]), "listeners"] == snapshot_schema.STATIC
    client.change_configs({(2, "orders"): {"retention.ms": None}})

    client.cordon([2, 77])
    code, said, _ = run("export", "--bootstrap-server", bootstrap, "--out", str(tmp_path / "two"),
                        "--rates-from", str(tmp_path / "out"))  # fmt: skip
    client.cordon([2, 77], uncordon=True)

    assert code == 0, said
    assert [row["broker"] for row in rows(tmp_path / "two", "brokers") if row["cordoned"]] == [2]
    assert {row["produce_rate"] for row in rows(tmp_path / "two", "partitions") if row["topic"] == "clicks"} == {0.0}


class PartlySilentCluster:
    """Takes the place of the client: broker 2 does not answer, broker 9 is not live, node 77 is a kafka-reassign-rpc
    server. `lists`: the answers about moves, the last one again and again."""

    cluster_id = "c1"
    nodes: Sequence[ClusterNode] = (
        ClusterNode(1, "h1", 9092, "a"),
        ClusterNode(2, "h2", 9092, None),
        ClusterNode(77, "h7", 9092, None),
    )
    log_dirs: Sequence[LogDir] = (LogDir("/d", True, 1000, 100),)
    topics: Mapping[str, Mapping[int, PartitionInfo]] = {
        "a": {0: PartitionInfo(1, (1, 2), (1, 2)), 1: PartitionInfo(2, (2, 1), (2, 1))},
        "b": {0: PartitionInfo(2, (2, 9), (2,)), 1: PartitionInfo(-1, (9,), ())},
    }
    errors: Mapping[str, KafkaError] = {"b": Unreachable("no leader.")}
    silent: Set[int] = frozenset({2})

    def __init__(self, *lists: Moves) -> None:
        self.lists = [*lists] or [{TopicPartition("a", 0): PartitionReassignment((1, 2), (1,), (2,))}]
        self.asked: list[tuple[int, ...]] = []

    def list_partition_reassignments(self) -> Moves:
        return self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]

    def describe_everything(self) -> Everything:
        topics = (TopicInfo(name, dict(found), self.errors.get(name)) for name, found in self.topics.items())
        return Everything(self.cluster_id, 77, list(self.nodes), topics)

    def servers_among(self, nodes: Iterable[int]) -> set[int]:
        return {77} & {*nodes}

    def describe_brokers(
        self, partitions_by_broker: Mapping[int, Mapping[str, Sequence[int]]]
    ) -> dict[int, BrokerLogDirs | KafkaError]:
        self.asked.append(tuple(partitions_by_broker))
        return {broker: self._log_dirs(broker, found) for broker, found in partitions_by_broker.items()}

    def _log_dirs(self, broker: int, partitions: Mapping[str, Sequence[int]]) -> BrokerLogDirs | KafkaError:
        if broker in self.silent:
            return Unreachable("It did not answer.")
        if broker == 77:
            return BrokerLogDirs([], [LogDir("none")])
        held = [HeldReplica(topic, index, 10, "/d", False) for topic, ids in partitions.items() for index in ids]
        return BrokerLogDirs(held, self.log_dirs)

    def describe_configs(self, resources: Sequence[Resource]) -> dict[Resource, list[Config] | KafkaError]:
        return {one: self.errors[one[1]] if one[1] in self.errors else [Config("n", "v", 1)] for one in resources}

    def describe_broker_configs(self, brokers: Iterable[int]) -> dict[int, list[Config] | KafkaError]:
        return {broker: [Config("n", str(broker), 2)] for broker in brokers}

    def can_compare_replicas(self) -> bool:
        return False

    def brokers(self) -> Brokers:
        raise UnsupportedHere("No server.")


def exported(client: Any, out: Path, **options: Any) -> ExportedSnapshot:
    return export(client, out, source="s", show_status=lambda _: None, **options)


def test_dp_1_data_that_brokers_do_not_report_is_null_and_a_warning_names_it(tmp_path: Path) -> None:
    said: list[str] = []
    cluster: Any = PartlySilentCluster()
    found = export(cluster, tmp_path / "out", source="s", show_status=said.append, part_partitions=1)
    assert found.warnings == [
        "broker 2 does not report the sizes of its replicas: It did not answer.",
        "topic b: no leader. The snapshot has what is known of the partitions.",
        "the configs of topic b: no leader.",
    ]
    assert cluster.asked == [(1, 2, 77), (1,), ()], "all at once, and a silent one never again"
    assert said == ["2 partitions of 1 topic", "4 partitions of 2 topics"]
    brokers = rows(tmp_path / "out", "brokers")
    assert [(row["broker"], row["host"], row["live"], row["capacity_bytes"]) for row in brokers] == [
        (1, "h1", True, 1000),
        (2, "h2", True, None),
        (9, None, False, None),
    ]
    # The leader of a-1 does not answer: the size of an in-sync follower takes its place.
    assert [row["bytes"] for row in rows(tmp_path / "out", "partitions")] == [10, 10, None, None]
    assert [row["removing"] for row in rows(tmp_path / "out", "partitions")] == [[2], [], [], []]
    assert len(rows(tmp_path / "out", "replicas")) == 2
    configs = [tuple(row.values()) for row in rows(tmp_path / "out", "configs")]
    assert configs == [("topic", "a", "n", "v", 1), ("broker", "", "n", "v", 1), ("broker", "1", "n", "1", 2)]


class LyingCluster(PartlySilentCluster):
    def _log_dirs(self, broker: int, partitions: Mapping[str, Sequence[int]]) -> BrokerLogDirs | KafkaError:
        found = super()._log_dirs(broker, partitions)
        if isinstance(found, KafkaError) or broker != 1:
            return found
        held = [one._replace(size=-(2**63)) for one in found.replicas]
        return BrokerLogDirs(held, [LogDir("/d", total_bytes=1000, usable_bytes=None)])


def test_dp_1_sizes_below_0_and_free_bytes_that_are_not_told_are_null(tmp_path: Path) -> None:
    cluster = LyingCluster()
    cluster.silent = set()
    exported(cluster, tmp_path / "out")
    told = rows(tmp_path / "out", "replicas")
    assert {(row["broker"], row["bytes"]) for row in told} == {(1, None), (2, 10)}
    assert [row["free_bytes"] for row in rows(tmp_path / "out", "log_dirs") if row["broker"] == 1] == [None]


def test_dp_1_many_brokers_or_topics_with_the_same_error_are_one_line_of_warning(tmp_path: Path) -> None:
    cluster = PartlySilentCluster({})
    names = [f"t{index}" for index in range(700)]
    cluster.topics = {name: {0: PartitionInfo(1, (1, *range(2, 9)), (1,))} for name in names}
    cluster.nodes = [ClusterNode(broker, "h", 1, None) for broker in range(1, 9)]
    cluster.errors = dict.fromkeys(names, ClusterAuthorizationFailed("No."))
    cluster.silent = set(range(2, 9))
    found = exported(cluster, tmp_path / "out")
    assert found.warnings == [
        "7 brokers that do not report the sizes of their replicas (2, 3, 4, 5, 6, …): It did not answer.",
        "700 topics (t0, t1, t2, t3, t4, …): No. The snapshot has what is known of the partitions.",
        "700 topics without their configs (t0, t1, t2, t3, t4, …): No.",
    ]


def test_dp_1_a_silent_node_without_replicas_may_be_no_broker_and_is_left_out(tmp_path: Path) -> None:
    """It may be a frozen kafka-reassign-rpc server; and no plan should move replicas to a broker that is frozen."""
    cluster = PartlySilentCluster()
    cluster.nodes = [*cluster.nodes, ClusterNode(78, "h8", 9092, "a")]
    cluster.silent = {2, 78}
    found = exported(cluster, tmp_path / "out")
    assert [row["broker"] for row in rows(tmp_path / "out", "brokers")] == [1, 2, 9]
    why = "tells nothing of its log dirs and holds no replica: the snapshot leaves it out, it may be no broker"
    assert f"node 78: {why}" in found.warnings


class WithoutRights(PartlySilentCluster):
    """Every broker answers DescribeLogDirs as Kafka does where the client may not DESCRIBE the cluster
    (KafkaApis.handleDescribeLogDirsRequest): no log dirs, and from version 3 on the error."""

    version: int

    def describe_brokers(
        self, partitions_by_broker: Mapping[int, Mapping[str, Sequence[int]]]
    ) -> dict[int, BrokerLogDirs | KafkaError]:
        client = LogDirCalls()
        client._router = cast("Any", self)
        return asyncio.run(client.describe_brokers(partitions_by_broker))

    async def at_once(self, calls: Sequence[Any], _timeout_ms: int | None) -> list[Any]:
        return await asyncio.gather(*(call() for call in calls), return_exceptions=True)

    async def ask_node(self, _node: int, build: Callable[[Any], Any], cls: Any, **_: object) -> Any:
        return DescribeLogDirsResponse(
            version=self.version, throttle_time_ms=0, error_code=31 * (self.version >= 3), results=[]
        )


@pytest.mark.parametrize("version", [2, 3])
def test_dp_1_brokers_that_tell_nothing_of_log_dirs_without_rights_are_one_clear_warning(
    tmp_path: Path, version: int
) -> None:
    cluster = WithoutRights({})
    cluster.nodes = [*cluster.nodes[:2], ClusterNode(3, "h3", 9092, "a")]
    cluster.version = version
    found = exported(cluster, tmp_path / "out")
    told = [line for line in found.warnings if "report the sizes" in line]
    assert len(told) == 1
    assert told[0].startswith("3 brokers that do not report the sizes of their replicas (1, 2, 3): ")
    assert told[0].endswith("DescribeLogDirs needs the operation DESCRIBE on the cluster.")
    assert "node 3: tells nothing of its log dirs" in "".join(found.warnings)
    assert {row["bytes"] for row in rows(tmp_path / "out", "partitions")} == {None}
    assert [(row["broker"], row["capacity_bytes"]) for row in rows(tmp_path / "out", "brokers")] == [
        (1, None),
        (2, None),
        (9, None),
    ]


MOVING = PartitionReassignment((3, 2, 1), (3,), (1,))
"""A move from 2,1 to 3,2, as it is listed in flight."""
QUEUED = PartitionReassignment((2, 1), (3,), (1,), state="waiting")
"""The same move while it waits."""
REORDER = PartitionReassignment((2, 1), state="waiting")
"""A move that changes the order of replicas alone, while it waits."""
A1 = TopicPartition("a", 1)


@pytest.mark.parametrize(
    ("before", "after", "row", "is_named"),
    [
        ({}, {}, ([2, 1], [], [], False), False),
        ({A1: MOVING}, {A1: MOVING}, ([3, 2, 1], [3], [1], False), False),
        ({}, {A1: MOVING}, ([3, 2, 1], [3], [1], False), True),
        ({A1: MOVING}, {}, ([3, 2, 1], [3], [1], False), True),
        ({A1: QUEUED}, {A1: QUEUED}, ([2, 1], [3], [1], True), False),
        ({A1: QUEUED}, {A1: MOVING}, ([3, 2, 1], [3], [1], False), True),
        ({A1: REORDER}, {A1: REORDER}, ([2, 1], [], [], True), False),
    ],
    ids=["rests", "moves", "begins", "ends", "waits", "waited", "waits to be reordered"],
)
def test_dp_1_a_partition_that_moves_or_waits_at_any_time_of_the_look_is_never_exported_as_resting(
    tmp_path: Path, before: Moves, after: Moves, row: tuple[object, ...], is_named: bool
) -> None:
    cluster = PartlySilentCluster(before, after)
    found = exported(cluster, tmp_path / "out")
    table = parquet_files.read(tmp_path / "out" / "partitions", snapshot_schema.PARTITIONS).to_pylist()
    assert tuple(table[1][name] for name in ("replicas", "adding", "removing", "waiting")) == row
    warning = "the move of a-1: began or ended during the export, and counts as moving"
    assert (warning in found.warnings) == is_named
    assert (found.moving, found.waiting) == ((0, 1) if row[3] else (int(bool(before or after)), 0))
    if row[1]:
        assert 3 in {one["broker"] for one in rows(tmp_path / "out", "brokers")}


SPACES = [
    ("a full disk", [LogDir("/d", True, 1000, 0)], (1000, 0), ""),
    (
        "one of two log dirs is offline",
        [LogDir("/d", True, 1000, 100), LogDir("/e", False)],
        (1000, 100),
        "offline: /e",
    ),
    ("all are offline", [LogDir("/d", False), LogDir("/e", False)], (0, 0), "offline: /d, /e"),
    (
        "two volumes",
        [LogDir("/d", True, 1 << 40, 1 << 39), LogDir("/e", True, 1 << 40, 5)],
        (2 << 40, 5 + (1 << 39)),
        "",
    ),
    ("one volume", [LogDir("/d", True, 1 << 40, 7), LogDir("/e", True, 1 << 40, 5)], (1 << 40, 5), "one volume"),
    ("an old broker", [LogDir("/d"), LogDir("/e")], (None, None), ""),
    ("a broker that shows nothing", [], (None, None), ""),
]


@pytest.mark.parametrize(("log_dirs", "space", "warning"), [one[1:] for one in SPACES], ids=[one[0] for one in SPACES])
def test_dp_1_the_space_of_a_broker_is_that_of_its_volumes_that_are_online(
    log_dirs: list[LogDir], space: tuple[int | None, int | None], warning: str, tmp_path: Path
) -> None:
    client: Any = PartlySilentCluster()
    client.log_dirs = log_dirs
    found = export(client, tmp_path / "out", source="s", show_status=lambda _: None)
    broker = rows(tmp_path / "out", "brokers")[0]
    assert (broker["capacity_bytes"], broker["free_bytes"]) == space
    written = [row for row in rows(tmp_path / "out", "log_dirs") if row["broker"] == 1]
    assert {(row["log_dir"], row["online"]) for row in written} == {(one.path, one.online) for one in log_dirs}
    said = [one for one in found.warnings if one.startswith("broker 1:")]
    assert [warning in one for one in said] == [True] * bool(warning)


async def test_dp_1_a_cluster_is_watched_until_ctrl_c_and_every_snapshot_is_whole(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    out, events = tmp_path / "snapshots", tmp_path / "events"
    arguments = ("--bootstrap-server", bootstrap, "--out", str(out), "--events", str(events), "--watch", "1")
    command = [sys.executable, "-m", "kafka_reassign_rpc.cli.main", "export", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        await eventually(lambda: len(list(out.glob("2*"))) >= 2, within=60)
        before = event_files.check(events)
        topic = client.describe_topics(["payments"])["payments"]
        assert not isinstance(topic, KafkaError)
        assert not any(client.alter_partition_reassignments({("payments", 0): topic[0].replicas[::-1]}).values())
        taken = len(list(out.glob("2*")))
        await eventually(lambda: event_files.check(events) > before and len(list(out.glob("2*"))) > taken, within=60)
        process.send_signal(signal.SIGINT)
        said, err = await asyncio.to_thread(process.communicate, timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, err
    assert "Traceback" not in err
    found = snapshot_files.find_snapshots(out)
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []
    assert said.count(" 6 brokers, 3 topics, 42 partitions") == len(found) == len(list(out.iterdir())) >= 3
    assert all(not path.name.startswith(".") for path in events.iterdir())
    for one in found[1:]:  # nobody produces, so the rate is known and zero
        assert {row["produce_rate"] for row in rows(out / one.path.name, "partitions") if row["topic"] == "clicks"} == {
            0.0
        }


def test_dp_1_a_watch_goes_on_after_a_cluster_did_not_answer_for_a_while(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stop, asked = threading.Event(), list[tuple[str, str | None]]()

    def export_all(to: StorePath | None, before: StorePath | None) -> None:
        assert to is not None
        asked.append((to.name, None if before is None else before.name))
        if len(asked) == 2:
            raise Unreachable("broker 3 does not answer")
        if len(asked) == 3:
            stop.set()

    watch(export_all, tmp_path, 1, stop)
    first, _, third = asked
    assert third[1] == first[0], "rates are since the last snapshot that there is"
    assert capsys.readouterr().err == "nothing exported: broker 3 does not answer; once more in 1 s\n"


@pytest.mark.parametrize("error", [Unreachable("nobody answers"), UnsupportedHere("an older server took over")])
def test_dp_1_an_error_that_waiting_does_not_cure_ends_the_watch(tmp_path: Path, error: KafkaError) -> None:
    """No server answers at all; or one refuses although it answered before."""
    calls = 0

    def export_all(_to: StorePath | None, _before: StorePath | None) -> None:
        nonlocal calls
        calls += 1
        if calls == 2 or isinstance(error, Unreachable):
            raise error

    with pytest.raises(type(error)):
        watch(export_all, tmp_path, 1, threading.Event())


def earlier(tmp_path: Path, meta: SnapshotMeta, *sizes: int | None) -> EarlierSizes:
    path = tmp_path / "before"
    with SnapshotWriter(path) as writer:
        for index, size in enumerate(sizes):
            writer.partitions.add(("a", index, [1], 1, [1], [], [], size, None, None))
        writer.finish(meta)
    return EarlierSizes(path)


def test_dp_1_rates_come_from_growth_and_from_nothing_else(tmp_path: Path) -> None:
    before = earlier(tmp_path, SnapshotMeta("c1", 1_000), 100, None, 100)
    assert before.rate("a", 0, 600, 6_000) == 100.0
    assert before.rate("a", 1, 600, 6_000) is None, "it was not known"
    assert before.rate("a", 2, 50, 6_000) is None, "data was deleted"
    assert before.rate("a", 2, None, 6_000) is None
    assert before.rate("a", 3, 5, 6_000) is None
    assert before.rate("b", 0, 5, 6_000) is None


def test_dp_1_rates_of_another_cluster_or_time_are_refused_and_nothing_is_left(tmp_path: Path) -> None:
    client: Any = PartlySilentCluster()
    before = earlier(tmp_path, SnapshotMeta("c2", 1_000))
    with pytest.raises(BadInput, match="before: is of cluster c2, this is cluster c1"):
        export(client, tmp_path / "out", source="s", show_status=print, earlier=before)
    with pytest.raises(BadInput, match="not older"):
        earlier(tmp_path / "later", SnapshotMeta("c1", 2**47)).require_earlier("c1", 5)
    client.cluster_id = ""
    with pytest.raises(JobFailed, match="does not say its id"):
        export(client, tmp_path / "out", source="s", show_status=print)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def occupied_directory(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "occupied"
    path.mkdir()
    (path / "mine").write_text("keep")
    yield path
    assert (path / "mine").read_text() == "keep"


def test_dp_1_a_directory_that_is_taken_is_exit_code_2_before_anything_is_asked(occupied_directory: Path) -> None:
    code, out, err = run("export", "--bootstrap-server", "127.0.0.1:1", "--out", str(occupied_directory))
    assert (code, out) == (2, "")
    reason = "exists already; give a directory that does not exist or is empty"
    assert err == f"kafka-reassign-rpc export: {occupied_directory}: {reason}\n"


def test_dp_1_a_cluster_that_cannot_be_reached_is_exit_code_1(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("default.api.timeout.ms=300\nrequest.timeout.ms=300\n")
    to = ("--bootstrap-server", "127.0.0.1:1", "--out", str(tmp_path / "out"), "--command-config", str(config))
    ended = process("export", *to)  # kafka-python drops the sockets of a failed attempt without closing them
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("kafka-reassign-rpc export: ")
    assert not (tmp_path / "out").exists()


def test_dp_13_a_snapshot_has_the_rates_that_the_operator_gives(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("topic,partition,bytes_in,bytes_out,messages_in,cpu\na,1,5,7,9,11\n")
    exported(PartlySilentCluster(), tmp_path / "out", rates=RatesTable(tmp_path / "rates.csv"))
    found = [tuple(row[name] for name in ("partition", "produce_rate", "fetch_rate", "message_rate", "cpu_rate"))
             for row in rows(tmp_path / "out", "partitions") if row["topic"] == "a"]  # fmt: skip
    assert found == [(0, None, None, None, None), (1, 5, 7, 9, 11)]


def test_dp_13_rates_of_an_unknown_topic_leave_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("topic,bytes_in\nnone,5\n")
    with pytest.raises(BadInput, match=r"the cluster does not have none$"):
        exported(PartlySilentCluster(), tmp_path / "out", rates=RatesTable(tmp_path / "rates.csv"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("--watch", "0"), "--watch: expected a whole number from 1"),
        (("--watch", "5", "--rates-from", "x"), "--rates-from: with --watch"),
        (("--watch", "5", "--rates-over", "x"), "--rates-over: with --watch"),
        (("--rates-over", "/nowhere"), "/nowhere: no such directory"),
        (("--bootstrap-server", "nowhere"), "Invalid url in bootstrap.servers: [hidden]"),
        (("--command-config", "/nowhere"), "Unable to read file /nowhere"),
    ],
)
def test_dp_1_wrong_flags_of_export_are_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], saying: str) -> None:
    code, out, err = run("export", "--bootstrap-server", "127.0.0.1:1", "--out", str(tmp_path / "out"), *arguments)
    assert (code, out) == (2, "")
    assert saying in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("dirs", "cordoned"),
    [
        ([LogDir("/d", True, 1000, 100, True), LogDir("/e", True, 1000, 100, True)], True),
        ([LogDir("/d", True, 1000, 100, True), LogDir("/e", True, 1000, 100)], False),
        ([LogDir("/d", True, 1000, 100, True), LogDir("/e", False)], True),
        ([LogDir("/d", True, 1000, 100)], False),
        ([LogDir("/d", False)], None),
    ],
)
def test_dh_2_without_a_server_of_ours_a_broker_is_cordoned_if_all_of_its_log_dirs_are(
    tmp_path: Path, dirs: list[LogDir], cordoned: bool | None
) -> None:
    cluster = PartlySilentCluster()
    cluster.log_dirs = dirs
    exported(cluster, tmp_path / "out")
    found = {row["broker"]: row["cordoned"] for row in rows(tmp_path / "out", "brokers")}
    assert found == {1: cordoned, 2: None, 9: None}


def test_dh_2_where_the_controller_does_not_tell_which_brokers_are_cordoned_a_warning_says_so(tmp_path: Path) -> None:
    class Closed(PartlySilentCluster):
        def brokers(self) -> Brokers:
            raise ClusterAuthorizationFailed("No.")

    found = exported(Closed(), tmp_path / "out")
    assert "which brokers are cordoned is not known: No." in found.warnings
    assert {row["cordoned"] for row in rows(tmp_path / "out", "brokers")} == {None}
