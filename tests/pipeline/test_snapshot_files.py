"""Snapshots on disk: pyarrow and Spark read what was written; errors name the broken file."""

import random
import resource
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files, snapshot_schema
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import EarlierSizes
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta

pytestmark = pytest.mark.gate

META = SnapshotMeta(cluster_id="c1", at=1_700_000_000_000, source="127.0.0.1:9092")
BROKERS = [(1, "a", "h1", 9092, 100, 50, True, True), (2, None, None, None, None, None, False, None)]
PARTITIONS = [
    ("orders", 0, [1, 2], 1, [1], [], [], 7, None, None, True, None, None),
    ("orders", 1, [2, 1], None, [], [2], [1], None, 1.5, 2.5, None, 3.5, 4.5),
]
REPLICAS = [("orders", 0, 1, 7, "/d", False), ("orders", 0, 2, None, None, True)]
CONFIGS = [("topic", "orders", "retention.ms", "9", 1), ("broker", "1", "password", None, None)]
ROWS: dict[str, list[Any]] = {"brokers": BROKERS, "partitions": PARTITIONS, "replicas": REPLICAS, "configs": CONFIGS}


def write(path: Path, meta: SnapshotMeta = META) -> Path:
    with SnapshotWriter(path) as writer:
        for name, rows in ROWS.items():
            getattr(writer, name).extend(rows)
        writer.finish(meta)
    return path


def test_dp_1_pyarrow_and_spark_read_the_rows_that_were_written(tmp_path: Path, spark: SparkSession) -> None:
    path = write(tmp_path / "out")
    meta = snapshot_files.check(path)
    assert msgspec.structs.replace(meta, rows={}) == META
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out"]
    for name, rows in ROWS.items():
        common = len(snapshot_schema.IN_EVERY_SNAPSHOT[name])
        in_memory = [tuple(row.values())[:common] for row in snapshot_files.read(path, name).to_pylist()]
        assert in_memory == [row[:common] for row in rows]
        read = spark.read.parquet(str(snapshot_files.table_path(path, name)))
        assert [tuple(row) for row in read.collect()] == rows
        assert read.columns == snapshot_schema.TABLES[name].names


def test_dp_1_a_column_that_one_table_may_lack_is_needed_in_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "out")
    monkeypatch.setitem(snapshot_schema.ADDED, "partitions", (*snapshot_schema.ADDED["partitions"], "bytes"))
    file, rest = path / "brokers.parquet", [name for name in snapshot_schema.BROKERS.names if name != "cordoned"]
    pq.write_table(pq.read_table(file, columns=rest), file)
    assert snapshot_files.read(path, "brokers")["cordoned"].null_count == len(BROKERS)
    [replicas] = parquet_files.table_files(path / "replicas")
    pq.write_table(pq.read_table(replicas).drop_columns(["bytes"]), replicas)
    with pytest.raises(BadInput, match="bytes"):
        snapshot_files.read(path, "replicas")


def test_dp_1_a_table_of_many_rows_goes_out_in_row_groups_and_files(tmp_path: Path) -> None:
    directory = tmp_path / "configs"
    writer = parquet_files.DirectoryWriter(directory, snapshot_schema.CONFIGS, file_rows=10)
    rows = [("topic", "t", f"n{index}", str(index), 1) for index in range(25)]
    writer.extend(rows)
    writer.close()
    assert [file.name for file in parquet_files.table_files(directory)] == [
        f"part-0000{index}.parquet" for index in range(3)
    ]
    assert [tuple(row.values()) for row in parquet_files.read(directory, snapshot_schema.CONFIGS).to_pylist()] == rows
    assert [len(batch) for batch in parquet_files.record_batches(directory, snapshot_schema.CONFIGS, rows=4)] == [
        4,
        4,
        2,
        4,
        4,
        2,
        4,
        1,
    ]


def test_dp_1_an_export_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def export() -> None:
        with SnapshotWriter(tmp_path / "out") as writer:
            writer.partitions.extend(PARTITIONS)
            raise ConnectionError

    with pytest.raises(ConnectionError):
        export()
    assert list(tmp_path.iterdir()) == []


