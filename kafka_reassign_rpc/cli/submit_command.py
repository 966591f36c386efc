"""`kafka-reassign-rpc submit`: executes a plan."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from kafka_reassign_rpc.cli.pipeline_jobs import (
    Status,
    add_connection_arguments,
    connected,
    connection_of,
    run_job,
    say,
)
from kafka_reassign_rpc.cli.plan_disks_command import DISKS
from kafka_reassign_rpc.cli.value_parsers import byte_rate, whole
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.quiet_arguments import UsageError, checked_if_given
from kafka_reassign_rpc.support.typed_commands import command

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.disks.submit_disks import DiskSubmission
    from kafka_reassign_rpc.pipeline.store_paths import StorePath
    from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission

FAILED, NOT_WELL, DOES_NOT_FIT, NOT_EMPTY = 1, 3, 4, 5
"""Exit codes."""
_OF_PARTITIONS = ("by_batch", "lift_stricter", "reason", "max_moves")
"""Flags that are about moves of partitions, which a controller knows."""
LONGEST_REASON = 500
"""Characters of --reason: a controller keeps 1000, and submit adds the plan and the batch."""

Lines = Callable[[], Sequence[str]]

HELP = "execute a plan"
DESCRIPTION = """\
Executes a plan: moves start as others end, in the order of the plan, as many at a time as it allows. With --by-batch
each batch starts when the batch before is done. A move starts only if its partition has the replicas from which the
plan was made; a kafka-reassign-rpc server compares them again in the same step. Other moves go on without it, and
submit names it at the end; by batch no later batch starts. A replication factor changes only if that is the goal
of the plan. Where the plan names a first leader, that replica leads before the copy begins; a partition whose move does
not begin gets its order back. A plan that drains brokers cordons them first (--no-cordon: not); at the end submit moves
away what came there after the snapshot, and says whether they are empty. Without --execute submit changes nothing, and
shows the state of each batch.

submit may be killed at any time: started again, it continues from the state of the cluster. On Ctrl-C it takes back the
moves that wait in the controller's queue, and says which go on, and how to cancel them. It stops when the cluster is
not well: when a broker is lost that holds replicas or gets some, or when partitions that do not move become
under-replicated. While the cluster does not answer, submit tries again for two minutes.

With --throttle the controller throttles the moves exactly as long as they last. There is no throttle to remove
afterwards, even if submit is killed. Moves of an earlier run get the new throttle too, and those that wait keep their
place in the queue. This needs a kafka-reassign-rpc server; with another controller submit starts nothing.

A plan of `plan disks` is carried out by the brokers alone, with any controller. --throttle then sets
replica.alter.log.dirs.io.max.bytes.per.second on them, and takes it away at the end of the plan. On Ctrl-C copies that
have begun go on: the same command continues, --undo ends them and takes the plan back.
"""
EPILOG = """\
exit codes: 0 done (without --execute: the plan can be executed), 1 failed, 2 wrong flags or an unreadable plan,
            3 stopped because the cluster is not well, 4 the plan does not fit the cluster any more (the moves that
            did not start are named), 5 the moves have ended, and a broker or log dir that the plan empties is not
            empty (the commands that move the rest are named), 130 interrupted by Ctrl-C, 143 by SIGTERM
examples:   kafka-reassign-rpc submit --plan plans/monday --bootstrap-server localhost:9092 --execute --throttle 50MB
            kafka-reassign-rpc submit --plan plans/monday --bootstrap-server localhost:9092 --undo --execute
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    parser.add_argument("--plan", required=True, metavar="DIR", help="a plan that `kafka-reassign-rpc plan` wrote")
    parser.add_argument(
        "--execute", action="store_true", help="execute the plan (default: a dry run, which changes nothing)"
    )
    parser.add_argument(
        "--undo",
        action="store_true",
        help="carry out the way back: partitions that the plan has moved get the replicas that they had before, moves "
        "of the plan that are in flight or wait are cancelled first, and what has changed since stays as it is",
    )
    parser.add_argument(
        "--throttle",
        metavar="BYTES/S",
        help="replication throttle in bytes per second, such as 50MB, for each broker and each direction, also for "
        "moves that an earlier run started; 0: no throttle (default: moves keep the throttle that they have)",
    )
    parser.add_argument(
        "--lift-stricter",
        action="store_true",
        help="with --throttle: where a broker, or all brokers, have a stricter rate, the throttle takes its "
        "place, and that rate comes back when the moves end",
    )
    parser.add_argument(
        "--by-batch",
        action="store_true",
        help="start each batch when the batch before is done, not moves as others end",
    )
    parser.add_argument(
        "--max-moves-per-broker",
        metavar="N",
        help="the most moves at a time that copy to one broker, and as many that copy from it (default: those of the "
        "plan)",
    )
    parser.add_argument(
        "--max-moves", metavar="N", help="the most moves at a time (default: --max-moves-per-batch of the plan)"
    )
    parser.add_argument(
        "--reason",
        default="",
        metavar="TEXT",
        help="what the plan is for, such as a ticket: the controller keeps it with each move, and shows it in lists "
        "and events; this needs a kafka-reassign-rpc server",
    )
    parser.add_argument(
        "--no-cordon",
        action="store_true",
        help="do not cordon the brokers that a plan of `drain` empties (default: a kafka-reassign-rpc server places "
        "nothing new there from the start of the plan on, until `kafka-reassign cordon` opens them again)",
    )
    parser.add_argument(
        "--accept-health",
        action="store_true",
        help="go on although the cluster is less well than when the plan was started; where nothing is left but "
        "moves to a lost broker, submit stops and names them",
    )


