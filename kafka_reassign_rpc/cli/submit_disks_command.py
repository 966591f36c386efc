"""`kafka-reassign-rpc submit` of a plan between log dirs."""

import argparse
from typing import TYPE_CHECKING

from kafka_reassign_rpc.cli.pipeline_jobs import connected, connection_of, say
from kafka_reassign_rpc.cli.status_line import Status
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.disks.submit_disks import DiskSubmission
    from kafka_reassign_rpc.pipeline.store_paths import StorePath

_OF_PARTITIONS = ("by_batch", "lift_stricter", "reason", "max_moves")
"""Flags that are about moves of partitions, which a controller knows."""


def submit(arguments: argparse.Namespace, path: "StorePath", throttle: int | None, moves_per_broker: int | None) -> int:
    for name in _OF_PARTITIONS:
        if getattr(arguments, name):
            raise UsageError(
                f"--{name.replace('_', '-')}: a plan of disks has no such thing: brokers carry it out alone"
            )
    from kafka_reassign_rpc.pipeline.disks.submit_disks import DiskSubmission
    from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
    from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, ProgressOutput

    status = Status()
    output = ProgressOutput(status.show, status.say)
    with connected(arguments) as client:
        submission = DiskSubmission(
            client, path, output, throttle=throttle, at_a_time=moves_per_broker, undo=arguments.undo
        )
        try:
            if arguments.execute:
                begun = submission.execute(accept_health=arguments.accept_health)
                print(f"{path}: done; {counted(begun, 'move', 'were')} begun now")  # noqa: T201
            else:
                left = submission.dry_run()
                what = "take back" if arguments.undo else "begin"
                print(f"{path}: {counted(left, 'move')} to {what}; --execute does it")  # noqa: T201
        except (SubmitStopped, PlanDoesNotFit) as error:
            status.clear()
            say(f"kafka-reassign-rpc submit: {error}")
            if isinstance(error, PlanDoesNotFit):
                return 4
            say("\n".join(_what_goes_on(submission, arguments)))
            return 3
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C, SIGTERM
            status.clear()
            say("\n".join(["kafka-reassign-rpc submit: interrupted", *_what_goes_on(submission, arguments)]))
            raise
        finally:
            status.clear()
    return 0


def _what_goes_on(submission: "DiskSubmission", arguments: argparse.Namespace) -> list[str]:
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
