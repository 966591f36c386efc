"""Progress of moves: bytes, rate, remaining time, and why a move is stalled.

`ProgressTracker.update` takes one sample: the brokers' answers about their log dirs, and the time of any clock in
seconds. A move advances when less is left to copy than ever before, or when another adding replica has joined the ISR.
A move that has not advanced for a while is stalled. The reasons, of which the first that holds is reported:

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

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaStorageError
from kafka_reassign_rpc.core.reassignment.remaining_time import Sample, Samples, SharedLinks
from kafka_reassign_rpc.core.state.cluster import Cluster, MoveRecord, Partition, TopicPartition
from kafka_reassign_rpc.core.throttling.observed_throughput import ObservedThroughput
from kafka_reassign_rpc.core.throttling.replication_throttles import NO_THROTTLE, TopicThrottles
from kafka_reassign_rpc.support.slices import SliceCounter, in_slices

SLICE = 200
"""Number of moves between two `yield`s."""

_ENDS = frozenset({catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED})

Throttles = Callable[[], TopicThrottles]
"""Returns the throttles of the topic; it is called only where they are needed."""


class SampledLogDir(msgspec.Struct, frozen=True, gc=False):
    """A broker's log dir: its error code (0: none), bytes of its volume (-1: unknown), sizes of its replicas."""

    path: str
    error: int = 0
    total: int = -1
    usable: int = -1
    sizes: Mapping[str, Mapping[int, int]] = {}
    """Bytes by topic and partition."""


Answers = Mapping[int, Collection[SampledLogDir] | None]
"""The answers of one sample by broker; None: no answer."""


class MoveProgress(msgspec.Struct, frozen=True, gc=False):
    """The progress of one move, in bytes, bytes per second and milliseconds; -1: unknown.

    total         what each adding replica must hold: the size of the leader's
    copied        what each adding replica holds, by broker, as far as known
    rate          how fast all of them together grow
    remaining_ms  remaining time (`remaining_time`)
    stalled       why the move is stalled; None: it advances (or is too young to say)
    """

    total: int = -1
    copied: Mapping[int, int] = {}
    rate: int = -1
    remaining_ms: int = -1
    stalled: str | None = None

    @property
    def bytes_left(self) -> int:
        """Bytes still to be copied, as far as known."""
        return sum([self.total - copied for copied in self.copied.values() if copied < self.total])


class Totals(NamedTuple):
    """All moves together: their number, bytes still to be copied (as far as known), number of stalled ones.

    bytes_total    what the moves in flight have to copy in all, as far as known
    remaining_ms   until the slowest move ends whose remaining time is known; -1: none is known
    unknown        moves whose size is not known: they count in no sum of bytes
    """

    moves: int = 0
    bytes_left: int = 0
    stalled: int = 0
    bytes_total: int = 0
    remaining_ms: int = -1
    unknown: int = 0


NO_TOTALS = Totals()


class _TrackedMove:
    """The samples of one move that are remembered. A change of target resets them."""

    __slots__ = ("adding", "advanced_at", "figures", "in_sync", "leader", "least", "move", "name", "samples")

    def __init__(self, name: TopicPartition, partition: Partition, now: float) -> None:
        self.name = name
        self.move: MoveRecord | None = partition.move
        self.adding = partition.adding
        self.leader = partition.leader
        self.samples = Samples()
        self.advanced_at = now
        self.least: int | None = None
        self.in_sync = 0
        self.figures = MoveProgress()


