"""`kafka-reassign-rpc plan`: plans moves for a goal, as batches for `submit`; verifies and shows plans."""

import argparse
import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from kafka_reassign_rpc.cli import plan_disks_command, plan_show_command
from kafka_reassign_rpc.cli.broker_weights import MEASURES, add_broker_weights, read_broker_weights
from kafka_reassign_rpc.cli.pipeline_jobs import run_job, say, say_left_out
from kafka_reassign_rpc.cli.spark_arguments import add_spark_arguments, check_spark_arguments, spark_session
from kafka_reassign_rpc.cli.status_line import Status
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.cli.value_parsers import byte_count, seconds, share, whole
from kafka_reassign_rpc.support.counted import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
    from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary
    from kafka_reassign_rpc.pipeline.store_paths import StorePath

T = TypeVar("T")

HELP = "plan moves from a snapshot (heal, drain, expand, rebalance, set-rf, racks, disks); verify or show a plan"
DESCRIPTION = """\
Reads a snapshot that `export` wrote, and writes a plan: the moves with their reasons as Parquet, batches and their
rollback as JSON for kafka-reassign-partitions, and a summary of the brokers before and after. plan contacts no cluster
and changes nothing; `plan show` lists its moves, `submit` executes it.

Every plan keeps these rules: the replicas of a partition are on distinct live brokers, in as many racks as before or as
there are, within the capacities of the brokers. Their number stays (with set-rf: it is the one asked for). The same
snapshot, flags and seed give the same plan, with any --master.
"""
EXIT_CODES = """\
exit codes: 0 planned (verify: the plan keeps the rules), 1 failed (verify: it breaks rules), 2 wrong flags or an
            unusable snapshot, 3 nothing to move (the plan is written), 4 planned, but incomplete: the plan leaves
            out partitions that would have to move (heal, drain, set-rf, racks), and names them (show: moves do not
            fit the cluster any more), 5 planned, but a broker stays further from its target than --until
"""
_EXAMPLE = "example:    kafka-reassign-rpc plan {} --snapshot snapshots/monday --out plans/{}\n"
_EXAMPLES = {
    "heal": "heal --brokers 7",
    "drain": "drain --brokers 4,5 --throttle 50MB",
    "expand": "expand --brokers 7,8 --max-bytes 2TB",
    "rebalance": "rebalance --weight bytes=2 --tolerance 0.05",
    "set-rf": "set-rf --topics orders,payments --replication-factor 3",
    "racks": "racks --topics orders",
}
EXAMPLE_OF_VERIFY = "example:    kafka-reassign-rpc plan verify --snapshot snapshots/monday --plan plans/drain\n"
NOTHING_TO_MOVE = 3
INCOMPLETE = 4
MISSED = 5
_FIRST_MOVES = 5
"""Moves that the text names; `plan show` lists all."""

