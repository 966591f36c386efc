"""The table of rates that operators give to `export --rates`."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import NO_RATES, RatesTable

GOOD = "topic,partition,bytes_in,bytes_out,messages_in,cpu\norders,0,100,300.5,,5\norders,1,0,,7,\nusers,,90,30,3,6\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_dp_13_rates_of_partitions_and_of_topics_whose_partitions_share_them(tmp_path: Path) -> None:
    table = RatesTable(written(tmp_path / "rates.csv", GOOD))
    known = {0: (100.0, 300.5, None, 5.0), 1: (0.0, None, 7.0, None)}
    assert table.take("orders", (0, 1, 2)) == known, "2 is not known"
    assert table.take("users", (0, 1, 2)) == dict.fromkeys(range(3), (30.0, 10.0, 1.0, 2.0))
    assert table.take("others", (0,)) == {}
    table.require_all_taken()


def test_dp_13_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    pq.write_table(pa.table({"topic": ["t", "t"], "partition": [0, 1], "bytes_in": [5, None]}), tmp_path / "rates")
    assert RatesTable(tmp_path / "rates").take("t", (0, 1)) == {0: (5.0, None, None, None), 1: NO_RATES}


def test_dp_13_topics_and_partitions_that_the_cluster_lacks_are_named(tmp_path: Path) -> None:
    table = RatesTable(written(tmp_path / "rates.csv", GOOD))
    table.take("orders", (1,))
    with pytest.raises(BadInput, match=r"rates.csv: the cluster does not have orders-0, users$"):
        table.require_all_taken()


@pytest.mark.parametrize(("rows", "says"), [
    ("t,0,-1,0", "t-0 has a rate that is negative, too large or no number"),
    ("t,0,0,nan", "t-0 has a rate that is negative, too large or no number"),
    ("t,0,inf,0", "t-0 has a rate that is negative, too large or no number"),
    ("t,0,2e12,0", "t-0 has a rate that is negative, too large or no number"),
    ("t,0,1e300,0", "t-0 has a rate that is negative, too large or no number"),
    ("t,0,1,1\nt,0,1,1", "t-0 occurs twice"),
    ("t,,1,1\nt,,1,1", "t occurs twice"),
    ("t,0,1,1\nt,,1,1", "t has a rate of its own and rates of partitions: give one or the others"),
    ("t,-1,1,1", "t--1 is no partition"),
    (",0,1,1", "a row has no topic"),
    ("t,x,1,1", "conversion error"),
    ("t,0,1", "Expected 4 columns, got 3"),
])  # fmt: skip
def test_dp_13_wrong_rows_are_named(tmp_path: Path, rows: str, says: str) -> None:
    path = written(tmp_path / "rates.csv", f"topic,partition,bytes_in,bytes_out\n{rows}\n")
    with pytest.raises(BadInput) as raised:
        RatesTable(path)
    assert says in str(raised.value)


@pytest.mark.parametrize("text", ["", "topics,bytes_in\nt,1\n", "topic,topic\nt,t\n"])
def test_dp_13_a_file_with_other_columns_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match=r"rates\.csv: "):
        RatesTable(written(tmp_path / "rates.csv", text))
