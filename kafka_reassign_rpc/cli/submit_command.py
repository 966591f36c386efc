"""`kafka-reassign-rpc submit`: a plan is carried out, batch after batch."""

import argparse
from pathlib import Path

from kafka_reassign_rpc.cli.pipeline_jobs import Status, add_connection_arguments, connected, run_job, say
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.cli.value_parsers import whole

HELP = "carry out a plan, batch after batch"
DESCRIPTION = """\
Carries out a plan: one batch after the other, each when the one before is done. A batch is begun only if every
partition of it has the replicas that the plan was made for (compare-and-set, where the server can do that), and no
replication factor changes unless that is what the plan is for. Without --execute nothing is changed: it is said where
each batch stands.

It may be killed at any point: started again, it goes on from what the cluster shows. It stops when the cluster gets
sick: when a broker is lost, or partitions that do not move become under-replicated.

With --throttle the controller holds the moves back, each for as long as it lasts: nothing has to be taken away
afterwards, also where submit is killed. This needs a kafka-reassign-rpc server; without one nothing is begun.
"""
EPILOG = """\
exit codes: 0 done (or, without --execute: it could be), 1 failed, 2 wrong flags or a plan that cannot be read,
            3 stopped because the cluster is not well, 4 the plan does not fit the cluster any more (rows are named)
example:    kafka-reassign-rpc submit --plan plans/monday --bootstrap-server localhost:9092 --execute
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    add_connection_arguments(parser)
    parser.add_argument("--plan", required=True, metavar="DIR", help="the plan, as `kafka-reassign-rpc plan` writes it")
    parser.add_argument("--execute", action="store_true", help="do it (default: a dry run)")
    parser.add_argument(
        "--throttle",
        metavar="BYTES/S",
        help="of each broker, each way, for all that moves of the batch, since an earlier run too; 0: none (default: "
        "what moves has what it has)",
    )
    parser.add_argument(
        "--accept-health",
        action="store_true",
        help="go on although the cluster is not as well as when the plan was begun",
    )


def run(arguments: argparse.Namespace) -> int:
    throttle = None
    if arguments.throttle is not None:
        try:
            throttle = whole(0)(arguments.throttle)
        except ValueError as error:
            raise UsageError(f"--throttle: {error}") from None
    return run_job("submit", lambda: _submit(arguments, throttle))


def _submit(arguments: argparse.Namespace, throttle: int | None) -> int:
    from kafka_reassign_rpc.pipeline.plans.plan_reader import read_plan
    from kafka_reassign_rpc.pipeline.submission.submit_plan import DoesNotFit, Show, Stopped, Submission

    path = Path(arguments.plan)
    plan = read_plan(path)
    status = Status()
    with connected(arguments) as client:
        submission = Submission(client, path, plan, Show(status.show, status.say), throttle=throttle)
        try:
            if arguments.execute:
                begun = submission.execute(anew=arguments.accept_health)
                print(f"{path}: done; {begun} moves were begun now")  # noqa: T201
            else:
                left = submission.check()
                print(f"{path}: {left} moves to begin in {len(plan.batches)} batches; --execute does it")  # noqa: T201
        except (Stopped, DoesNotFit) as error:
            status.clear()
            say(f"kafka-reassign-rpc submit: {error}")
            return 3 if isinstance(error, Stopped) else 4
        finally:
            status.clear()
    return 0