_GOALS = {
    "heal": "put the replicas of lost brokers onto live brokers",
    "drain": "empty live brokers",
    "expand": "give new brokers their share of the replicas",
    "rebalance": "even out bytes, replicas, leaders and rates",
    "set-rf": "change the replication factor",
    "racks": "put partitions onto more racks that are on fewer than possible",
}
_WEIGHTS = (*MEASURES, "topic", "time", "topic_replicas", "topic_leaders")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXIT_CODES + _example("drain")
    goals = parser.add_subparsers(dest="goal", required=True, metavar="GOAL")
    for name, text in _GOALS.items():
        goal = goals.add_parser(
            name, help=text, description=f"Plan moves that {text}.", epilog=EXIT_CODES + _example(name)
        )
        goal.formatter_class = argparse.RawDescriptionHelpFormatter
        _add_goal_arguments(goal, name)
        _add_plan_arguments(goal, name)
        add_spark_arguments(goal)
    disks = goals.add_parser(
        "disks",
        help=plan_disks_command.HELP,
        description=plan_disks_command.DESCRIPTION,
        epilog=plan_disks_command.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan_disks_command.add_arguments(disks)
    verify = goals.add_parser(
        "verify",
        help="check a plan against its snapshot",
        description="Check every rule of a plan, with code that the planner does not use.",
        epilog=EXAMPLE_OF_VERIFY,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verify.add_argument("--snapshot", required=True, metavar="DIR", help="the snapshot from which the plan was made")
    verify.add_argument("--plan", required=True, metavar="DIR", help="the plan to check")
    add_spark_arguments(verify)
    show = goals.add_parser(
        "show", help=plan_show_command.HELP, description=plan_show_command.DESCRIPTION, epilog=plan_show_command.EPILOG
    )
    show.formatter_class = argparse.RawDescriptionHelpFormatter
    plan_show_command.add_arguments(show)


def _example(goal: str) -> str:
    return _EXAMPLE.format(_EXAMPLES[goal], goal)


def _add_goal_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    moves = parser.add_argument_group("what moves")
    if name == "heal":
        moves.add_argument("--brokers", metavar="4,5", help="only these lost brokers (default: all lost brokers)")
    if name in ("drain", "expand"):
        moves.add_argument(
            "--brokers",
            required=True,
            metavar="4,5",
            help=f"the ids of the brokers to {name if name == 'drain' else 'fill'}",
        )
    if name in ("heal", "drain", "set-rf"):
        moves.add_argument(
            "--to",
            metavar="7,8",
            help="new replicas go to these brokers alone (default: to any); what fits on none of them, or would be "
            "less even over racks there, is left out",
        )
    if name == "set-rf":
        moves.add_argument(
            "--replication-factor", required=True, metavar="N", help="the number of replicas that each partition gets"
        )
    if name == "rebalance":
        moves.add_argument(
            "--racks",
            action="store_true",
            help="also mend partitions that are uneven over racks, as `racks`",
        )
    moves.add_argument(
        "--topics",
        metavar="a,b",
        required=name == "set-rf",
        help="only these topics, with patterns such as 'orders-*'"
        + ("; '*' for all topics" if name == "set-rf" else " (default: all topics)"),
    )
    moves.add_argument(
        "--exclude-topics", metavar="a,b", help="not these topics; patterns as of --topics: '__*,*-test'"
    )


def _add_plan_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    files = parser.add_argument_group("snapshot and plan")
    files.add_argument("--snapshot", required=True, metavar="DIR", help="a snapshot that `export` wrote")
    files.add_argument("--out", required=True, metavar="DIR", help="the directory of the plan; it must be new or empty")
    _add_soft_goals(parser, name)
    _add_limits(parser, name)
    network = parser.add_argument_group("network and time")
    network.add_argument(
        "--within",
        metavar="TIME",
        help="plan what can be done in this time, such as 2h: what is at risk, then what is worth most for a copied "
        "byte; the rest is left out (default: all)",
    )
    network.add_argument(
        "--bandwidth",
        default=100_000_000,
        metavar="BYTES/S",
        help="bytes per second of each broker in each direction, such as 50MB (default: %(default)s)",
    )
    network.add_argument(
        "--broker-bandwidth",
        action="append",
        default=[],
        metavar="ID=BYTES/S",
        help="the bandwidth of a broker that differs, such as 4=25MB: a slow one gets and sends less; may be repeated",
    )
    network.add_argument(
        "--throttle",
        metavar="BYTES/S",
        help="the throttle with which the plan will be submitted, to estimate its duration (default: none)",
    )

    network.add_argument(
        "--leaders-stay",
        action="store_true",
        help="no other replica leads first where a broker would send much more than others",
    )


def _add_soft_goals(parser: argparse.ArgumentParser, name: str) -> None:
    even = parser.add_argument_group("how even")
    if name in ("expand", "rebalance"):
        even.add_argument(
            "--tolerance",
            default=0.1,
            metavar="SHARE",
            help="how far a broker may be from its target, as a share of it (default: %(default)s)",
        )
    if name == "rebalance":
        even.add_argument(
            "--until",
            metavar="SHARE",
            help="as --tolerance; where a broker stays further from its target, the exit code is 5",
        )
    even.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="GOAL=WEIGHT",
        help=f"how much an even spread of GOAL counts ({', '.join(_WEIGHTS)}); 0: not at all; may be repeated",
    )
    add_broker_weights(even)
    even.add_argument(
        "--seed", default=0, metavar="N", help="another number gives another plan that is as good (default: 0)"
    )


def _add_limits(parser: argparse.ArgumentParser, name: str) -> None:
    limits = parser.add_argument_group("limits")
    if name in ("expand", "rebalance"):
        limits.add_argument(
            "--max-bytes",
            default=-1,
            metavar="BYTES",
            help="copy at most so many bytes in all, such as 500GB (default: no limit)",
        )
    limits.add_argument(
        "--headroom",
        default=0.05,
        metavar="SHARE",
        help="the share of each broker's capacity that the plan leaves free (default: %(default)s)",
    )
    limits.add_argument(
        "--max-moves-per-broker",
        metavar="N",
        help="the most moves at a time that copy to one broker, and as many that copy from it; of a batch, both "
        "together (default: 10; at a time more or fewer, where the plan is done sooner)",
    )
    limits.add_argument(
        "--max-moves-per-batch", default=1000, metavar="N", help="the most moves of a batch (default: %(default)s)"
    )
    limits.add_argument(
        "--max-bytes-per-broker",
        metavar="BYTES",
        help="the most bytes that a batch copies to one broker, or from it (default: no limit)",
    )
    limits.add_argument(
        "--max-bytes-per-batch",
        metavar="BYTES",
        help="the most bytes that a batch copies, such as 2TiB (default: no limit)",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.goal == "show":
        return run_job("plan", lambda: plan_show_command.run(arguments))
    if arguments.goal == "disks":
        return run_job("plan", lambda: plan_disks_command.run(arguments))
    if arguments.goal == "verify":
        return run_job("plan", lambda: _verify(arguments))
    return run_job("plan", lambda: _plan(arguments, _job(arguments)))


def _job(arguments: argparse.Namespace) -> "PlanJob":
    check_spark_arguments(arguments)
    from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
    from kafka_reassign_rpc.pipeline.store_paths import store_path
    from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
    from kafka_reassign_rpc.planner.network_limits import NetworkLimits
    from kafka_reassign_rpc.planner.scheduling.move_batching import BatchLimits

    kind = GoalKind(arguments.goal)
    topics = "" if arguments.topics in (None, "*") else arguments.topics
    factor = _checked("--replication-factor", whole(1, 1000), getattr(arguments, "replication_factor", 1))
    goal = Goal(
        kind,
        _broker_ids("--brokers", getattr(arguments, "brokers", None)),
        factor if kind is GoalKind.SET_FACTOR else 0,
        _names(topics),
        racks=getattr(arguments, "racks", False),
        to=_broker_ids("--to", getattr(arguments, "to", None)),
    )
    defaults = PlanOptions()
    network = NetworkLimits(
        _checked("--bandwidth", byte_count(1), arguments.bandwidth),
        dict(_broker_bandwidth(one) for one in arguments.broker_bandwidth),
        -1 if arguments.throttle is None else _checked("--throttle", byte_count(1), arguments.throttle),
    )
    options = PlanOptions(
        seed=_checked("--seed", whole(0), arguments.seed),
        tolerance=_tolerance(arguments, defaults.tolerance),
        headroom=_checked("--headroom", share(0.0), arguments.headroom),
        max_bytes=_checked("--max-bytes", byte_count(-1), getattr(arguments, "max_bytes", defaults.max_bytes)),
        weights=_weights(arguments.weight, kind == GoalKind.REBALANCE),
        network=network,
        lead_first=not arguments.leaders_stay,
        broker_weights=read_broker_weights(arguments.broker_weights),
    )
    cap = arguments.max_moves_per_broker
    caps = BatchLimits(
        BatchLimits().moves_per_broker if cap is None else _checked("--max-moves-per-broker", whole(1), cap),
        _limit("--max-bytes-per-broker", arguments.max_bytes_per_broker),
        _limit("--max-bytes-per-batch", arguments.max_bytes_per_batch),
        _checked("--max-moves-per-batch", whole(1), arguments.max_moves_per_batch),
    )
    within = None if arguments.within is None else _checked("--within", seconds(1), arguments.within)
    paths = store_path(arguments.snapshot), store_path(arguments.out)
    return PlanJob(*paths, goal, options, caps, chooses_cap=cap is None, within=within)


def _tolerance(arguments: argparse.Namespace, default: float) -> float:
    until = getattr(arguments, "until", None)
    if until is not None:
        return _checked("--until", share(0.001), until)
    return _checked("--tolerance", share(0.001), getattr(arguments, "tolerance", default))


def _broker_ids(flag: str, text: str | None) -> tuple[int, ...]:
    return tuple(sorted({_checked(flag, whole(0, 2**31 - 1), one) for one in text.split(",")})) if text else ()


def _names(text: str) -> tuple[str, ...]:
    return tuple(sorted({one.strip() for one in text.split(",") if one.strip()}))


def _broker_bandwidth(text: str) -> tuple[int, int]:
    broker, separator, rate = text.partition("=")
    if not separator:
        raise UsageError(f"--broker-bandwidth: expected a broker and its bandwidth, as 4=25MB, got {text!r}")
    return (
        _checked("--broker-bandwidth", whole(0, 2**31 - 1), broker),
        _checked("--broker-bandwidth", byte_count(1), rate),
    )


def _weights(given: list[str], spreads_topics: bool) -> Any:
    from kafka_reassign_rpc.planner.goals_and_options import GoalWeights

    chosen = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in _WEIGHTS:
            raise UsageError(f"--weight: expected one of {', '.join(_WEIGHTS)} and a number, as bytes=2, got {text!r}")
        chosen[name] = _checked("--weight", share(0.0, 1000.0), value)
    weights = GoalWeights(**chosen)
    if weights.spread_topics and not spreads_topics:
        raise UsageError("--weight: rebalance alone spreads topics (topic_replicas, topic_leaders)")
    if not any(weights.by_measure()) and not weights.spread_topics:
        raise UsageError("--weight: nothing is left to even out; topic alone moves nothing")
    return weights


def _limit(flag: str, value: Any) -> int:
    return -1 if value is None else _checked(flag, byte_count(1), value)


def _checked(flag: str, parse: Callable[[Any], T], value: Any) -> T:
    try:
        return parse(value)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None


def _plan(arguments: argparse.Namespace, job: "PlanJob") -> int:
    from kafka_reassign_rpc.pipeline.planning import plan_input
    from kafka_reassign_rpc.pipeline.planning.chosen_topics import chosen_topics
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files

    excluded = _names(arguments.exclude_topics or "")
    if excluded or job.goal.topics:
        snapshot_files.check(job.snapshot)
        topics = chosen_topics(job.snapshot, job.goal.topics, excluded)
        job = job._replace(goal=msgspec.structs.replace(job.goal, topics=topics))
    plan_input.check(job)  # what is wrong is told before PySpark is imported, which takes seconds
    rows = snapshot_files.count_partitions(job.snapshot)
    from kafka_reassign_rpc.pipeline.planning import plan_job
    from kafka_reassign_rpc.pipeline.plans.plan_summary import outside_tolerance
    from kafka_reassign_rpc.pipeline.reports import plan_report
    from kafka_reassign_rpc.pipeline.spark_session import is_local

    status = Status()

    def start_spark() -> "AbstractContextManager[SparkSession]":
        status.show("starting Spark")
        return spark_session(f"plan {job.goal.kind}", arguments, rows)

    try:
        if is_local(arguments.master) and plan_input.plans_here(job.goal.kind, rows):
            summary = plan_job.run_here(start_spark, job, status.show)
        else:
            with start_spark() as spark:
                summary = plan_job.run(spark, job, status.show)
        status.show("drawing the report")
        report = plan_report.write(job.out)
    finally:
        status.clear()
    for note in summary.notes:
        say(f"note: {note}")
    for left in summary.left_out:
        say_left_out(left.reason, left.partitions, "partition", left.first)
    print("\n".join([summary_text(summary, job.out), *_first_moves(summary, job.out), f"  report    {report}"]))  # noqa: T201
    if not summary.complete:
        return INCOMPLETE
    if getattr(arguments, "until", None) is not None and outside_tolerance(summary):
        return MISSED
    return 0 if summary.moves else NOTHING_TO_MOVE


def summary_text(summary: "PlanSummary", out: "StorePath") -> str:
    """The plan in a few lines; the first says if it is incomplete."""
    from kafka_reassign_rpc.pipeline.plans.plan_summary import incomplete_text

    incomplete = incomplete_text(summary)
    return "\n".join([*([f"{out}: {incomplete}"] if incomplete else []), *_lines(summary, out)])


def _lines(summary: "PlanSummary", out: "StorePath") -> list[str]:
    from kafka_reassign_rpc.pipeline.plans.plan_summary import imbalance_texts, known_imbalance, topic_lines
    from kafka_reassign_rpc.pipeline.plans.time_texts import pace_text, time_lines
    from kafka_reassign_rpc.pipeline.plans.why_not_better import shortfall_lines
    from kafka_reassign_rpc.support.human_units import duration, size

    if not summary.moves:
        return [f"{out}: nothing to move among {counted(summary.partitions, 'partition')}"]
    batches = "1 batch" if len(summary.batches) == 1 else f"{len(summary.batches)} batches"
    lines = [
        f"{out}: {summary.moves} of {summary.partitions} partitions move in {batches}",
        f"  copied    {size(summary.bytes)}; at least {size(summary.lower_bound)} would have to be",
        f"  takes     {duration(summary.expected_seconds)} at {pace_text(summary)}",
        *(f"  {name:9} {text}" for name, text in time_lines(summary)),
    ]
    for name in known_imbalance(summary):
        before, after = imbalance_texts(summary, name)
        lines.append(f"  {name:9} furthest from its target {before}, then {after}")
    lines += [f"  {'' if place else 'topics':9} {line}" for place, line in enumerate(topic_lines(summary))]
    return [*lines, *(f"  {'' if place else 'why':9} {line}" for place, line in enumerate(shortfall_lines(summary)))]


def _first_moves(summary: "PlanSummary", out: "StorePath") -> list[str]:
    from kafka_reassign_rpc.pipeline.plans.move_list import MoveFilter, read_moves
    from kafka_reassign_rpc.pipeline.plans.move_texts import move_lines

    lines = list(move_lines((one.move, "") for one in read_moves(out, MoveFilter(), limit=_FIRST_MOVES)))
    if summary.moves > len(lines):
        lines.append(f"and {summary.moves - len(lines):,} more: kafka-reassign-rpc plan show {shlex.quote(str(out))}")
    return [f"  {'' if place else 'moves':9} {line}" for place, line in enumerate(lines)]


def _verify(arguments: argparse.Namespace) -> int:
    check_spark_arguments(arguments)
    from kafka_reassign_rpc.pipeline.plans import plan_writer
    from kafka_reassign_rpc.pipeline.plans.plan_summary import read_kind
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    path, plan = store_path(arguments.snapshot), store_path(arguments.plan)
    snapshot_files.check(path)
    if read_kind(plan) == plan_disks_command.DISKS:
        return plan_disks_command.verify(path, plan)
    summary = plan_writer.check(plan)
    from kafka_reassign_rpc.pipeline.executor_probe import require_executors
    from kafka_reassign_rpc.pipeline.planning.verify_job import verify

    status = Status()
    status.show("starting Spark")
    with spark_session("verify", arguments, snapshot_files.count_partitions(path)) as spark:
        require_executors(spark, path, plan)
        batches = counted(len(summary.batches), "batch")
        status.show(f"verifying {counted(summary.moves, 'move')} in {batches}")
        broken = verify(spark, path, plan)
    status.clear()
    for one in broken:
        say(str(one))
    rows = "1 row breaks a rule" if len(broken) == 1 else f"{len(broken)} rows break rules"
    moves = f"{counted(summary.moves, 'move')}, no rule is broken"
    print(f"{plan}: {rows if broken else moves}")  # noqa: T201
    return 1 if broken else 0
