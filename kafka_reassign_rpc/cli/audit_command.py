"""`kafka-reassign-rpc audit`: finds problems of replica placement in snapshots taken over time."""

import argparse
import sys
from typing import TYPE_CHECKING

from kafka_reassign_rpc.cli.pipeline_jobs import Status, add_broker_weights, read_broker_weights, run_job
from kafka_reassign_rpc.cli.spark_arguments import add_spark_arguments, check_spark_arguments, piece_caller
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.text_table import columns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt
    from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import FoundSnapshot
    from kafka_reassign_rpc.pipeline.store_paths import StorePath

HELP = "find skew, rack violations and changed replication factors in snapshots"
DESCRIPTION = """\
Reads snapshots that were taken over time (`export --watch` takes them) and shows:
  - how evenly bytes, replicas and leaders are spread over the brokers, with the targets that plans have
  - how much each log dir holds and its share, which have failed or are cordoned, and what `plan disks` would do
  - which replication factors changed, when, and with --events who asked for it
  - which partitions have their replicas in fewer racks than possible, or more in one than needed
  - which partitions are under-replicated, and since when
  - which configs of topics, and of all brokers, brokers end at when they start or cannot apply
"""
EPILOG = """\
exit codes: 0 no problem found, 1 failed, 2 wrong flags or unreadable snapshots, 3 problems found
example:    kafka-reassign-rpc audit --snapshots snapshots --events events --out audit
"""
EMPTY = {
    "spread": "nothing",
    "log_dirs": "no broker has reported its own",
    "drift": "no replication factor has changed",
    "mixed": "no topic has several replication factors",
    "rack_violations": "none",
    "under_replicated": "none",
    "ending_configs": "none",
}
_NO_PROBLEMS = ("spread", "log_dirs")
"""Tables that show all there is; a failed log dir among them is a problem."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--snapshots", required=True, metavar="DIR", help="a directory of snapshots, or one snapshot")
    parser.add_argument(
        "--events", metavar="DIR", help="the events that `export --events` wrote: they name who asked for a change"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="write the tables as Parquet and report.html to this new directory"
    )
    add_broker_weights(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return run_job("audit", lambda: _audit(arguments))


def _audit(arguments: argparse.Namespace) -> int:
    check_spark_arguments(arguments)
    from kafka_reassign_rpc.pipeline.event_logs import event_files
    from kafka_reassign_rpc.pipeline.output_directory import require_free
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    status = Status()
    taken = snapshot_files.find_snapshots(store_path(arguments.snapshots))
    _check(taken)
    weights = _weights(arguments.broker_weights, taken[-1].path)
    events = None if arguments.events is None else store_path(arguments.events)
    if events is not None:
        event_files.check(events)
    if arguments.out is not None:
        require_free(store_path(arguments.out))
    rows = sum(snapshot_files.count_partitions(one.path) for one in taken)
    drawing = None if arguments.out is None else "kafka_reassign_rpc.pipeline.reports.result_pages"
    paths = [*(one.path for one in taken), *([] if events is None else [events])]
    with piece_caller("audit", arguments, rows, paths, status.show, imports=drawing) as call:
        from kafka_reassign_rpc.pipeline.auditing.audit_job import audit_tables

        status.show(f"reading {counted(len(taken), 'snapshot')}")
        tables = audit_tables(call, taken, events)
    from kafka_reassign_rpc.pipeline.auditing.load_spread import (
        FAILED,
        LOG_DIR_SCHEMA,
        SPREAD_SCHEMA,
        LogDirRow,
        Spread,
        log_dir_rows,
        spread_of_loads,
        targets_of,
    )
    from kafka_reassign_rpc.pipeline.reports import result_tables

    brokers = tables["brokers"].to_pylist()
    spread, log_dirs = spread_of_loads(brokers, weights), log_dir_rows(taken[-1].path)
    if arguments.out is None:
        shown = {name: result_tables.excerpt(table) for name, table in tables.items()}
        shown["spread"] = result_tables.first_rows(spread, Spread._fields)
        shown["log_dirs"] = result_tables.first_rows(log_dirs, LogDirRow._fields)
    else:
        from kafka_reassign_rpc.pipeline.reports import result_pages

        status.show("writing the tables")
        with result_tables.ResultDirectory(store_path(arguments.out), taken[-1].meta.at) as writer:
            shown = writer.write_tables(tables)
            shown["spread"] = writer.write_rows("spread", SPREAD_SCHEMA, spread)
            shown["log_dirs"] = writer.write_rows("log_dirs", LOG_DIR_SCHEMA, log_dirs)
            status.show("drawing the report")
            now = [row for row in brokers if row["at"] == taken[-1].meta.at and row["live"]]
            metas, rows_of_spread = [one.meta for one in taken], [one._asdict() for one in spread]
            page = result_pages.audit_page(metas, rows_of_spread, now, targets_of(now, weights), shown)
            writer.write_page(result_tables.REPORT, page)
    status.clear()
    _print(taken, shown, as_json=arguments.json)
    has_found = any(shown[name].total for name in EMPTY if name not in _NO_PROBLEMS)
    return 3 if has_found or any(one.state == FAILED for one in log_dirs) else 0


def _check(taken: "Sequence[FoundSnapshot]") -> None:
    """Reports what is wrong before Spark has started. Raises BadInput."""
    from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_log_dirs
    from kafka_reassign_rpc.pipeline.snapshots.possible_figures import require_possible_figures

    for one in taken:
        require_possible_figures(one.path)
    read_log_dirs(taken[-1].path)


def _print(taken: "Sequence[FoundSnapshot]", shown: "Mapping[str, TableExcerpt]", *, as_json: bool) -> None:
    from kafka_reassign_rpc.pipeline.reports import result_tables

    if as_json:
        head = {"cluster_id": taken[0].meta.cluster_id, "snapshots": len(taken)}
        print(result_tables.json_line(head | {name: result_tables.json_document(shown[name]) for name in EMPTY}))  # noqa: T201
    else:
        first, last = (utc_time(one.meta.at) for one in (taken[0], taken[-1]))
        print(f"cluster {taken[0].meta.cluster_id}: {counted(len(taken), 'snapshot')} from {first} to {last} UTC")  # noqa: T201
        width = columns_of(sys.stdout)
        for name, empty in EMPTY.items():
            lines = result_tables.text_lines(name.replace("_", " "), shown[name], empty=empty, width=width)
            print("\n".join(["", *lines]))  # noqa: T201


def _weights(file: str | None, last: "StorePath") -> dict[int, dict[str, float]]:
    """Every live broker of the last snapshot has one, or none has."""
    from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows, require_weights

    weights = read_broker_weights(file)
    require_weights({row["broker"]: row["live"] for row in read_broker_rows(last)}, weights)
    return weights
