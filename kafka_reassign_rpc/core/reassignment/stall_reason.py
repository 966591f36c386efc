"""Why a move is stalled. Each reason has a condition without which it explains nothing. `StallReason.found` reports the
first of these that holds:

not begun            it is decided, and a KRaft cluster does not have it
added and removed    a replica is both: KRaft 4.3 and 4.4 never end such a move
dead                 an adding broker is not there
cordoned             all log dirs of an adding broker are cordoned, and it has no replica yet (Kafka 4.3)
log dir              that of the replica failed or has less room than is to come; before it has one: any of the broker
no leader            no replica leads
no answer            the leader or an adding broker does not report its sizes
never in sync        all is copied, and the replica still does not join the ISR
sick unchanged       all adding replicas are in sync, and one that stays is not. Moves wait for it up to Kafka 4.2, and
                     from 4.3 on where they add fewer replicas than they remove (KAFKA-19975)

or else all of these, the one that takes away most first:

fetches nothing      nothing arrives at a replica that may lack bytes
throttle             a throttle lets through no more than is produced
too slow             no more arrives at a replica than is produced

A move that only waits for other moves, which use up its throttle, has no reason and is not stalled: its turn comes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from kafka_reassign_rpc.core.reassignment.move_progress import Arrivals
from kafka_reassign_rpc.core.reassignment.remaining_time import AT_QUOTA, Samples, arrived_between
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import Answers, takes_nothing_new, why_failed
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import NO_THROTTLE, TopicThrottles
from kafka_reassign_rpc.support.counted import agreeing

Throttles = Callable[[], TopicThrottles]
"""Returns the topic's throttles; called only if they are needed."""

LinkRates = Callable[[int, int], tuple[float, float]]
"""Bytes/s of all moves together from this leader, and to this receiver."""

_Effect = tuple[float, str]
"""The bytes/s that a cause leaves over, and its text."""

QUIET_S = 5.0
"""A living broker fetches the metadata several times a second."""
BATCH_BYTES = 2**20
"""Kafka's default for the largest batch. Throttles let through whole batches: one that allows less in all the time for
which the move has not advanced explains that nothing arrives.
"""


LONG_S = 60.0
"""A throttle that lets through the whole log in less time does not keep a replica out of sync."""


class _Throttle(NamedTuple):
    """The lowest one of a replica, bytes/s; `side`: "leader" or "follower", of this broker."""

    rate: int
    side: str
    broker: int

    def __str__(self) -> str:
        return f"throttled to {self.rate} B/s ({self.side} {self.broker})"


class _Copy(NamedTuple):
    """To a late replica that may lack bytes, between the samples; bytes/s.

    rate          what arrives
    shared        a throttle that would let through more than is produced, and that other moves use up
    too_low       the throttle lets through no more than is produced
    is_limited    so it does, and all of that arrives, here or at other replicas
    is_small      the throttle lets through less than a batch
    may_have_all  sizes do not show what it lacks
    """

    broker: int
    rate: float
    throttle: _Throttle
    shared: _Throttle | None
    too_low: bool
    is_limited: bool
    is_small: bool
    may_have_all: bool


