"""Why a move is stalled. `StallReason.found` reports the first reason that holds:

cordoned             all log dirs of an adding broker are cordoned, and it has no replica yet (Kafka 4.3)
log dir              that of the replica failed or has less room than is to come; before it has one: any of the broker
throttle             the copying is throttled, and the partition grows faster than its copies
never in sync        all is copied, and the replica still does not join the ISR
sick unchanged       all adding replicas are in sync, and one that stays is not: up to Kafka 4.2 the move waits for it
fetches nothing      a replica that lacks bytes does not grow
too slow             a replica grows no faster than the partition
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from kafka_reassign_rpc.core.kafka_errors import KafkaStorageError
from kafka_reassign_rpc.core.reassignment.remaining_time import Samples
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import Answers, takes_nothing_new
from kafka_reassign_rpc.core.reassignment.tiered_topics import copies_only_untiered
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import NO_THROTTLE, TopicThrottles
from kafka_reassign_rpc.support.counted import agreeing

Throttles = Callable[[], TopicThrottles]
"""Returns the topic's throttles; called only if they are needed."""

QUIET_S = 5.0
"""A living broker fetches the metadata several times a second."""


class StallReason:
    def __init__(
        self,
        name: TopicPartition,
        partition: Partition,
        cluster: Cluster,
        throttles: Throttles,
        answers: Answers,
        samples: Samples,
    ) -> None:
        self._name = name
        self._partition = partition
        self._cluster = cluster
        self._throttles = throttles
        self._answers = answers
        self._first, self._last = samples.first, samples.last
        self._kraft = cluster.soft.kraft
        self._late = [broker for broker in partition.adding if broker not in partition.isr]
        self._copied = dict(zip(partition.adding, self._last.copied, strict=True))
        self._leaders = (partition.leader,) if partition.is_described else ()
        """The leader, where anybody tells it. Where nobody tells the ISR, every adding replica counts as late."""

    def found(self) -> str:
        why = _first(
            self._dead,
            self._cordoned,
            self._log_dir,
            self._no_leader,
            self._no_answer,
            self._throttle,
            self._never_in_sync,
            self._sick_unchanged,
            self._fetches_nothing,
            self._too_slow,
        )
        return why or "no progress, for no reason that shows"

    def seen_at_once(self) -> str | None:
        """The first reason that needs no time to show."""
        return _first(self._dead, self._cordoned, self._log_dir, self._no_leader, self._no_answer, self._sick_unchanged)

    def _dead(self) -> str | None:
        lost = [broker for broker in self._late if broker not in self._cluster.brokers]
        return " and ".join(self._states(lost)) or None

    def _states(self, lost: Iterable[int]) -> Iterator[str]:
        fenced = [broker for broker in lost if broker in self._kraft.fenced]
        dead = [broker for broker in lost if broker not in self._kraft.fenced]
        if dead:
            yield f"{_brokers(dead)} dead"
        if fenced:
            yield f"{_brokers(fenced)} fenced"

    def _cordoned(self) -> str | None:
        closed = [broker for broker in self._late if self._copied[broker] <= 0 and self._takes_nothing_new(broker)]
        return f"{_brokers(closed)} cordoned: no log dir takes a new replica" if closed else None

    def _takes_nothing_new(self, broker: int) -> bool:
        log_dirs = self._answers.get(broker) or ()
        if any(self._name.partition in one.sizes.get(self._name.topic, ()) for one in log_dirs):
            return False
        return bool(takes_nothing_new(log_dirs))

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
        if self._partition.leader != NO_LEADER:
            return None
        eligible = self._kraft.eligible.get(self._name, ())
        able = f": {_brokers(eligible)} eligible, start {'one of them' if len(eligible) > 1 else 'it'}"
        return "there is no leader to copy from" + (able if eligible else "")

    def _no_answer(self) -> str | None:
        asked = dict.fromkeys((*self._leaders, *self._late))
        silent = [broker for broker in asked if self._answers.get(broker) is None]
        if not silent:
            return None
        quiet = max((self._kraft.quiet_s.get(broker, 0.0) for broker in silent), default=0.0)
        lost = f", and no fetch of the metadata for {quiet:.0f} s" if quiet >= QUIET_S else ""
        return f"no answer from {_brokers(silent, '')}{lost}"

    def _lowest_throttle(self) -> tuple[int, str, int]:
        index = self._name.partition
        throttles = self._throttles()
        limits = [(throttles.leader(index, leader), "leader", leader) for leader in self._leaders]
        limits += [(throttles.follower(index, broker), "follower", broker) for broker in self._late]
        return min(limits, default=(NO_THROTTLE, "leader", NO_LEADER))

    def _throttle(self) -> str | None:
        rate, side, broker = self._lowest_throttle()
        if rate >= NO_THROTTLE or not any(0 <= self._copied[one] < self._last.total for one in self._late):
            return None
        grown, seconds = self._last.total - self._first.total, self._last.at - self._first.at
        per_second = int(grown / seconds) if seconds > 0 else 0
        if per_second <= 0 and rate > 0:
            return None
        return f"throttled to {rate} B/s ({side} {broker}) while {per_second} B/s are produced"

    def _never_in_sync(self) -> str | None:
        full = [broker for broker in self._late if 0 <= self._last.total <= self._copied[broker]]
        if not full or len(full) < len(self._late) or not self._partition.is_described:
            return None
        return f"full ISR never reached: {_brokers(full, 'has', 'have')} everything, out of sync all the same"

    def _sick_unchanged(self) -> str | None:
        """Only a version that waits for the whole target leaves such a move in flight."""
        sick = [broker for broker in self._partition.target if broker not in self._partition.isr]
        if self._late or not sick or not self._partition.is_described:
            return None
        states = " and ".join(self._states([broker for broker in sick if broker not in self._cluster.brokers]))
        is_lost = f" ({states})" if states else ""
        stays = f"{_brokers(sick, 'stays and is', 'stay and are')} out of sync{is_lost}"
        them = agreeing(len(sick), "them")
        return f"{stays}: mend {them}, or change the target to one without {them}"

    def _fetches_nothing(self) -> str | None:
        still = [broker for broker, (before, now) in self._lacking() if before == now]
        if not still or self._last.at <= self._first.at:
            return None
        rate, side, broker = self._lowest_throttle()
        throttled = f", throttled to {rate} B/s ({side} {broker})" if rate < NO_THROTTLE else ""
        source = "".join(f" from broker {leader}" for leader in self._leaders)
        return f"{_brokers(still, 'fetches', 'fetch')} nothing{source}{throttled}"

    def _too_slow(self) -> str | None:
        if self._first.total < 0:
            return None
        seconds = self._last.at - self._first.at
        grown = self._last.total - self._first.total
        for broker, (before, now) in self._lacking():
            if seconds > 0 and 0 <= now - before <= grown:
                copies, produced = int((now - before) / seconds), int(grown / seconds)
                return f"broker {broker} copies {copies} B/s while {produced} B/s are produced"
        return None

    def _lacking(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Late replicas that may lack bytes: what they held first, and hold now."""
        is_partial = copies_only_untiered(self._cluster, self._name.topic, self._partition.adding)
        if self._first.total < 0 and not is_partial:
            return
        for place, broker in enumerate(self._partition.adding):
            before, now = self._first.copied[place], self._last.copied[place]
            is_full = now >= self._last.total and not is_partial
            if broker in self._late and before >= 0 and now >= 0 and not is_full:
                yield broker, (before, now)


def _first(*reasons: Callable[[], str | None]) -> str | None:
    return next((why for reason in reasons if (why := reason()) is not None), None)


def _brokers(ids: Collection[int], one: str = "is", many: str = "are") -> str:
    named = ", ".join(map(str, ids))
    if not one:
        return f"broker{'s' if len(ids) > 1 else ''} {named}"
    return f"brokers {named} {many}" if len(ids) > 1 else f"broker {named} {one}"


def _error(code: int) -> str:
    if code == KafkaStorageError.code:
        return "KAFKA_STORAGE_ERROR: offline, or out of disk"
    return f"error {code}"
