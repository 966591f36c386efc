"""`kafka-reassign-rpc export`: writes a snapshot of a cluster, and its events, as files."""

import argparse
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from kafka_reassign_rpc.cli.pipeline_jobs import Status, add_connection_arguments, client_of, connected, run_job, say
from kafka_reassign_rpc.cli.value_parsers import seconds
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.quiet_arguments import UsageError, checked

if TYPE_CHECKING:
    from kafka_reassign_rpc.client import ReassignmentClient
    from kafka_reassign_rpc.pipeline.snapshots.export_snapshot import ExportedSnapshot
    from kafka_reassign_rpc.pipeline.store_paths import StorePath

Export = Callable[["StorePath | None", "StorePath | None"], None]
"""Exports to the first place; the second is that of the snapshot before."""

HELP = "write a snapshot of a cluster as Parquet files"
DESCRIPTION = """\
Reads brokers, racks, partitions, replicas, leaders, sizes, configs and moves (in flight and waiting) from any Kafka
cluster, and writes them as a directory of Parquet files: a snapshot. The cluster may be stock Kafka with ZooKeeper or
KRaft. With --events it also writes the events that all running kafka-reassign-rpc servers have recorded: who moved
what, with which result. export changes nothing in the cluster.

The directory of a snapshot appears only when it is complete. If a broker does not answer, export names it, and writes
null for the sizes that only this broker knows. Brokers that do not answer cost one request timeout together
(request.timeout.ms in --command-config). Moves that begin or end meanwhile are named, and are exported as moving.
"""
EPILOG = """\
exit codes: 0 exported, 1 failed, 2 wrong flags or an unusable directory
example:    kafka-reassign-rpc export --bootstrap-server localhost:9092 --out snapshots/monday
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    parser.add_argument("--out", metavar="DIR", help="the directory of the snapshot; it must be new or empty")
    parser.add_argument(
        "--events",
        metavar="DIR",
        help="the directory of the events; export adds the events that are new since its last run",
    )
    parser.add_argument(
        "--rates-from",
        metavar="SNAPSHOT",
        help="an earlier snapshot: the growth since then gives the produce rates (default: rates are not known)",
    )
    parser.add_argument(
        "--rates",
        metavar="FILE",
        help="CSV or Parquet with the columns topic, partition, bytes_in, bytes_out, messages_in, cpu: rates per "
        "second of a partition, or, without one, of a topic; docs/pipeline.md has recipes for Prometheus and JMX",
    )
    parser.add_argument(
        "--rates-over",
        metavar="DIR",
        help="a directory of earlier snapshots: each rate is the highest that they and --rates tell, so that a plan "
        "looks at the peak of a day and not at one moment; --out must lie elsewhere",
    )
    parser.add_argument(
        "--rates-by",
        choices=("max", "mean"),
        default="max",
        help="with --rates-over: the highest rate of each partition (max, the default), or the mean",
    )
    parser.add_argument(
        "--watch",
        metavar="SECONDS",
        help="take a snapshot every SECONDS (or 5min, 1h) until Ctrl-C, in DIR/<UTC time>, with the rates since the "
        "one before; if the cluster does not answer, export tries again the next time",
    )


def run(arguments: argparse.Namespace) -> int:
    interval = None
    if arguments.out is None and arguments.events is None:
        raise UsageError("give --out, --events or both")
    if arguments.watch is not None:
        interval = checked("--watch", seconds(1), arguments.watch)
        if arguments.rates_from is not None:
            raise UsageError("--rates-from: with --watch rates come from the snapshot before")
        if arguments.rates_over is not None:
            raise UsageError("--rates-over: with --watch each snapshot tells the rates of its time")
    return run_job("export", lambda: _export(arguments, interval))


def _export(arguments: argparse.Namespace, interval: int | None) -> int:
    from kafka_reassign_rpc.pipeline.output_directory import require_free
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    out = None if arguments.out is None else store_path(arguments.out)
    if interval is None and out is not None:
        require_free(out)
    before = None if arguments.rates_from is None else store_path(arguments.rates_from)
    if before is not None:
        snapshot_files.read_meta(before)
    if arguments.rates_over is not None:
        over = store_path(arguments.rates_over)
        snapshot_files.find_snapshots(over)
        if out is not None and out.parent == over:
            raise UsageError("--out: lies in --rates-over, where its rates would count as those of one moment")
    stop = threading.Event()
    with connected(arguments) as client:
        if interval is None:
            _all(client, arguments, out, before)
            return 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        watch(lambda to, earlier: _all(client, arguments, to, earlier), out, interval, stop)
    return 0


def watch(export_all: Export, out: "StorePath | None", interval: int, stop: threading.Event) -> None:
    """Calls `export_all` with the directories of the next and of the former snapshot, every `interval` s until `stop`.

    If the cluster does not answer, the next turn tries again. Raises KafkaError if it has never answered, or if a
    retry cannot help.
    """
    from kafka_reassign_rpc.core.kafka_errors import KafkaError

    answered, before = False, None
    while not stop.is_set():
        began = time.monotonic()
        to = None if out is None else out / time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
        try:
            export_all(to, before)
        except KafkaError as error:
            if not (answered and error.retriable):
                raise
            say(f"nothing exported: {error}; once more in {interval} s")
        else:
            answered, before = True, to
        stop.wait(max(0.0, began + interval - time.monotonic()))


def _all(
    client: "ReassignmentClient", arguments: argparse.Namespace, out: "StorePath | None", before: "StorePath | None"
) -> None:
    if out is not None:
        _print_snapshot(_one(client, out, arguments, before), out)
    if arguments.events is not None:
        from kafka_reassign_rpc.pipeline.event_logs.export_events import export_new_events
        from kafka_reassign_rpc.pipeline.store_paths import store_path

        with Status() as status:
            connect = partial(client_of, arguments)
            followed = export_new_events(client, connect, store_path(arguments.events), status.show)
        for warning in followed.warnings:
            say(f"warning: {warning}")
        events = counted(followed.events, "new event")
        print(f"{arguments.events}: {events} of {counted(followed.servers, 'server')}", flush=True)  # noqa: T201


def _one(
    client: "ReassignmentClient", out: "StorePath", arguments: argparse.Namespace, before: "StorePath | None"
) -> "ExportedSnapshot":
    from kafka_reassign_rpc.pipeline.snapshots.export_snapshot import export
    from kafka_reassign_rpc.pipeline.snapshots.growth_rates import EarlierSizes, RatesOverTime, RatesTable
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    rates = None if arguments.rates is None else RatesTable(store_path(arguments.rates))
    source = arguments.bootstrap_server
    with Status() as status:
        earlier = None if before is None else EarlierSizes(before)
        over = None if arguments.rates_over is None else store_path(arguments.rates_over)
        over_time = None if over is None else RatesOverTime(over, arguments.rates_by)
        found = export(
            client, out, source=source, show_status=status.show, earlier=earlier, rates=rates, over_time=over_time
        )
    for warning in found.warnings:
        say(f"warning: {warning}")
    return found


def _print_snapshot(found: "ExportedSnapshot", out: "StorePath") -> None:
    moving = f", {found.moving} moving" if found.moving else ""
    moving += f", {found.waiting} waiting to move" if found.waiting else ""
    print(  # noqa: T201
        f"{out}: cluster {found.cluster_id}, {counted(found.brokers, 'broker')}, {counted(found.topics, 'topic')}, "
        f"{counted(found.partitions, 'partition')}{moving}, {counted(found.replicas, 'replica')}",
        flush=True,
    )
