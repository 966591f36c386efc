"""Why a move is stalled. Of these reasons the first that holds is reported:

dead broker          a broker of an adding replica is not registered
log dir              the log dir of the replica failed (offline or full); before it has one: any log dir of the
                     broker
disk full soon       the log dir has less room than is still to come
no leader            there is no leader to copy from
no answer            the leader, or a broker of an adding replica, does not answer
throttle             the copying is throttled, and the partition grows faster than its copies
never in sync        all is copied, and the replica still does not join the ISR
unknown              none of these
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from kafka_reassign_rpc.core.kafka_errors import KafkaStorageError
from kafka_reassign_rpc.core.reassignment.remaining_time import Samples
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition, TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import NO_THROTTLE

if TYPE_CHECKING:
    from kafka_reassign_rpc.core.reassignment.progress import Answers, Throttles


class StallReason:
    """Why one move is stalled."""

    def __init__(
        self,
        name: TopicPartition,
        partition: Partition,
        cluster: Cluster,
        throttles: "Throttles",
        answers: "Answers",
        samples: Samples,
    ) -> None:
        self._name = name
        self._partition = partition
        self._cluster = cluster
        self._throttles = throttles
        self._answers = answers
        self._first, self._last = samples.first, samples.last
        self._late = [broker for broker in partition.adding if broker not in partition.isr]
        self._copied = dict(zip(partition.adding, self._last.copied, strict=True))

    def found(self) -> str:
        """The first reason that holds."""
        reasons: tuple[Callable[[], str | None], ...] = (
            self._dead,
            self._log_dir,
            self._no_leader,
            self._no_answer,
            self._throttle,
            self._never_in_sync,
        )
        return next(
            (why for reason in reasons if (why := reason()) is not None), "no progress, for no reason that shows"
        )

    def _dead(self) -> str | None:
        dead = [broker for broker in self._late if broker not in self._cluster.brokers]
        return f"{_brokers(dead)} dead" if dead else None

    def _log_dir(self) -> str | None:
        for broker in self._late:
            log_dirs = self._answers.get(broker) or ()
            held = self._copied[broker]
            mine = [one for one in log_dirs if self._name.partition in one.sizes.get(self._name.topic, ())]
            if not mine:
                failed = next((one for one in log_dirs if one.error), None)
                if failed is not None:
                    return f"log dir {failed.path} of broker {broker} has failed ({_error(failed.error)})"
            usable = [one.usable for one in mine or log_dirs]
            left = max(0, self._last.total - max(0, held))
            if usable and -1 not in usable and max(usable) < left:
                return f"broker {broker} is out of disk: {max(usable)} bytes are free where {left} are to come"
        return None

    def _no_leader(self) -> str | None:
        return "there is no leader to copy from" if self._partition.leader < 0 else None

    def _no_answer(self) -> str | None:
        asked = dict.fromkeys((self._partition.leader, *self._late))
        silent = [broker for broker in asked if self._answers.get(broker) is None]
        return f"no answer from {_brokers(silent, '')}" if silent else None

    def _throttle(self) -> str | None:
        leader = self._partition.leader
        index = self._name.partition
        throttles = self._throttles()
        limits = [(throttles.leader(index, leader), "leader", leader)]
        limits += [(throttles.follower(index, broker), "follower", broker) for broker in self._late]
        rate, side, broker = min(limits)
        if rate >= NO_THROTTLE or not any(0 <= self._copied[one] < self._last.total for one in self._late):
            return None
        grown, seconds = self._last.total - self._first.total, self._last.at - self._first.at
        per_second = int(grown / seconds) if seconds > 0 else 0
        if per_second <= 0 and rate > 0:
            return None
        return f"throttled to {rate} B/s ({side} {broker}) while {per_second} B/s are produced"

    def _never_in_sync(self) -> str | None:
        full = [broker for broker in self._late if 0 <= self._last.total <= self._copied[broker]]
        if not full or len(full) < len(self._late):
            return None
        return f"full ISR never reached: {_brokers(full, 'has', 'have')} everything, out of sync all the same"


def _brokers(ids: Collection[int], one: str = "is", many: str = "are") -> str:
    named = ", ".join(map(str, ids))
    if not one:
        return f"broker{'s' if len(ids) > 1 else ''} {named}"
    return f"brokers {named} {many}" if len(ids) > 1 else f"broker {named} {one}"


def _error(code: int) -> str:
    if code == KafkaStorageError.code:
        return "KAFKA_STORAGE_ERROR: offline, or out of disk"
    return f"error {code}"
