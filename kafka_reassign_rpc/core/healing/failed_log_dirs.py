"""What is known of the log dirs of registered brokers, for self-healing.

A broker says by itself which of its replicas are offline (KAFKA_STORAGE_ERROR to LeaderAndIsr), and DescribeLogDirs
says which log dirs have failed. The first counts; the second names the place, and can contradict: a broker that says
that all of its log dirs work has lost none, and its replica is offline for another reason. No answer says nothing.

The clock of a broker runs from the first of its log dirs that failed. If all that it names now are others than those
that are recorded, the former ones are mended, and the clock begins again.

A new replica never goes to another log dir of the same broker: a broker does not start with two logs of one partition,
once its disk is back. Nor does a repair give other replicas to a broker with a failed log dir.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Broker
from kafka_reassign_rpc.core.state.failed_log_dirs import FailedLogDirs


class ToldLogDirs(NamedTuple):
    """What a broker said when it was asked. `epoch`: of its registration; `failed`: paths; None: it did not answer."""

    epoch: int
    failed: tuple[str, ...] | None


def told_now(told: Mapping[int, ToldLogDirs], live: Mapping[int, Broker]) -> dict[int, tuple[str, ...] | None]:
    """Without what former registrations said."""
    return {id_: one.failed for id_, one in told.items() if id_ in live and live[id_].epoch == one.epoch}


def is_another(failure: FailedLogDirs, failed: tuple[str, ...] | None) -> bool:
    """Whether what has failed now is something else."""
    return bool(failure.paths and failed) and set(failure.paths).isdisjoint(failed or ())


def recorded(since: int, failed: tuple[str, ...] | None, known: FailedLogDirs | None) -> FailedLogDirs:
    return FailedLogDirs(since, failed or (() if known is None else known.paths))