def run(arguments: argparse.Namespace) -> int:
    throttle = checked_if_given("--throttle", byte_rate(0), arguments.throttle)
    per_broker = checked_if_given("--max-moves-per-broker", whole(1), arguments.max_moves_per_broker)
    in_all = checked_if_given("--max-moves", whole(1), arguments.max_moves)
    if arguments.lift_stricter and not throttle:
        raise UsageError("--lift-stricter is about the throttle of --throttle: give both")
    if len(arguments.reason) > LONGEST_REASON:
        raise UsageError(f"--reason: expected up to {LONGEST_REASON} characters, got {len(arguments.reason)}")
    return run_job("submit", lambda: _submit(arguments, throttle, per_broker, in_all))


def _submit(arguments: argparse.Namespace, throttle: int | None, per_broker: int | None, in_all: int | None) -> int:
    from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
    from kafka_reassign_rpc.pipeline.plans.plan_summary import read_kind
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    path = store_path(arguments.plan)
    if read_kind(path) == DISKS:
        return _submit_disks(arguments, path, throttle, per_broker)
    plan = read_plan(path, undo=arguments.undo)
    from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
    from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission, planned_caps
    from kafka_reassign_rpc.pipeline.submission.submit_settings import ProgressOutput

    status = Status()
    output = ProgressOutput(status.show, lambda line: status.say(connection_of(arguments).filled(line)))
    with connected(arguments) as client:
        planned = planned_caps(plan)
        submission = Submission(
            client,
            path,
            plan,
            output,
            throttle=throttle,
            lifts=arguments.lift_stricter,
            reason=arguments.reason,
            by_batch=arguments.by_batch,
            caps=PlanCaps(per_broker or planned.per_broker, in_all or planned.in_all),
            cordons=not arguments.no_cordon,
        )
        return carry_out(
            arguments,
            path,
            submission,
            status,
            goes_on=lambda: _what_goes_on(submission, arguments) if submission.under_way.moves else [],
            interrupted=lambda: _interrupted(submission, arguments),
            batches=len(plan.batches),
            afterwards=lambda: _how_to_restore_order(submission, arguments),
        )


def _submit_disks(
    arguments: argparse.Namespace, path: "StorePath", throttle: int | None, moves_per_broker: int | None
) -> int:
    """Of a plan between log dirs."""
    for name in _OF_PARTITIONS:
        if getattr(arguments, name):
            raise UsageError(
                f"--{name.replace('_', '-')}: a plan of disks has no such thing: brokers carry it out alone"
            )
    from kafka_reassign_rpc.pipeline.disks.submit_disks import DiskSubmission
    from kafka_reassign_rpc.pipeline.submission.submit_settings import ProgressOutput

    status = Status()
    output = ProgressOutput(status.show, lambda line: status.say(connection_of(arguments).filled(line)))
    with connected(arguments) as client:
        submission = DiskSubmission(
            client, path, output, throttle=throttle, at_a_time=moves_per_broker, undo=arguments.undo
        )
        return carry_out(
            arguments,
            path,
            submission,
            status,
            goes_on=lambda: _copies_go_on(submission, arguments) if submission.has_begun else [],
            interrupted=lambda: ["kafka-reassign-rpc submit: interrupted", *_copies_go_on(submission, arguments)],
        )


def _copies_go_on(submission: "DiskSubmission", arguments: argparse.Namespace) -> list[str]:
    """Brokers copy on without submit, and keep the throttle: what the operator can do about it."""
    flying = len(submission.queue.flying) + submission.queue.unseen
    undo = command("kafka-reassign-rpc submit", "--plan", arguments.plan, "--undo", "--execute")
    throttled, ends_it = "", ""
    if submission.is_throttled:
        throttled, ends_it = ", with the throttle", ", and to take the throttle away at its end"
    lines = [f"  {counted(flying, 'copy' if flying == 1 else 'copie')} {agreeing(flying, 'go')} on{throttled}"]
    lines.append(f"  to continue the plan{ends_it}: run the same command again")
    if not submission.undo:
        lines.append(f"  to end the copies and take the plan back: {connection_of(arguments).filled(undo)}")
    return lines


def _interrupted(submission: "Submission", arguments: argparse.Namespace) -> list[str]:
    under_way = submission.under_way
    said = "kafka-reassign-rpc submit: interrupted"
    if not under_way.moves:
        text = f"{said}; no move of the plan is under way"
        return [f"{text}; {_taken_back(submission)}" if under_way.taken_back else text]
    first, *others = _what_goes_on(submission, arguments, _taken_back(submission) if under_way.taken_back else "")
    return [f"{said}; {first.lstrip()}", *others]