def test_dp_1_an_export_onto_a_full_disk_is_one_error_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk. A writer that gives up writes its footer: that fails too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    rows = [("topic", f"t{index}", "n", str(random.Random(index).random())) for index in range(60_000)]

    def export() -> None:
        with SnapshotWriter(tmp_path / "out") as writer:
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
            writer.partitions.extend(PARTITIONS)
            writer.configs.extend(rows)
            writer.finish(META)

    try:
        with pytest.raises(OSError, match="File too large"):
            export()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_dp_1_an_export_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    def export() -> None:
        with SnapshotWriter(tmp_path / "out") as writer:
            writer.partitions.extend(PARTITIONS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export()
    assert list(tmp_path.iterdir()) == []


def test_dp_1_a_snapshot_never_overwrites_anything(tmp_path: Path) -> None:
    path = write(tmp_path / "out")
    with pytest.raises(BadInput, match="out: exists already"):
        SnapshotWriter(path)
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")


def test_dp_1_a_directory_that_is_no_snapshot_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere: no such directory"):
        snapshot_files.check(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"no snapshot \(meta.json is missing"):
        snapshot_files.check(tmp_path)
    path = write(tmp_path / "newer", SnapshotMeta("c", 1, version=2))
    with pytest.raises(BadInput, match="version 2; this release reads version 1"):
        snapshot_files.check(path)
    for at in (-1, 2**60, '"monday"'):
        (path / "meta.json").write_text(f'{{"cluster_id": "c", "at": {at}}}')
        with pytest.raises(BadInput, match=r"newer/meta\.json: Expected `int`.*at `\$\.at`"):
            snapshot_files.check(path)
    (path / "meta.json").write_text("{")
    with pytest.raises(BadInput, match=r"newer/meta\.json: "):
        snapshot_files.check(path)


@pytest.mark.parametrize("name", ["brokers.parquet", "partitions/part-00000.parquet"])
@pytest.mark.parametrize("keep", [0, 3, 0.5, 0.99])
def test_dp_1_truncated_parquet_is_named(tmp_path: Path, name: str, keep: float) -> None:
    path = write(tmp_path / "out")
    whole = (path / name).read_bytes()
    (path / name).write_bytes(whole[: keep if isinstance(keep, int) else int(len(whole) * keep)])
    with pytest.raises(BadInput, match=f"{name}: not a readable Parquet file"):
        snapshot_files.check(path)


FOREIGN: list[tuple[str, Any, str]] = [
    ("topic", [None, "orders"], "the column 'topic' has rows without a value"),
    ("partition", [1, None], "the column 'partition' has rows without a value"),
    ("bytes", ["7", "8"], "the column 'bytes' is string, not int64"),
    ("isr", [1, 2], "the column 'isr' is int64, not list<element: int32 not null>"),
]


@pytest.mark.parametrize(("column", "values", "saying"), FOREIGN, ids=[f"{one[0]} {one[1]}" for one in FOREIGN])
def test_dp_1_a_table_that_another_program_wrote_differently_is_named(
    tmp_path: Path, column: str, values: list[Any], saying: str
) -> None:
    path = write(tmp_path / "out")
    file = path / "partitions" / "part-00000.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, column, pa.array(values)), file)
    if values[-1] is None:
        pq.write_table(table.set_column(place, column, pa.array(values, pa.int32())), file)
    with pytest.raises(BadInput) as found:
        snapshot_files.check(path)
    assert str(found.value) == f"{file}: {saying}"


@pytest.mark.parametrize("partition", [-1, 2**31 - 1])
def test_dp_1_sizes_of_partitions_that_cannot_be_are_refused_and_take_no_memory(tmp_path: Path, partition: int) -> None:
    with SnapshotWriter(tmp_path / "out") as writer:
        writer.partitions.add(("t", partition, [1], 1, [1], [], [], 7, None, None))
        writer.finish(META)
    with pytest.raises(BadInput, match=f"t-{partition} is no partition"):
        EarlierSizes(tmp_path / "out")


def test_dp_1_missing_tables_and_columns_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "out")
    (path / "partitions" / "part-00000.parquet").unlink()
    with pytest.raises(BadInput, match="partitions: no Parquet file there"):
        snapshot_files.check(path)
    with parquet_files.TableWriter(path / "partitions" / "part-00000.parquet", snapshot_schema.CONFIGS):
        pass
    with pytest.raises(BadInput, match="the column 'topic' is missing"):
        snapshot_files.check(path)
    (path / "configs.parquet").unlink()
    (path / "partitions" / "part-00000.parquet").unlink()
    with parquet_files.TableWriter(path / "partitions" / "part-00000.parquet", snapshot_schema.PARTITIONS):
        pass
    with pytest.raises(BadInput, match="partitions: has 0 of 2 rows: a file of it is missing"):
        snapshot_files.check(path)
    (path / "meta.json").write_text('{"cluster_id": "c1", "at": 5}')  # an earlier release counted no rows
    with pytest.raises(BadInput, match=r"configs\.parquet: is missing"):
        snapshot_files.check(path)
