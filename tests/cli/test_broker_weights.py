"""The file of `plan --broker-weights`."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.broker_weights import MEASURES, read_broker_weights
from kafka_reassign_rpc.cli.usage_error import UsageError


def written(directory: Path, text: str) -> str:
    (directory / "weights.csv").write_text(text)
    return str(directory / "weights.csv")


def test_dp_12_a_weight_is_for_all_measures_and_a_column_of_a_measure_for_that_one(tmp_path: Path) -> None:
    found = read_broker_weights(written(tmp_path, "broker,weight,leaders\n1,4,2\n2, 0.5, 1\n"))
    assert found == {
        1: dict.fromkeys(MEASURES, 4.0) | {"leaders": 2.0},
        2: dict.fromkeys(MEASURES, 0.5) | {"leaders": 1.0},
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a first line of broker,weight"),
        ("broker\n1\n", "expected a first line of broker,weight"),
        ("broker,heat\n1,2\n", "expected a first line of broker,weight"),
        ("broker,weight\n", "names no broker"),
        ("broker,weight\n1,0\n", "line 2: expected a number from 1e-06"),
        ("broker,weight\n1,nan\n", "line 2: expected a number from 1e-06"),
        ("broker,weight\n-1,2\n", "line 2"),
        ("broker,weight\n1,2\n1,3\n", "line 3: broker 1 occurs twice"),
        ("broker,weight\n1\n", "line 2: expected 2 values"),
        ("broker,weight\n1,2,3\n", "line 2: expected 2 values"),
    ],
)
def test_dp_12_a_wrong_file_of_weights_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_broker_weights(written(tmp_path, text))


def test_dp_12_a_missing_file_of_weights_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_broker_weights(str(tmp_path / "none.csv"))
