"""`kafka-reassign-rpc submit` of a plan between log dirs."""

import argparse
from typing import TYPE_CHECKING

from kafka_reassign_rpc.cli.pipeline_jobs import connected, connection_of
from kafka_reassign_rpc.cli.status_line import Status
from kafka_reassign_rpc.cli.submit_ending import carry_out
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
            goes_on=lambda: _what_goes_on(submission, arguments) if submission.has_begun else [],
            interrupted=lambda: ["kafka-reassign-rpc submit: interrupted", *_what_goes_on(submission, arguments)],
        )


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
