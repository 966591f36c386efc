"""The page of result columns says what the files hold."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from docs.markdown import kind_of
from docs.result_columns import RESULTS
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files
from tests.pipeline.test_table_stamps import AT, EVENT, snapshot

pytestmark = pytest.mark.gate

Columns = list[tuple[str, str]]


def columns_in(directory: Path) -> dict[str, Columns]:
    found = {}
    for place in directory.glob("*.parquet"):
        schema: pa.Schema = pq.read_schema(place if place.is_file() else min(place.glob("*.parquet")))
        found[place.stem] = [(field.name, kind_of(field.type)) for field in schema]
    return found


def columns_on_page(command: str) -> dict[str, Columns]:
    return {
        one.name: [(column.name, kind_of(column.kind)) for column in one.columns]
        for one in RESULTS
        if one.command == command
    }


def test_dp_1_the_page_has_each_table_of_audit_and_history_with_its_columns_and_types(
    tmp_path: Path, spark: SparkSession, shared: None
) -> None:
    taken = snapshot(tmp_path / "snapshot")
    assert main(["audit", "--snapshots", str(taken), "--out", str(tmp_path / "audit")]) == 0
    log = tmp_path / "events" / "events-1-000-000000000000-000000000000.parquet"
    log.parent.mkdir()
    with parquet_files.TableWriter(log, event_files.EVENTS, at=AT) as writer:
        writer.add(event_files.to_row(EVENT))
    assert main(["history", "--events", str(log.parent), "--out", str(tmp_path / "history")]) == 0
    for command in ("audit", "history"):
        assert columns_in(tmp_path / command) == columns_on_page(command)
