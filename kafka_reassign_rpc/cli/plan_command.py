"""`kafka-reassign-rpc plan`: plans moves for a goal, as batches for `submit`; verifies and shows plans."""

import argparse
import shlex
from typing import TYPE_CHECKING

import msgspec

from kafka_reassign_rpc.cli import plan_disks_command, plan_show_command
from kafka_reassign_rpc.cli.pipeline_jobs import Status, run_job, say, say_left_out, say_staying, tell_verified
from kafka_reassign_rpc.cli.plan_arguments import KINDS, add_goal_arguments, add_plan_arguments, job_of, names_in
from kafka_reassign_rpc.cli.spark_arguments import (
    add_spark_arguments,
    check_spark_arguments,
    piece_caller,
    spark_session,
)
from kafka_reassign_rpc.support.counted import agreeing, counted

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
    from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary
    from kafka_reassign_rpc.pipeline.store_paths import StorePath

HELP = (
    "plan moves from a snapshot (heal, drain, demote, expand, rebalance, set-rf, racks, combine, disks); verify or "
    "show a plan"
)
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
            out partitions that would have to move (to heal, drain, demote, set-rf or mend racks), and names them
            (show: moves do not fit the cluster any more), 5 planned, but a broker stays further from its target than
            --until, 6 planned, but partitions end on fewer racks than before, or less even over them
            (--allow-fewer-racks: 0)
"""
_EXAMPLE = "example:    kafka-reassign-rpc plan {} --snapshot snapshots/monday --out plans/{}\n"


def _example(goal: str) -> str:
    return _EXAMPLE.format(KINDS[goal].example, goal)


EPILOG = EXIT_CODES + _example("drain")
EXAMPLE_OF_VERIFY = "example:    kafka-reassign-rpc plan verify --snapshot snapshots/monday --plan plans/drain\n"
NOTHING_TO_MOVE = 3
INCOMPLETE = 4
MISSED = 5
FEWER_RACKS = 6
_FIRST_MOVES = 5
"""Moves that the text names; `plan show` lists all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    goals = parser.add_subparsers(dest="goal", required=True, metavar="GOAL")
    for name, kind in KINDS.items():
        goal = goals.add_parser(
            name, help=kind.help, description=f"Plan moves that {kind.help}.", epilog=EXIT_CODES + _example(name)
        )
        goal.formatter_class = argparse.RawDescriptionHelpFormatter
        add_goal_arguments(goal, name, kind.flags)
        add_plan_arguments(goal, kind.flags)
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


def run(arguments: argparse.Namespace) -> int:
    if arguments.goal == "show":
        return run_job("plan", lambda: plan_show_command.run(arguments))
    if arguments.goal == "disks":
        return run_job("plan", lambda: plan_disks_command.run(arguments))
    if arguments.goal == "verify":
        return run_job("plan", lambda: _verify(arguments))
    return run_job("plan", lambda: _plan(arguments, job_of(arguments)))


def _plan(arguments: argparse.Namespace, job: "PlanJob") -> int:
    from kafka_reassign_rpc.pipeline.planning import plan_input
    from kafka_reassign_rpc.pipeline.planning.chosen_topics import chosen_topics
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files

    excluded = names_in("--exclude-topics", arguments.exclude_topics)
    if excluded or job.goal.topics:
        snapshot_files.check(job.snapshot)
        topics = chosen_topics(job.snapshot, job.goal.topics, excluded)
        job = job._replace(goal=msgspec.structs.replace(job.goal, topics=topics))
    plan_input.check(job)  # what is wrong is said before the planner and matplotlib are imported, which takes seconds
    from kafka_reassign_rpc.pipeline.planning import plan_job
    from kafka_reassign_rpc.pipeline.plans.plan_summary import lost_racks, outside_tolerance
    from kafka_reassign_rpc.pipeline.reports import plan_report
    from kafka_reassign_rpc.pipeline.spark_master import NO_SPARK
    from kafka_reassign_rpc.pipeline.store_paths import StoreError, remove_tree

    with Status() as status:
        if arguments.master == NO_SPARK:
            summary = plan_job.run_here(job, status.show)
        else:
            status.show("starting Spark")
            rows = snapshot_files.count_partitions(job.snapshot)
            with spark_session(f"plan {job.goal.kind}", arguments, rows, in_python=True) as spark:
                summary = plan_job.run(spark, job, status.show)
        status.show("drawing the report")
        try:
            report = plan_report.write(job.out)
        except (OSError, StoreError):  # as where the disk is full: half a plan would be in the way of the next
            remove_tree(job.out)
            raise
    for note in summary.notes:
        say(f"note: {note}")
    keeping = {broker for left in summary.left_out for broker in left.brokers}
    for left in summary.left_out:
        say_left_out(left.reason, left.partitions, "partition", left.first, left.bytes)
        if len(keeping) > 1:
            say_staying(left.brokers)
    print("\n".join([summary_text(summary, job.out), *_first_moves(summary, job.out), f"  report    {report}"]))  # noqa: T201
    if not summary.complete:
        return INCOMPLETE
    if getattr(arguments, "until", None) is not None and outside_tolerance(summary):
        return MISSED
    if lost_racks(summary):
        return FEWER_RACKS
    return 0 if summary.moves else NOTHING_TO_MOVE


