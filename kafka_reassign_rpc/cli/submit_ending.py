"""How `submit` of both kinds of plans runs and ends: the same words, the same exit codes."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from kafka_reassign_rpc.cli.pipeline_jobs import say
from kafka_reassign_rpc.cli.status_line import Status
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.error_text import error_text

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.store_paths import StorePath

FAILED, NOT_WELL, DOES_NOT_FIT, NOT_EMPTY = 1, 3, 4, 5
"""Exit codes."""

Lines = Callable[[], Sequence[str]]


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
    """Returns the exit code. Raises what the submission raises before it changes anything.

    goes_on      what goes on after it has stopped or failed, and what the operator can do about it
    interrupted  the same after Ctrl-C or SIGTERM
    batches      how many the plan has, None if they do not count
    afterwards   what is said last, however it has ended
    """
    from kafka_reassign_rpc.core.kafka_errors import KafkaError
    from kafka_reassign_rpc.pipeline.job_errors import JobFailed
    from kafka_reassign_rpc.pipeline.submission.emptiness import NotEmpty
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
