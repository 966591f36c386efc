"""What is known of the log dirs of registered brokers, for self-healing.

KAFKA_STORAGE_ERROR to LeaderAndIsr says which replicas are offline, and decides. DescribeLogDirs names the failed log
dirs, and can contradict: a broker whose log dirs all work has lost none, and its replica is offline for another reason.
No answer says nothing. A broker's clock runs from its first failed log dir, and begins again if another has failed
(`is_another`).

A new replica never goes to another log dir of the same broker, which does not start with two logs of one partition once
its disk is back. Nor does a repair give other replicas to a broker with a failed log dir.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.state.broker import Broker, FailedLogDirs


class DescribedLogDirs(NamedTuple):
    """A broker's answer under the registration `epoch`. `failed`: paths, None: no answer."""

    epoch: int
    failed: tuple[str, ...] | None


def described_now(
    described: Mapping[int, DescribedLogDirs], live: Mapping[int, Broker]
) -> dict[int, tuple[str, ...] | None]:
    """Without answers of former registrations."""
    return {id_: one.failed for id_, one in described.items() if id_ in live and live[id_].epoch == one.epoch}


def is_another(failure: FailedLogDirs, failed: tuple[str, ...] | None, *, is_repaired: bool = False) -> bool:
    """Whether none of the recorded log dirs has failed now, or, where `is_repaired`, a failed one is not recorded.

    is_repaired   the repair of the recorded ones is queued, and replicas are lost that it does not take away
    """
    if not failure.paths or not failed:
        return False
    return set(failure.paths).isdisjoint(failed) or (is_repaired and not set(failed) <= set(failure.paths))


def recorded(since: int, failed: tuple[str, ...] | None, known: FailedLogDirs | None) -> FailedLogDirs:
    return FailedLogDirs(since, failed or (() if known is None else known.paths))
