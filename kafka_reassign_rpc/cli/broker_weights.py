"""The file of `--broker-weights`, for plans and audits: how much each broker should hold compared with the others."""

import argparse
import csv
from collections.abc import Mapping

from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.cli.value_parsers import share, whole
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.secrecy import told

_FLAG = "--broker-weights"
MEASURES = ("bytes", "replicas", "leaders", "produce", "fetch", "bytes_in", "potential_out", "messages_in", "cpu")
"""What brokers hold, in the order of the planner, which takes long to import."""
_LEAST, _MOST = 0.000001, 1_000_000.0


def add_broker_weights(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        _FLAG,
        metavar="FILE",
        help="CSV with the columns broker,weight: how much each broker should hold next to the others; a column bytes, "
        "replicas, leaders or of a rate is for that measure alone (default: by the size of disks where all "
        "brokers report it, equally where not)",
    )


def read_broker_weights(path: str | None) -> dict[int, dict[str, float]]:
    """By broker and measure; empty without a path. The file is CSV with the columns broker, and weight or names of
    measures. Raises UsageError.
    """
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            columns = [*(rows.fieldnames or ())]
            _check_columns(columns)
            return _weights(rows, columns)
    except OSError as error:
        raise UsageError(f"{_FLAG}: {error_text(error)}") from None
    except (UnicodeDecodeError, csv.Error):
        raise UsageError(f"{_FLAG}: {path} is no CSV in UTF-8") from None


def _check_columns(columns: list[str]) -> None:
    wrong = sorted({*columns} - {"broker", "weight", *MEASURES})
    if wrong or "broker" not in columns or len(columns) < 2 or len({*columns}) < len(columns):
        raise UsageError(
            f"{_FLAG}: expected a first line of broker,weight (weight is for all measures; a column of "
            f"{', '.join(MEASURES)} is for that one), got {told(','.join(columns))}"
        )


def _weights(rows: "csv.DictReader[str]", columns: list[str]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        where = f"{_FLAG}: line {rows.line_num}"
        if None in row or None in row.values():
            raise UsageError(f"{where}: expected {len(columns)} values, as in the first line")
        try:
            broker = whole(0, 2**31 - 1)(row["broker"])
            by_measure = {name: share(_LEAST, _MOST)(row[name]) for name in columns if name != "broker"}
        except ValueError as error:
            raise UsageError(f"{where}: {error}; a broker that is to hold nothing is drained") from None
        if broker in found:
            raise UsageError(f"{where}: broker {broker} occurs twice")
        found[broker] = _of_all_measures(by_measure)
    if not found:
        raise UsageError(f"{_FLAG}: the file names no broker")
    return found


def _of_all_measures(given: Mapping[str, float]) -> dict[str, float]:
    of_all = dict.fromkeys(MEASURES, given["weight"]) if "weight" in given else {}
    return of_all | {name: value for name, value in given.items() if name != "weight"}