class ProgressTracker:
    """Follows the moves in flight. `figures` may be called at any time.

    stall_s              a move that has not advanced for so long is stalled
    samples              number of samples: figures change only with it
    sampled_at           when the last one was taken, by the clock of `update`
    observed_throughput  observed replication throughput
    """

    def __init__(self, stall_s: float) -> None:
        self._stall_s = stall_s
        self._followed: dict[str, dict[int, _TrackedMove]] = {}
        self.totals = NO_TOTALS
        self.samples = 0
        self.sampled_at = 0.0
        self.observed_throughput = ObservedThroughput()
        self._links = SharedLinks()
        self.copied_in: Counter[int] = Counter()
        """Bytes that moves have copied to each broker, since the tracker began."""
        self.copied_out: Counter[int] = Counter()
        """Bytes that moves have copied from each leader."""
        self._unseen: dict[TopicPartition, int] = {}
        """The leaders of moves that have started since, and have no sample yet: what they hold they have copied."""

    def figures(self, topic: str, partition: int) -> MoveProgress | None:
        """The progress of the move of a partition; None before its first sample."""
        followed = self._followed.get(topic, {}).get(partition)
        return None if followed is None else followed.figures

    def ended(self, events: Iterable[Event], cluster: Cluster) -> Iterator[Event]:
        """The events of a round; `cluster`: after it. Count what moves have copied that it has completed.

        Events of moves that have ended tell what was copied, if a sample of that very move does.
        """
        for event in events:
            name = TopicPartition(event.topic or "", -1 if event.partition is None else event.partition)
            if event.event == catalogue.MOVE_STARTED and (partition := cluster.get(*name)) is not None:
                self._unseen[name] = partition.leader
            if event.event not in _ENDS:
                yield event
                continue
            leader = self._unseen.pop(name, None)
            followed = self._followed.get(name.topic, {}).get(name.partition)
            if followed is None or followed.move is None or followed.move.id != event.id:
                if leader is not None and event.event == catalogue.MOVE_COMPLETED:
                    self._count_unseen(event, leader)
                yield event
                continue
            if event.event == catalogue.MOVE_COMPLETED:
                self._count_rest(followed)
            copied = self._copied(followed, event)
            yield event if copied is None else msgspec.structs.replace(event, copied=copied)

    def _count_unseen(self, end: Event, leader: int) -> None:
        """A move that was over before its first sample; its size is known if it was measured while it waited."""
        adding = [broker for broker in end.target or () if broker not in (end.original or ())]
        for broker in adding if end.copied is not None else ():
            self._count(leader, broker, (end.copied or 0) // len(adding))

    def _count_rest(self, followed: _TrackedMove) -> None:
        """What has come since the last sample."""
        figures = followed.figures
        for broker, held in figures.copied.items():
            rest = figures.total - held
            if rest > 0:
                self._count(followed.leader, broker, rest)
                self._links.grown(followed.leader, broker, rest, rest)

    def _count(self, leader: int, broker: int, size: int) -> None:
        self.copied_in[broker] += size
        self.copied_out[leader] += size

    @staticmethod
    def _copied(followed: _TrackedMove, end: Event) -> int | None:
        figures = followed.figures
        if figures.total < 0:
            return None
        if end.event == catalogue.MOVE_COMPLETED:
            return figures.total * len(followed.adding)
        if len(figures.copied) < len(followed.adding):
            return None
        return sum([min(held, figures.total) for held in figures.copied.values()])

    def update(
        self,
        now: float,
        cluster: Cluster,
        answers: Answers,
        events: list[Event],
        sizes: dict[TopicPartition, int | None],
        waiting: Collection[TopicPartition] = (),
    ) -> Iterator[None]:
        """Take a sample, yielding every `SLICE` moves.

        events   gets `move.stalled` and `move.resumed`
        sizes    gets the changes for `SoftState.sizes`
        waiting  partitions with waiting moves, whose sizes are needed too
        """
        seen: dict[str, dict[int, _TrackedMove]] = {}
        count = left = stalled = everything = unknown = 0
        for topic in list(cluster.moving):
            known = self._followed.get(topic, {})
            throttles = cache(partial(TopicThrottles, cluster, topic))
            for index in list(cluster.moving.get(topic, ())):
                partition = cluster.get(topic, index)
                if partition is None or not partition.is_moving:
                    continue
                followed = known.get(index)
                if followed is None or followed.move != partition.move or followed.adding != partition.adding:
                    followed = _TrackedMove(TopicPartition(topic, index), partition, now)
                name = followed.name
                self._update_move(followed, partition, cluster, throttles, answers, now, events)
                seen.setdefault(topic, {})[index] = followed
                total = followed.figures.total
                if total >= 0 and cluster.soft.sizes.get(name) != total:
                    sizes[name] = total
                left += followed.figures.bytes_left
                stalled += followed.figures.stalled is not None
                everything += max(0, total) * len(partition.adding)
                unknown += total < 0
                count += 1
                if count % SLICE == 0:
                    yield
        self._links.sampled(now, cluster)
        remaining_ms = yield from self._put_remaining_times(seen)
        for name in waiting:
            partition = cluster.get(*name)
            total = -1 if partition is None else _replica_size(answers.get(partition.leader), name)
            if total >= 0 and cluster.soft.sizes.get(name) != total:
                sizes[name] = total
        still = set(waiting)
        for name, pause in in_slices(list(cluster.soft.sizes), 10 * SLICE):
            if name.partition not in seen.get(name.topic, ()) and name not in still:
                sizes[name] = None
            if pause:
                yield
        if self._unseen:  # those that started meanwhile; others have gone with their topics
            self._unseen = {one: by for one, by in self._unseen.items() if one[1] in cluster.moving.get(one[0], ())}
        self._followed = seen
        self.samples += 1
        self.sampled_at = now
        self.totals = Totals(count, left, stalled, everything, remaining_ms, unknown)
        self.observed_throughput.sampled(now, cluster, [broker for broker, answer in answers.items() if answer is None])

    def _update_move(
        self,
        followed: _TrackedMove,
        partition: Partition,
        cluster: Cluster,
        throttles: Throttles,
        answers: Answers,
        now: float,
        events: list[Event],
    ) -> None:
        name, before = followed.name, followed.figures
        total = _replica_size(answers.get(partition.leader), name)
        copied = tuple([_replica_size(answers.get(broker), name) for broker in partition.adding])
        all_known = -1 not in copied
        sample = Sample(now, before.total if total < 0 else total, copied)
        followed.leader = partition.leader
        if followed.samples:
            self.observed_throughput.grown(partition.adding, followed.samples.last.copied, copied, sample.total)
            self._count_copied(partition, followed.samples.last, sample)
        elif self._unseen.pop(name, None) is not None:
            # Counted from nothing: so much is new, however much of it is left.
            self._count_copied(partition, sample._replace(copied=(0,) * len(copied)), sample)
        followed.samples.add(sample)
        in_sync = sum([broker in partition.isr for broker in partition.adding])
        left = sum([max(0, sample.total - held) for held in copied]) if sample.total >= 0 and all_known else None
        if in_sync > followed.in_sync or (left is not None and (followed.least is None or left < followed.least)):
            followed.advanced_at = now
        if left is not None:
            followed.least = left if followed.least is None else min(left, followed.least)
        followed.in_sync = in_sync
        stalled = None
        if now - followed.advanced_at >= self._stall_s:
            reason = _StallReason(name, partition, cluster, throttles, answers, followed.samples)
            stalled = reason.found()
        held = dict(zip(partition.adding, copied, strict=True))
        if not all_known:
            held = {**before.copied, **{broker: size for broker, size in held.items() if size >= 0}}
        for broker in partition.adding:
            if 0 <= held.get(broker, -1) < sample.total:
                self._links.lacks(partition.leader, broker, sample.total - held[broker])
        # The remaining time follows once all moves are known: they share their brokers' links.
        figures = MoveProgress(sample.total, held, followed.samples.rate, before.remaining_ms, stalled)
        if figures != before:
            followed.figures = figures
        if stalled is not None and before.stalled is None:
            events.append(_event(catalogue.MOVE_STALLED, name, partition, stalled))
        elif stalled is None and before.stalled is not None:
            events.append(_event(catalogue.MOVE_RESUMED, name, partition, None))

    def _put_remaining_times(self, seen: Mapping[str, Mapping[int, _TrackedMove]]) -> Generator[None, None, int]:
        """Returns the longest one; -1: none is known."""
        longest, slices = -1, SliceCounter(SLICE)
        for of_topic in seen.values():
            for followed in of_topic.values():
                remaining_ms = _remaining_ms(followed, self._links)
                if remaining_ms != followed.figures.remaining_ms:
                    followed.figures = msgspec.structs.replace(followed.figures, remaining_ms=remaining_ms)
                longest = max(longest, remaining_ms)
                if slices.step():
                    yield
        return longest

    def _count_copied(self, partition: Partition, before: Sample, now: Sample) -> None:
        for place, broker in enumerate(partition.adding):
            copied = now.copied[place] - before.copied[place] if before.copied[place] >= 0 else 0
            if copied > 0:
                self._count(partition.leader, broker, copied)
            lacked, lacks = before.gap(place), now.gap(place)
            if lacked is not None and lacks is not None:
                self._links.grown(partition.leader, broker, lacked - lacks, max(0, copied))


def _event(name: str, partition: TopicPartition, value: Partition, reason: str | None) -> Event:
    id_ = None if value.move is None else value.move.id
    return Event(name, *partition, id=id_, reason=reason, target=value.target, replicas=value.replicas)


def _replica_size(log_dirs: Collection[SampledLogDir] | None, name: TopicPartition) -> int:
    """Bytes of a broker's replica; 0: it has none yet; -1: no answer, or its log dir may have failed."""
    if log_dirs is None:
        return -1
    for log_dir in log_dirs:
        size = log_dir.sizes.get(name.topic, {}).get(name.partition)
        if size is not None:
            return size
    return -1 if any(log_dir.error for log_dir in log_dirs) else 0


def _remaining_ms(followed: _TrackedMove, links: SharedLinks) -> int:
    """Milliseconds until the last copy is complete; -1: not known. A stalled move gets nothing of a shared link."""
    if followed.samples.complete:
        return 0
    if -1 in followed.samples.first.copied or -1 in followed.samples.last.copied:
        return -1
    longest = 0.0
    for broker, alone in zip(followed.adding, followed.samples.alone(), strict=True):
        shared = links.seconds(followed.leader, broker) if followed.figures.stalled is None else None
        known = [seconds for seconds in (alone, shared) if seconds is not None]
        if not known:
            return -1
        longest = max(longest, min(known))
    return int(longest * 1000)


class _StallReason:
    """Why a move is stalled; see the head of this file."""

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