def _taken_back(submission: "Submission") -> str:
    count = submission.under_way.taken_back
    return f"{count} that waited in the controller's queue {agreeing(count, 'were')} taken back"


def _what_goes_on(submission: "Submission", arguments: argparse.Namespace, taken_back: str = "") -> list[str]:
    """What was sent and goes on without submit, and what the operator can do about it."""
    under_way = submission.under_way
    moving = len(under_way.moves) - under_way.waiting
    text = f"  {'' if under_way.is_known else 'up to '}{counted(moving, 'move')}"
    text += f" of {submission.path} {agreeing(moving, 'go')} on without it"
    text += f"; {taken_back}" if taken_back else ""
    if under_way.waiting:
        wait = agreeing(under_way.waiting, "wait")
        text += f"; {under_way.waiting} {wait} in the controller's queue and will start: {under_way.why_not}"
    elif under_way.why_not:
        text += f", those that wait in a queue included: {under_way.why_not}"
    return [text, "  to continue the plan: run the same command again", _how_to_cancel(submission, arguments)]


def _how_to_cancel(submission: "Submission", arguments: argparse.Namespace) -> str:
    from kafka_reassign_rpc.pipeline.job_errors import JobFailed
    from kafka_reassign_rpc.pipeline.submission.submit_plan import write_under_way

    try:
        file = write_under_way(submission)
    except (OSError, JobFailed) as error:
        return f"  the moves could not be written: {error}"
    cancel = command("kafka-reassign", "--reassignment-json-file", file, "--cancel")
    return f"  to cancel these moves: {connection_of(arguments).filled(cancel)}"


def _how_to_restore_order(submission: "Submission", arguments: argparse.Namespace) -> list[str]:
    """How partitions get their order of replicas and their leader back that have the plan's first leader in front, or
    will have it where their moves are cancelled."""
    from kafka_reassign_rpc.pipeline.job_errors import JobFailed
    from kafka_reassign_rpc.pipeline.submission.submit_plan import write_before

    try:
        file = write_before(submission)
    except (OSError, JobFailed) as error:
        return [f"  the order of replicas before these moves could not be written: {error}"]
    if file is None:
        return []
    expect = ("--expect-current",) if submission.under_way.compares else ()
    execute = command("kafka-reassign", "--reassignment-json-file", file, "--execute", "--additional", *expect)
    elect = command("kafka-leader-election.sh", "--election-type", "preferred", "--path-to-json-file", file)
    here = connection_of(arguments)
    return [
        f"  to restore the order of replicas where a plan's first leader is in front, after a cancel: "
        f"{here.filled(execute)}",
        "  to let the first replicas lead then, where auto.leader.rebalance.enable does not: "
        f"{here._replace(config_flag='--admin.config').filled(elect)}",
    ]


class Submitted(Protocol):
    """A run of `submit`, as `Submission` and `DiskSubmission` are."""

    def dry_run(self) -> int: ...

    def execute(self, *, accept_health: bool = False) -> int: ...


def carry_out(
    arguments: argparse.Namespace,
    path: "StorePath",
    submission: Submitted,
    status: Status,
    *,
    goes_on: Lines,
    interrupted: Lines,
    batches: int | None = None,
    afterwards: Lines = list,
) -> int:
    """Returns the exit code. Raises what the submission raises before it changes anything. Both kinds of plans
    end in the same words.

    goes_on      what goes on after it has stopped or failed, and what the operator can do about it
    interrupted  the same after Ctrl-C or SIGTERM
    batches      how many the plan has, None if they do not count
    afterwards   what is said last, however it has ended
    """
    from kafka_reassign_rpc.core.kafka_errors import KafkaError
    from kafka_reassign_rpc.pipeline.job_errors import JobFailed
    from kafka_reassign_rpc.pipeline.submission.drained_brokers import NotEmpty
    from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
    from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit

    try:
        if arguments.execute:
            begun = submission.execute(accept_health=arguments.accept_health)
            print(f"{path}: done; {counted(begun, 'move', 'were')} begun now")  # noqa: T201
        else:
            left = submission.dry_run()
            what = f"{counted(left, 'move')} to {'take back' if arguments.undo else 'begin'}"
            where = "" if batches is None else f" in {counted(batches, 'batch')}"
            print(f"{path}: {what}{where}; --execute does it")  # noqa: T201
    except (SubmitStopped, PlanDoesNotFit, NotEmpty, JobFailed, KafkaError) as error:
        status.clear()
        say(f"kafka-reassign-rpc submit: {error_text(error)}")
        for line in goes_on():
            say(line)
        codes = {SubmitStopped: NOT_WELL, PlanDoesNotFit: DOES_NOT_FIT, NotEmpty: NOT_EMPTY}
        return next((code for kind, code in codes.items() if isinstance(error, kind)), FAILED)
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C, SIGTERM
        status.clear()
        say("\n".join(interrupted()))
        raise
    finally:
        status.clear()
        for line in afterwards():
            say(line)
    return 0
