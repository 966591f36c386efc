"""`kafka-reassign-rpc history`: shows the past moves of a cluster, from the recorded events."""

import argparse
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_reassign_rpc.cli.pipeline_jobs import Status, run_job, say
from kafka_reassign_rpc.cli.spark_arguments import add_spark_arguments, check_spark_arguments, piece_caller
from kafka_reassign_rpc.pipeline.spark_master import NO_SPARK
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.text_table import columns_of

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt
    from kafka_reassign_rpc.pipeline.store_paths import StorePath
    from kafka_reassign_rpc.pipeline.topic_pieces import PieceCaller

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
    if arguments.follow and arguments.master == NO_SPARK:
        raise UsageError("--follow: Spark's streaming remembers what it has read: give another --master than none")
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
    rows = event_files.check(events) if files else 0
    page = None if out is None else "kafka_reassign_rpc.pipeline.reports.result_pages"
    paths = [events, *([] if arguments.snapshot is None else [store_path(arguments.snapshot)])]
    with piece_caller("history", arguments, rows, paths, status.show, imports=page) as call:
        if arguments.follow:
            _follow(call, arguments, events, status)
            return 0
        status.show("reading the events")
        shown = _tables(call, arguments, status.show)
    status.clear()
    _print(arguments, shown)
    return 0


def _follow(call: "PieceCaller", arguments: argparse.Namespace, events: "StorePath", status: Status) -> None:
    from kafka_reassign_rpc.pipeline.move_history.history_stream import HistoryStream
    from kafka_reassign_rpc.pipeline.store_paths import store_path
    from kafka_reassign_rpc.pipeline.topic_pieces import CallOnSpark

    assert isinstance(call, CallOnSpark)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    following = HistoryStream(
        call.spark, events, store_path(arguments.out), lambda: _print(arguments, _tables(call, arguments))
    )
    try:
        status.clear()
        while not stop.wait(0.2) and not following.wait(0.1):
            pass
    finally:
        following.stop()


def _tables(
    call: "PieceCaller", arguments: argparse.Namespace, show_status: Callable[[str], None] = lambda _: None
) -> "dict[str, TableExcerpt]":
    """Also puts the tables in place. `show_status` gets each step in words."""
    from kafka_reassign_rpc.pipeline.move_history.history_job import history
    from kafka_reassign_rpc.pipeline.reports import result_tables
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    snapshot = None if arguments.snapshot is None else store_path(arguments.snapshot)
    with history(call, store_path(arguments.events), snapshot) as found:
        if arguments.out is None:
            return {name: result_tables.excerpt(found.tables[name]) for name in EMPTY}
        from kafka_reassign_rpc.pipeline.reports import result_pages

        show_status("writing the tables")
        with result_tables.ResultDirectory(store_path(arguments.out), found.newest) as writer:
            shown = writer.write_tables(found.tables)
            show_status("drawing the report")
            writer.write_page(result_tables.REPORT, result_pages.history_page(found.moves, shown))
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
