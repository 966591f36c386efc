"""`kafka-reassign-rpc plan disks`: plans moves between the log dirs of brokers; verifies and shows such plans."""

import argparse
import shlex
import sys
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from kafka_reassign_rpc.cli.pipeline_jobs import Status, say, say_left_out, tell_verified
from kafka_reassign_rpc.cli.plan_arguments import broker_ids, names_in
from kafka_reassign_rpc.cli.value_parsers import byte_count, byte_rate, share, whole
from kafka_reassign_rpc.support.counted import all_of, counted
from kafka_reassign_rpc.support.error_text import unknown_names
from kafka_reassign_rpc.support.quiet_arguments import UsageError, checked, checked_if_given
from kafka_reassign_rpc.support.secrecy import told

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.disks.disk_plan_files import DiskRequest, PlannedDirMove
    from kafka_reassign_rpc.pipeline.disks.plan_disks_job import DiskJob
    from kafka_reassign_rpc.pipeline.plans.move_list import MoveFilter
    from kafka_reassign_rpc.pipeline.store_paths import StorePath


HELP = "move replicas between the log dirs of a broker: even them out, or empty one"
DESCRIPTION = """\
Plan moves of replicas between the log dirs of a broker (AlterReplicaLogDirs). Without --empty the plan evens out the
bytes on the disks of each broker: each gets its share by its size. With --empty it empties log dirs, such as before a
disk is replaced. Replicas keep their broker; no partition moves to another one. `submit` carries the plan out.
"""
DISKS = "disks"
NOTHING_TO_MOVE, INCOMPLETE, MISSED = 3, 4, 5
EPILOG = """\
exit codes: 0 planned, 1 failed, 2 wrong flags or an unusable snapshot, 3 nothing to move (the plan is written),
            4 planned, but incomplete: replicas of a log dir to be emptied are left out, and named, 5 planned, but a
            disk stays further from its share than --until
examples:   kafka-reassign-rpc plan disks --snapshot snapshots/monday --out plans/disks --until 0.1
            kafka-reassign-rpc plan disks --empty 3:/data/2 --snapshot snapshots/monday --out plans/empty
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kafka_reassign_rpc.planner.disks.disk_room import DiskGoal, DiskLimits

    usual, limits, so = DiskGoal(), DiskLimits(), "(default: %(default)s)"
    for flag, metavar, text in (
        ("--snapshot", "DIR", "a snapshot that `export` wrote"),
        ("--out", "DIR", "the directory of the plan; it must be new or empty"),
    ):
        parser.add_argument(flag, required=True, metavar=metavar, help=text)
    parser.add_argument(
        "--empty",
        action="append",
        default=[],
        metavar="BROKER:PATH",
        help="empty this log dir, such as 3:/data/2; may be repeated (default: even out)",
    )
    either = parser.add_mutually_exclusive_group()
    for flag, text in (
        ("--tolerance", f"how far a disk may be from its share, as a part of it (default: {usual.tolerance})"),
        ("--until", "as --tolerance; where a disk stays further from its share, the exit code is 5"),
    ):
        either.add_argument(flag, metavar="SHARE", help=text)
    for flag, default, metavar, text in (
        ("--brokers", None, "4,5", "even out these brokers alone (default: all)"),
        ("--topics", None, "a,b", "only these topics, with patterns such as 'orders-*' (default: all topics)"),
        ("--exclude-topics", None, "a,b", "not these topics; patterns as of --topics"),
        ("--headroom", usual.headroom, "SHARE", f"the part of each disk that the plan leaves free {so}"),
        ("--max-bytes", None, "BYTES", "copy at most this many bytes on each broker (default: no limit)"),
        ("--max-moves-per-broker", limits.moves_per_broker, "N", f"the most moves of a broker at a time {so}"),
        ("--max-moves-per-batch", limits.moves_per_batch, "N", f"the most moves of a batch file {so}"),
        ("--bandwidth", limits.bandwidth, "BYTES/S", f"bytes per second that a broker copies between its disks {so}"),
        ("--throttle", None, "BYTES/S", "the throttle with which the plan will be submitted, to estimate its duration "
         "(default: none)"),
    ):  # fmt: skip
        parser.add_argument(flag, default=default, metavar=metavar, help=text)


def _request(arguments: argparse.Namespace) -> "DiskRequest":
    from kafka_reassign_rpc.pipeline.disks.disk_plan_files import DiskRequest

    empty: dict[int, list[str]] = {}
    for text in arguments.empty:
        broker, separator, path = text.partition(":")
        if not separator or not path.startswith("/"):
            raise UsageError(
                f"--empty: expected a broker and the absolute path of a log dir, as 3:/data/2, got {told(text)}"
            )
        path = f"/{'/'.join(filter(None, path.split('/')))}"  # as Java writes it, and so brokers report it
        paths = empty.setdefault(checked("--empty", whole(0, 2**31 - 1), broker), [])
        if path not in paths:
            paths.append(path)
    flag = "--tolerance" if arguments.until is None else "--until"
    tolerance = arguments.tolerance if arguments.until is None else arguments.until
    for name, given in (("--brokers", arguments.brokers), (flag, tolerance), ("--max-bytes", arguments.max_bytes)):
        if empty and given is not None:
            raise UsageError(f"--empty names its brokers, and moves all that is there: leave out {name}")
    return DiskRequest(
        brokers=list(broker_ids("--brokers", arguments.brokers)),
        topics=list(names_in("--topics", arguments.topics)),
        empty={broker: sorted(empty[broker]) for broker in sorted(empty)},
        tolerance=DiskRequest().tolerance if tolerance is None else checked(flag, share(0.001), tolerance),
        headroom=checked("--headroom", share(0.0), arguments.headroom),
        max_bytes=-1 if arguments.max_bytes is None else checked("--max-bytes", byte_count(-1), arguments.max_bytes),
        moves_per_broker=checked("--max-moves-per-broker", whole(1), arguments.max_moves_per_broker),
        moves_per_batch=checked("--max-moves-per-batch", whole(1), arguments.max_moves_per_batch),
    )


def _job(arguments: argparse.Namespace) -> "DiskJob":
    from kafka_reassign_rpc.pipeline.disks.plan_disks_job import DiskJob
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    throttle = checked_if_given("--throttle", byte_rate(1), arguments.throttle)
    bandwidth = checked("--bandwidth", byte_rate(1), arguments.bandwidth)
    paths = store_path(arguments.snapshot), store_path(arguments.out)
    return DiskJob(*paths, _request(arguments), bandwidth, throttle)


def run(arguments: argparse.Namespace) -> int:
    import msgspec

    from kafka_reassign_rpc.pipeline.disks import plan_disks_job
    from kafka_reassign_rpc.pipeline.disks.disk_plan_files import read_dir_moves, summary_lines
    from kafka_reassign_rpc.pipeline.planning.chosen_topics import chosen_topics
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
    from kafka_reassign_rpc.planner.brokers.broker_targets import is_within

    job = _job(arguments)
    snapshot_files.check(job.snapshot)
    topics = chosen_topics(job.snapshot, job.requested.topics, names_in("--exclude-topics", arguments.exclude_topics))
    unknown = sorted(set(topics) - snapshot_files.topic_names(job.snapshot))
    if unknown:
        raise UsageError(f"the snapshot has no topic {unknown[0]}")
    job = job._replace(requested=msgspec.structs.replace(job.requested, topics=list(topics)))
    with Status() as status:
        summary = plan_disks_job.run(job, status.show)
    for note in summary.notes:
        say(f"note: {note}")
    for left in summary.left_out:
        say_left_out(left.reason, left.replicas, "replica", left.first)
    how_to_show = f"kafka-reassign-rpc plan show {shlex.quote(str(job.out))}"
    print("\n".join(summary_lines(summary, job.out, read_dir_moves(job.out), how_to_show)))  # noqa: T201
    if not summary.complete:
        return INCOMPLETE
    if arguments.until is not None and not is_within(summary.furthest_after, summary.requested.tolerance):
        return MISSED
    return 0 if summary.moves else NOTHING_TO_MOVE


def verify(snapshot: "StorePath", plan: "StorePath") -> int:
    from kafka_reassign_rpc.pipeline.disks.disk_plan_files import read_disk_summary
    from kafka_reassign_rpc.pipeline.disks.verify_disks import verify_disks
    from kafka_reassign_rpc.pipeline.snapshots.possible_figures import require_possible_figures

    require_possible_figures(snapshot)
    return tell_verified(plan, verify_disks(snapshot, plan), read_disk_summary(plan).moves)


def _fits(wanted: "MoveFilter", move: "PlannedDirMove") -> bool:
    return (
        wanted.has_topic(move.topic)
        and (not wanted.brokers or move.broker in wanted.brokers)
        and (not wanted.reasons or any(one in move.reason for one in wanted.reasons))
        and (not wanted.batches or move.batch in wanted.batches)
    )


def nothing_chosen(wanted: "MoveFilter", topics: Collection[str], brokers: Iterable[int]) -> int:
    """Says so, with the nearest names that the plan has, and returns the exit code."""
    names = [one for one in wanted.topics if not any(sign in one for sign in "*?[")]
    unknown = unknown_names("topic", names, topics)
    unknown += unknown_names("broker", map(str, wanted.brokers), {str(one) for one in brokers})
    hint = f": there is {all_of(unknown)}" if unknown else ""
    sys.stderr.write(f"kafka-reassign-rpc plan show: the plan has no such move{hint}\n")
    return 1


def show(plan: "StorePath", wanted: "MoveFilter", sort: str, limit: int | None, *, as_json: bool) -> int:
    import msgspec

    from kafka_reassign_rpc.pipeline.disks.disk_plan_files import move_lines, read_dir_moves, require_all_dir_moves
    from kafka_reassign_rpc.pipeline.plans.move_list import MoveFilter
    from kafka_reassign_rpc.support.human_units import size

    orders: dict[str, Callable[[PlannedDirMove], tuple[Any, ...]]] = {
        "topic": lambda move: (move.topic, move.partition, move.broker),
        "bytes": lambda move: (-move.bytes, move.topic, move.partition),
        "reason": lambda move: (move.reason, move.topic, move.partition),
    }
    require_all_dir_moves(plan)
    if wanted != MoveFilter() and not any(_fits(wanted, move) for move in read_dir_moves(plan)):
        named = {(move.topic, move.broker) for move in read_dir_moves(plan)}
        return nothing_chosen(wanted, {topic for topic, _ in named}, {broker for _, broker in named})
    chosen = (move for move in read_dir_moves(plan) if _fits(wanted, move))
    shown = list(islice(sorted(chosen, key=orders[sort]) if sort in orders else chosen, limit))
    lines = (msgspec.json.encode(move._asdict()).decode() for move in shown)
    for line in lines if as_json else move_lines((move, "") for move in shown):
        sys.stdout.write(line + "\n")
    if not as_json:
        sys.stdout.write(f"{plan}: {counted(len(shown), 'move')} shown, {size(sum(one.bytes for one in shown))}\n")
    return 0
