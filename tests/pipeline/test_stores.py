"""Snapshots, plans, events and results on an object store: whole or not at all, and one line where the store fails."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from kafka_reassign_rpc.pipeline import output_directory, parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.output_directory import RemoteDirectory, require_free
from kafka_reassign_rpc.pipeline.plans import batch_reader, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import SUMMARY, read_summary
from kafka_reassign_rpc.pipeline.reports import plan_report, result_tables
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import META, SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import RemotePath, StoreError, StorePath, spark_uri, store_path
from tests.pipeline.s3 import BUCKET, S3, in_environment, s3_endpoint
from tests.pipeline.test_reports import write_plan
from tests.tables import for_each

pytestmark = pytest.mark.gate

AT = "s3a://bucket/some/where"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[S3]:
    with s3_endpoint() as found:
        yield found


@pytest.fixture
def s3(endpoint: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """The endpoint, with an empty bucket."""
    with in_environment(endpoint, monkeypatch):
        endpoint.file_system().delete_dir_contents(BUCKET)
        yield endpoint


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """An endpoint of its own, for a test that ends it."""
    with s3_endpoint() as found, in_environment(found, monkeypatch):
        yield found


class ClusterGone(Exception):
    """What ends an export in the middle."""


def raise_error() -> None:
    raise ClusterGone


def write_snapshot(path: StorePath, partitions: int = 1, *, before_end: Callable[[], None] = lambda: None) -> None:
    with SnapshotWriter(path) as writer:
        writer.brokers.add((1, "a", "localhost", 9092, None, None, True))
        for index in range(partitions):
            writer.partitions.add(("t", index, [1], 1, [1], [], [], 5, None, None))
        before_end()
        writer.finish(SnapshotMeta(cluster_id="c", at=5))


@for_each(
    ("given", "means"),
    [
        ("plans/monday", "plans/monday"),
        ("a:b", "a:b"),
        ("./s3a:b", "s3a:b"),
        ("file:/mnt/shared", "/mnt/shared"),
        ("file:///mnt/shared", "/mnt/shared"),
        ("s3://bucket/a/b/", "s3a://bucket/a/b"),
        ("hdfs:///user/kafka", "hdfs:///user/kafka"),
        ("hdfs://namenode:8020/user", "hdfs://namenode:8020/user"),
    ],
)
def test_dp_6_a_place_is_a_local_path_or_a_uri(given: str, means: str) -> None:
    assert str(store_path(given)) == means


@for_each(
    "given",
    [
        *("s3a://bucket", "s3a:///path", "s3a:path", "hdfs://host/", "file:path", "file://host/path"),
        *("gs://bucket/path", "http://host/path", "s3a://bucket/../other"),
    ],
)
def test_dp_6_a_uri_without_a_place_or_of_another_kind_is_refused(given: str) -> None:
    with pytest.raises(BadInput):
        store_path(given)


def test_dp_6_credentials_in_a_uri_are_refused_and_not_repeated() -> None:
    with pytest.raises(BadInput, match="credentials belong into the environment") as refused:
        store_path("s3a://key:hushhush@bucket/path")
    assert "hushhush" not in str(refused.value)


def test_dp_6_spark_gets_a_uri_whatever_its_default_file_system_is(tmp_path: Path) -> None:
    assert spark_uri(tmp_path) == f"file://{tmp_path}"
    assert spark_uri(store_path("s3://bucket/x")) == "s3a://bucket/x"


def test_dp_6_a_snapshot_on_a_store_is_the_one_on_a_disk(s3: S3, tmp_path: Path) -> None:
    for place in (tmp_path / "out", store_path(AT)):
        write_snapshot(place, 3)
        meta = snapshot_files.check(place)
        assert (meta.cluster_id, meta.at, meta.rows["partitions"]) == ("c", 5, 3)
        assert snapshot_files.read(place, "partitions").column("partition").to_pylist() == [0, 1, 2]
    on_disk = {
        str(file.relative_to(tmp_path / "out")): file for file in (tmp_path / "out").rglob("*") if file.is_file()
    }
    assert s3.names() == [f"some/where/{name}" for name in sorted(on_disk)], "nothing else is left"
    for name, file in on_disk.items():
        assert (store_path(AT) / name).read_bytes() == file.read_bytes()
    with pytest.raises(BadInput, match="exists already"):
        require_free(store_path(AT))


def test_dp_6_an_export_that_fails_leaves_nothing_on_the_store(s3: S3) -> None:
    with pytest.raises(ClusterGone):
        write_snapshot(store_path(AT), before_end=raise_error)
    assert s3.names() == []


def test_dp_6_what_says_that_a_directory_is_complete_comes_last(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[str] = []
    move = RemoteDirectory._move_file

    def recorded(directory: RemoteDirectory, file: RemotePath) -> None:
        assert not any(name.endswith(META) for name in s3.names("some/where"))
        move(directory, file)
        moved.append(file.name)

    monkeypatch.setattr(RemoteDirectory, "_move_file", recorded)
    write_snapshot(store_path(AT))
    assert moved[-1] == META
    assert len(moved) == len(s3.names()) == 7


def test_dp_6_an_error_while_files_get_their_names_leaves_none_of_them(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_directory, "_MOVES_AT_ONCE", 1)
    move, moved = RemoteDirectory._move_file, list[str]()

    def fails(directory: RemoteDirectory, file: RemotePath) -> None:
        if moved:
            raise StoreError("the store is full")
        move(directory, file)
        moved.append(file.name)

    monkeypatch.setattr(RemoteDirectory, "_move_file", fails)
    with pytest.raises(StoreError, match="full"):
        write_snapshot(store_path(AT))
    assert moved
    assert s3.names() == []


def test_dp_6_a_half_written_folder_is_no_snapshot_and_no_plan(s3: S3) -> None:
    write_snapshot(store_path(AT))
    (store_path(AT) / META).unlink()
    with pytest.raises(BadInput, match="cut short"):
        snapshot_files.check(store_path(AT))
    with pytest.raises(BadInput, match="no plan"):
        read_summary(store_path(AT))
    with pytest.raises(BadInput, match="no such directory"):
        snapshot_files.check(store_path(f"{AT}/else"))


def test_dp_6_a_plan_on_a_store_is_read_as_one_on_a_disk(s3: S3, tmp_path: Path) -> None:
    local = write_plan(tmp_path / "plan")
    with plan_writer.PlanWriter(store_path(AT), 5) as writer:
        writer.write_batch(1, [("t", 0, (1, 2), (1, 3), 2)], {"t": "G0t9a_-TS8qWlG5x3Nqf1A"})
        summary = read_summary(local)
        writer.write_summary(msgspec.structs.replace(summary, batches=summary.batches[:1]))
        writer.publish()
    plan = batch_reader.read_plan(store_path(AT))
    [batch] = plan.batches
    [entry] = batch_reader.read_batch(batch, "set-rf").values()
    assert (entry.replicas, entry.expected_replicas, entry.first_leader) == ((1, 3), (1, 2), 2)
    assert entry.topic_id == "G0t9a_-TS8qWlG5x3Nqf1A"
    assert plan_report.write(store_path(AT)) == store_path(f"{AT}/report.html")
    assert {"some/where/report.html", f"some/where/{SUMMARY}"} <= set(s3.names())


def test_dp_6_events_on_a_store_are_added_file_by_file(s3: S3) -> None:
    place = store_path(AT)
    event = {"at": 5, "event": "throttle.set", "epoch": 1, "server": 7, "seq": 0}
    name = "events-7-000-000000000000-000000000000.parquet"
    with parquet_files.TableWriter(place / name, event_files.EVENTS) as writer:
        writer.add(event_files.to_row(event))
    half = parquet_files.TableWriter(place / "events-7-half", event_files.EVENTS)
    half.add(event_files.to_row(event))
    half.discard()
    [found] = event_files.list_files(place)
    assert (found.server, found.last, event_files.check(place)) == (7, 0, 1)
    assert s3.names() == [f"some/where/{name}"]


def test_dp_6_results_come_from_the_driver_not_from_executors(s3: S3) -> None:
    """Executors of a remote master write to disks of their own: the driver found nothing there. These know no S3."""
    schema = pa.schema([("id", pa.int64()), ("ids", pa.list_(pa.int32())), ("s", pa.string())])
    for count in (3, 2):
        rows = [{"id": one, "ids": [one], "s": None} for one in range(count)]
        with result_tables.ResultDirectory(store_path(AT)) as results:
            assert results.write_tables({"t": pa.Table.from_pylist(rows, schema)})["t"].total == count
            results.write_page("report.html", "<p>")
        table = parquet_files.read(store_path(AT) / "t.parquet", schema)
        assert table.to_pylist() == rows
    assert s3.names() == ["some/where/report.html", "some/where/t.parquet/part-00000.parquet"]


def test_dp_6_a_store_that_is_gone_in_the_middle_is_one_line(lost: S3) -> None:
    with pytest.raises((StoreError, OSError)) as failed:
        write_snapshot(store_path(AT), before_end=lost.kill)
    assert "NETWORK_CONNECTION" in str(failed.value)
    assert "\n" not in str(failed.value)
    for read in (snapshot_files.check, read_summary, batch_reader.read_plan):
        with pytest.raises(StoreError):
            read(store_path(AT))
