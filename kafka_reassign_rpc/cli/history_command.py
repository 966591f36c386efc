"""`kafka-reassign-rpc history`: shows the past moves of a cluster, from the recorded events."""

import argparse
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_reassign_rpc.cli.pipeline_jobs import run_job, say
from kafka_reassign_rpc.cli.spark_arguments import add_spark_arguments, check_spark_arguments, spark_session
from kafka_reassign_rpc.cli.status_line import Status
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.text_table import columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt
    from kafka_reassign_rpc.pipeline.store_paths import StorePath

_NAMED = 5
HELP = "show how long moves waited and took, which were slow or stalled, how throttles were used"
DESCRIPTION = """\
Reads the events that `export --events` wrote, and shows for each move who asked for it, how long it waited, how long it
took, and whether it stalled. For each throttle it shows how much of it the broker received by moves; what it sent does
not count. With --snapshot it knows the sizes of partitions, and so the rates of moves.

--follow updates the tables in --out whenever new events arrive, until Ctrl-C. Started again, it continues.
"""
EPILOG = """\
exit codes: 0 done, 1 failed, 2 wrong flags or unreadable events
example:    kafka-reassign-rpc history --events events --snapshot snapshots/monday --out history
"""
EMPTY = {
    "outcomes": "no moves",
    "slowest": "no move has ended",
    "stalled": "none",
    "throttles": "none was set",
    "refusals": "none",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("--events", required=True, metavar="DIR", help="the events that `export --events` wrote")
    parser.add_argument(
        "--snapshot", metavar="DIR", help="a snapshot that `export` wrote: it gives the sizes of partitions"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="write the tables as Parquet and report.html to this new directory"
    )
    parser.add_argument("--follow", action="store_true", help="wait for new events and update the tables; needs --out")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.follow and arguments.out is None:
        raise UsageError("--follow: keeps tables up to date, so it needs --out")
    return run_job("history", lambda: _history(arguments))


def _history(arguments: argparse.Namespace) -> int:
    check_spark_arguments(arguments)
    from kafka_reassign_rpc.pipeline.event_logs import event_files
    from kafka_reassign_rpc.pipeline.move_history.stream_checkpoint import checkpoint_directory
    from kafka_reassign_rpc.pipeline.output_directory import require_free
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    events = store_path(arguments.events)
    out = None if arguments.out is None else store_path(arguments.out)
    is_there = events.is_dir()
    files = event_files.list_files(events) if is_there else []
    if files or not (arguments.follow and is_there):
        event_files.check(events)
    if lacking := [*event_files.in_no_file(files)]:
        why = "a server had deleted them before they were exported, or a file is lost"
        say(f"warning: {first_of(lacking, _NAMED)} are in no file: {why}")
    if arguments.snapshot is not None:
        snapshot_files.check(store_path(arguments.snapshot))
    if out is not None and not (arguments.follow and checkpoint_directory(out).exists()):
        require_free(out)
    status = Status()
    status.show("starting Spark")
    from kafka_reassign_rpc.pipeline.executor_probe import require_executors
    from kafka_reassign_rpc.pipeline.move_history.history_stream import HistoryStream

    stop = threading.Event()
    page = None if out is None else "kafka_reassign_rpc.pipeline.reports.history_report"
    with spark_session("history", arguments, imports=page) as spark:
        snapshots = [] if arguments.snapshot is None else [store_path(arguments.snapshot)]
        require_executors(spark, events, *snapshots)
        if not arguments.follow:
            status.show("reading the events")
            shown = _tables(spark, arguments, out, status.show)
            status.clear()
            _print(arguments, shown)
            return 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())

        def update() -> None:
            _print(arguments, _tables(spark, arguments, out))

        assert out is not None
        following = HistoryStream(spark, events, out, update)
        try:
            status.clear()
            while not stop.wait(0.2) and not following.wait(0.1):
                pass
        finally:
            following.stop()
    return 0


def _tables(
    spark: "SparkSession",
    arguments: argparse.Namespace,
    out: "StorePath | None",
    show_status: Callable[[str], None] = lambda _: None,
) -> "dict[str, TableExcerpt]":
    """Also puts the tables in place. `show_status` gets each step in words."""
    from kafka_reassign_rpc.pipeline.event_logs import event_files
    from kafka_reassign_rpc.pipeline.move_history import history_job
    from kafka_reassign_rpc.pipeline.reports import result_directory, result_tables
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    sizes = None if arguments.snapshot is None else history_job.partition_sizes(spark, store_path(arguments.snapshot))
    events = event_files.data_frame(spark, store_path(arguments.events))
    frames = history_job.history_tables(events, sizes)
    if out is None:
        return result_tables.excerpts(frames, EMPTY, show_status)
    from kafka_reassign_rpc.pipeline.reports import history_report

    with result_directory.ResultDirectory(out, event_files.newest(events)) as writer:
        shown = writer.write_tables(frames, show_status)
        show_status("drawing the report")
        writer.write_page(result_directory.REPORT, history_report.history_page(frames["moves"], shown))
    return {name: shown[name] for name in EMPTY}


def _print(arguments: argparse.Namespace, shown: "dict[str, TableExcerpt]") -> None:
    from kafka_reassign_rpc.pipeline.reports import result_tables

    if arguments.json:
        document = {name: result_tables.json_document(one) for name, one in shown.items()}
        print(result_tables.json_line(document), flush=True)  # noqa: T201
        return
    for name, one in shown.items():
        lines = result_tables.text_lines(name, one, empty=EMPTY[name], width=columns_of(sys.stdout))
        print("\n".join([*lines, ""]), flush=True)  # noqa: T201
