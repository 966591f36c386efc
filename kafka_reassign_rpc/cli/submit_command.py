"""`kafka-reassign-rpc submit`: executes a plan, batch by batch."""

import argparse
import shlex
from typing import TYPE_CHECKING

from kafka_reassign_rpc.cli.pipeline_jobs import add_connection_arguments, connected, run_job, say
from kafka_reassign_rpc.cli.status_line import Status
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.cli.value_parsers import whole

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission

LONGEST_REASON = 500
"""Characters of --reason: a controller keeps 1000, and submit adds the plan and the batch."""

HELP = "execute a plan, batch by batch"
DESCRIPTION = """\
Executes a plan: it starts each batch when the batch before is done. It starts a batch only if every partition of the
batch has the replicas from which the plan was made; a kafka-reassign-rpc server compares them again in the same step. A
replication factor changes only if that is the goal of the plan. Without --execute submit changes nothing, and shows the
state of each batch.

submit may be killed at any time: started again, it continues from the state of the cluster. On Ctrl-C it says which
moves go on, and how to cancel them. It stops when the cluster is not well: when a broker is lost that holds replicas or
gets some, or when partitions that do not move become under-replicated. While the cluster does not answer, submit tries
again for two minutes.

With --throttle the controller throttles the moves exactly as long as they last. There is no throttle to remove
afterwards, even if submit is killed. Moves of an earlier run get the new throttle too; those that wait go to the end
of the queue. This needs a kafka-reassign-rpc server; with another controller submit starts nothing.
"""
EPILOG = """\
exit codes: 0 done (without --execute: the plan can be executed), 1 failed, 2 wrong flags or an unreadable plan,
            3 stopped because the cluster is not well, 4 the plan does not fit the cluster any more (its rows are
            named), 130 interrupted by Ctrl-C, 143 by SIGTERM
example:    kafka-reassign-rpc submit --plan plans/monday --bootstrap-server localhost:9092 --execute
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    add_connection_arguments(parser)
    parser.add_argument("--plan", required=True, metavar="DIR", help="a plan that `kafka-reassign-rpc plan` wrote")
    parser.add_argument(
        "--execute", action="store_true", help="execute the plan (default: a dry run, which changes nothing)"
    )
    parser.add_argument(
        "--throttle",
        metavar="BYTES/S",
        help="replication throttle in bytes per second, for each broker and each direction, also for moves that an "
        "earlier run started; 0: no throttle (default: moves keep the throttle that they have)",
    )
    parser.add_argument(
        "--reason",
        default="",
        metavar="TEXT",
        help="what the plan is for, such as a ticket: the controller keeps it with each move, and shows it in lists "
        "and events; this needs a kafka-reassign-rpc server",
    )
    parser.add_argument(
        "--accept-health",
        action="store_true",
        help="go on although the cluster is less well than when the plan was started",
    )


def run(arguments: argparse.Namespace) -> int:
    throttle = None
    if arguments.throttle is not None:
        try:
            throttle = whole(0)(arguments.throttle)
        except ValueError as error:
            raise UsageError(f"--throttle: {error}") from None
    if len(arguments.reason) > LONGEST_REASON:
        raise UsageError(f"--reason: expected up to {LONGEST_REASON} characters, got {len(arguments.reason)}")
    return run_job("submit", lambda: _submit(arguments, throttle))


def _submit(arguments: argparse.Namespace, throttle: int | None) -> int:
    from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
    from kafka_reassign_rpc.pipeline.store_paths import store_path
    from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
    from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission
    from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, ProgressOutput

    path = store_path(arguments.plan)
    plan = read_plan(path)
    status = Status()
    output = ProgressOutput(status.show, status.say)
    with connected(arguments) as client:
        submission = Submission(client, path, plan, output, throttle=throttle, reason=arguments.reason)
        try:
            if arguments.execute:
                begun = submission.execute(accept_health=arguments.accept_health)
                print(f"{path}: done; {begun} moves were begun now")  # noqa: T201
            else:
                left = submission.dry_run()
                print(f"{path}: {left} moves to begin in {len(plan.batches)} batches; --execute does it")  # noqa: T201
        except (SubmitStopped, PlanDoesNotFit) as error:
            status.clear()
            say(f"kafka-reassign-rpc submit: {error}")
            return 3 if isinstance(error, SubmitStopped) else 4
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C, SIGTERM
            status.clear()
            say("\n".join(_interrupted(submission, arguments)))
            raise
        finally:
            status.clear()
    return 0


def _interrupted(submission: "Submission", arguments: argparse.Namespace) -> list[str]:
    """What goes on without submit, and what the operator can do about it."""
    at = submission.under_way
    if at is None or not at.moves:
        return ["kafka-reassign-rpc submit: interrupted; no move of the plan is under way"]
    config = f" --command-config {shlex.quote(arguments.command_config)}" if arguments.command_config else ""
    cancel = f"kafka-reassign --bootstrap-server {arguments.bootstrap_server}{config}"
    return [
        f"kafka-reassign-rpc submit: interrupted; up to {at.moves} moves of {at.file.stem} go on without it",
        "  to continue the plan: run the same command again",
        f"  to cancel these moves: {cancel} --reassignment-json-file {shlex.quote(str(at.file))} --cancel",
    ]