def summary_text(summary: "PlanSummary", out: "StorePath") -> str:
    """The first of the lines says if the plan is incomplete."""
    from kafka_reassign_rpc.pipeline.plans.plan_summary import incomplete_text

    incomplete = incomplete_text(summary)
    return "\n".join([*([f"{out}: {incomplete}"] if incomplete else []), *_lines(summary, out)])


def _lines(summary: "PlanSummary", out: "StorePath") -> list[str]:
    from kafka_reassign_rpc.pipeline.plans.move_texts import pace_text, time_lines
    from kafka_reassign_rpc.pipeline.plans.plan_summary import (
        across_racks_text,
        imbalance_texts,
        known_imbalance,
        outside_tolerance,
        rack_lines,
        topic_lines,
    )
    from kafka_reassign_rpc.pipeline.plans.why_not_better import shortfall_lines
    from kafka_reassign_rpc.support.human_units import duration, size

    uneven = [f"  {'' if place else 'topics':9} {line}" for place, line in enumerate(topic_lines(summary))]
    why = [f"  {'' if place else 'why':9} {line}" for place, line in enumerate(shortfall_lines(summary))]
    if not summary.moves:
        is_short = bool(outside_tolerance(summary)) and summary.kind == "rebalance"
        return [
            f"{out}: nothing to move among {counted(summary.partitions, 'partition')}",
            *uneven,
            *(why if is_short else ()),
        ]
    move = f"{counted(summary.partitions, 'partition')} {agreeing(summary.moves, 'move')}"
    lines = [
        f"{out}: {summary.moves} of {move} in {counted(len(summary.batches), 'batch')}",
        f"  copied    {size(summary.bytes)}; at least {size(summary.lower_bound)} would have to be",
        *(f"  racks     {text}" for text in (across_racks_text(summary),) if text),
        f"  takes     {duration(summary.expected_seconds)} at {pace_text(summary)}",
        *(f"  {name:9} {text}" for name, text in time_lines(summary)),
    ]
    for name in known_imbalance(summary):
        before, after = imbalance_texts(summary, name)
        lines.append(f"  {name:9} furthest from its target {before}, then {after}")
    risks = [f"  {'' if place else 'risks':9} {line}" for place, line in enumerate(rack_lines(summary))]
    return [*lines, *risks, *uneven, *why]


def _first_moves(summary: "PlanSummary", out: "StorePath") -> list[str]:
    from kafka_reassign_rpc.pipeline.plans.move_list import MoveFilter, read_moves
    from kafka_reassign_rpc.pipeline.plans.move_texts import move_lines

    lines = list(move_lines((one.move, "") for one in read_moves(out, MoveFilter(), limit=_FIRST_MOVES)))
    if summary.moves > len(lines):
        lines.append(f"and {summary.moves - len(lines):,} more: kafka-reassign-rpc plan show {shlex.quote(str(out))}")
    return [f"  {'' if place else 'moves':9} {line}" for place, line in enumerate(lines)]


def _verify(arguments: argparse.Namespace) -> int:
    check_spark_arguments(arguments)
    from kafka_reassign_rpc.pipeline.plans.plan_summary import read_kind
    from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
    from kafka_reassign_rpc.pipeline.snapshots.possible_figures import require_possible_figures
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    path, plan = store_path(arguments.snapshot), store_path(arguments.plan)
    snapshot_files.check(path)
    if read_kind(plan) == plan_disks_command.DISKS:
        return plan_disks_command.verify(path, plan)
    from kafka_reassign_rpc.pipeline.planning.verify_job import checked_summary, rows_to_verify, verify

    summary = checked_summary(path, plan)
    require_possible_figures(path)
    status = Status()
    what = f"verifying {counted(summary.moves, 'move')} in {counted(len(summary.batches), 'batch')}"
    rows = rows_to_verify(path, summary)
    with piece_caller("verify", arguments, rows, [path, plan], status.show) as call:
        status.show(what)
        broken = verify(call, path, plan)
    status.clear()
    return tell_verified(plan, broken, summary.moves)