class StallReason:
    def __init__(
        self,
        name: TopicPartition,
        partition: Partition,
        cluster: Cluster,
        throttles: Throttles,
        answers: Answers,
        samples: Samples,
        arrivals: Arrivals,
        link_rates: LinkRates,
        stands_s: float,
    ) -> None:
        """`stands_s`: seconds since the move last advanced."""
        self._name = name
        self._partition = partition
        self._cluster = cluster
        self._throttles = throttles
        self._answers = answers
        self._first, self._last = samples.first, samples.last
        self._arrivals = arrivals
        self._link_rates = link_rates
        self._stands_s = stands_s
        self._kraft = cluster.soft.kraft
        self._late = [broker for broker in partition.adding if broker not in partition.isr]
        self._copied = dict(zip(partition.adding, arrivals.copied, strict=True))
        self._lacks = dict(zip(partition.adding, arrivals.lacks, strict=True))
        self._seconds = self._last.at - self._first.at
        self._produced = self._last.produced - self._first.produced
        self._leaders = (partition.leader,) if partition.is_described else ()
        """The leader, where it is known. Where the ISR is not known, every adding replica counts as late."""

    def found(self) -> str | None:
        """None: it only waits for its turn."""
        why = _first(
            self._not_begun,
            self._added_and_removed,
            self._dead,
            self._cordoned,
            self._log_dir,
            self._no_leader,
            self._no_answer,
            self._never_in_sync,
            self._sick_unchanged,
        )
        if why is not None:
            return why
        copies = [*self._copies()]
        standing = [one for one in copies if one.shared is None]
        if copies and not standing:
            return None
        effects = (
            self._fetches_nothing,
            self._throttle,
            self._too_slow,
        )
        found = [one for effect in effects if (one := effect(standing)) is not None]
        return "; ".join(text for _, text in sorted(found)) or "no progress, and no reason for it can be seen"

    def share(self) -> str | None:
        """What a move waits for that has no reason."""
        shared = [one.shared for one in self._copies() if one.shared is not None]
        if not shared:
            return None
        lowest = min(shared)
        return f"its share of {lowest.rate} B/s ({lowest.side} {lowest.broker}), which other moves use up"

    def seen_at_once(self) -> str | None:
        """The first reason that needs no time to show."""
        return _first(
            self._not_begun,
            self._added_and_removed,
            self._dead,
            self._cordoned,
            self._log_dir,
            self._no_leader,
            self._no_answer,
            self._sick_unchanged,
        )

    def _not_begun(self) -> str | None:
        move = self._partition.move
        if move is None or move.phase is not Phase.START:
            return None
        return f"not begun: {self._cluster.soft.takes_nothing or 'the cluster has not taken it yet'}"

    def _added_and_removed(self) -> str | None:
        both = [broker for broker in self._partition.adding if broker in self._partition.removing]
        text = f"{_brokers(both)} both added and removed, which never ends: end the move with --cancel"
        return text if both else None

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
        closed = [broker for broker in self._late if not self._copied[broker] and self._takes_nothing_new(broker)]
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
                    return f"log dir {failed.path} of broker {broker} has failed ({why_failed(failed.error)})"
            free = [one.usable for one in mine or log_dirs]
            usable = [one for one in free if one is not None]
            lacks = self._lacks[broker] if held else self._arrivals.total
            left = max(0, lacks or 0)
            if usable and len(usable) == len(free) and max(usable) < left:
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

    def _throttles_of(self, broker: int) -> Iterator[_Throttle]:
        index, throttles = self._name.partition, self._throttles()
        for leader in self._leaders:
            yield _Throttle(throttles.leader(index, leader), "leader", leader)
        yield _Throttle(throttles.follower(index, broker), "follower", broker)

    def _is_too_low(self, rate: int) -> bool:
        return rate == 0 or 0 < self._produced >= rate * self._seconds

    def _never_in_sync(self) -> str | None:
        places = [self._partition.adding.index(broker) for broker in self._late]
        full = all(self._arrivals.lacks[at] == 0 or self._arrivals.followed[at] for at in places)
        if not places or not full or not self._partition.is_described:
            return None
        named = _brokers(self._late, "has", "have")
        return f"full ISR never reached: {named} everything, out of sync all the same"

    def _sick_unchanged(self) -> str | None:
        """Only a version that waits for the whole target leaves such a move in flight."""
        sick = [broker for broker in self._partition.target if broker not in self._partition.isr]
        if self._late or not sick or not self._partition.is_described:
            return None
        stays = f"{_brokers(sick, 'stays and is', 'stay and are')} out of sync"
        them = agreeing(len(sick), "them")
        other = f"or change the target to one without {them}"
        if lost := " and ".join(self._states([broker for broker in sick if broker not in self._cluster.brokers])):
            return f"{stays} ({lost}): mend {them}, {other}"
        lowest = min(throttle for broker in sick for throttle in self._throttles_of(broker))
        if self._is_too_low(lowest.rate) or lowest.rate * LONG_S < (self._arrivals.total or 0):
            return f"{stays}, {lowest}: raise the throttle, {other}"
        return f"{stays}: mend {them}, {other}"

    def _copies(self) -> Iterator[_Copy]:
        for place, broker in enumerate(self._partition.adding):
            arrived, lacks = arrived_between(self._first, self._last, place), self._arrivals.lacks[place]
            if broker in self._late and lacks != 0 and arrived is not None and self._seconds > 0:
                yield self._copy(broker, arrived / self._seconds, may_have_all=lacks is None or lacks < 0)

    def _copy(self, broker: int, rate: float, *, may_have_all: bool) -> _Copy:
        links = dict(zip(("leader", "follower"), self._link_rates(self._partition.leader, broker), strict=True))
        throttles = [one for one in self._throttles_of(broker) if one.rate < NO_THROTTLE]
        lowest = min(throttles, default=_Throttle(NO_THROTTLE, "", NO_LEADER))
        used_up = [one for one in throttles if links[one.side] * AT_QUOTA >= one.rate]
        others = [one for one in used_up if links[one.side] > 0 and links[one.side] >= AT_QUOTA * rate]
        is_small = lowest.rate * self._stands_s < BATCH_BYTES
        too_low = self._is_too_low(lowest.rate)
        return _Copy(
            broker,
            rate,
            lowest,
            shared=min(others) if others and not too_low else None,
            too_low=too_low,
            is_limited=too_low and (rate * AT_QUOTA >= lowest.rate or lowest in used_up or is_small),
            is_small=is_small,
            may_have_all=may_have_all,
        )

    def _fetches_nothing(self, copies: Iterable[_Copy]) -> _Effect | None:
        still = [one for one in copies if one.rate == 0 and not one.is_limited]
        if not still or self._arrivals.total is None:
            return None
        source = "".join(f" from broker {leader}" for leader in self._leaders)
        why = f", {still[0].throttle}" if all(one.is_small for one in still) else ""
        if not why and all(one.may_have_all for one in still):
            why = f", or {agreeing(len(still), 'have')} everything: sizes do not tell"
        return -1.0, f"{_brokers([one.broker for one in still], 'fetches', 'fetch')} nothing{source}{why}"

    def _throttle(self, copies: Iterable[_Copy]) -> _Effect | None:
        low = [one.throttle for one in copies if one.too_low]
        if not low:
            return None
        return float(min(low).rate), f"{min(low)} while {self._per_second(self._produced)} B/s are produced"

    def _too_slow(self, copies: Iterable[_Copy]) -> _Effect | None:
        slow = [one for one in copies if 0 < one.rate * self._seconds <= self._produced and not one.is_limited]
        if not slow:
            return None
        slowest = min(slow, key=lambda one: one.rate)
        produced = self._per_second(self._produced)
        return slowest.rate, f"broker {slowest.broker} copies {int(slowest.rate)} B/s while {produced} B/s are produced"

    def _per_second(self, size: int) -> int:
        return int(size / self._seconds)


def _first(*reasons: Callable[[], str | None]) -> str | None:
    return next((why for reason in reasons if (why := reason()) is not None), None)


def _brokers(ids: Collection[int], one: str = "is", many: str = "are") -> str:
    named = ", ".join(map(str, ids))
    if not one:
        return f"broker{'s' if len(ids) > 1 else ''} {named}"
    return f"brokers {named} {many}" if len(ids) > 1 else f"broker {named} {one}"
