"""Progress of moves: bytes, rate, remaining time, and stalls.

A move advances while more arrives at one of its adding replicas than its leader gets, and when one joins the ISR. One
that waits for its share of a throttle, which other moves use up, does not advance and is not stalled.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

import msgspec

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.move_progress import (
    MoveProgress,
    TrackedMove,
    copies_only_untiered,
    is_compacted,
)
from kafka_reassign_rpc.core.reassignment.move_sums import (
    GroupedSums,
    GroupKey,
    added_by,
    bytes_to_copy,
    group_of,
    waiting_moves,
)
from kafka_reassign_rpc.core.reassignment.remaining_time import CopyRates, ObservedThroughput, SharedLinks
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import (
    Answers,
    ToldSizes,
    leader_size,
    replica_size,
)
from kafka_reassign_rpc.core.reassignment.stall_reason import StallReason, Throttles
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, RPC, MoveRecord, Partition
from kafka_reassign_rpc.core.state.requesters import requester_of
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.support.slices import forget_others

_ENDS = frozenset({catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED})


_Followed = dict[str, dict[int, TrackedMove]]


class ProgressTracker:
    """Follows the moves in flight.

    stall_s              seconds without an advance after which a move is stalled
    at_once              also stalls a move whose reason needs no time to show, such as a dead target
    samples              their number; figures change only with it
    sums                 at the last sample; ended moves count at once
    remaining_ms         until the slowest timed move in flight ends; None if none is timed
    untimed              moves in flight without a known remaining time
    receivers            moves in flight and waiting, by each broker that lacks its replica in the ISR
    only_removing        moves in flight that copy nothing
    all_done_s           until waiting moves are done too, at present rates; None: unknown
    """

    def __init__(self, stall_s: float, *, at_once: bool = False) -> None:
        self._stall_s = stall_s
        self._at_once = at_once
        self._followed: _Followed = {}
        self._former: _Followed = {}
        """As of the sample before: an end may be reported after a sample that no longer has the move."""
        self.sums = GroupedSums()
        self.remaining_ms: int | None = None
        self.untimed = 0
        self.receivers: Counter[int] = Counter()
        self.only_removing = 0
        self.samples = 0
        self._sampled_at = float("-inf")
        self._is_sampled = False
        """Whether a move in flight has a sample, or one has had since there was last none."""
        self.observed_throughput = ObservedThroughput()
        self.rates = CopyRates()
        self._links = SharedLinks()
        self._ended: set[TopicPartition] = set()
        """Partitions whose moves have ended since the last sample began."""
        self.copied_in: Counter[int] = Counter()
        """Bytes that moves have copied to each broker that the cluster has, since the tracker began."""
        self.copied_out: Counter[int] = Counter()
        """Bytes that moves have copied from each leader."""
        self._unseen: dict[TopicPartition, int] = {}
        """The leaders of moves that have started since, and have no sample yet: what they hold they have copied."""
        self._was_idle = False
        """Nothing has moved or waited since the last end of a move, whether a sample has seen that or not."""

    @property
    def all_done_s(self) -> float | None:
        return self._links.all_done_s

    @property
    def is_idle(self) -> bool:
        return not (self._followed or self.sums.all.waiting or self.sums.all.ended)

    def figures(self, topic: str, partition: int) -> MoveProgress | None:
        """None before the first sample."""
        followed = self._followed.get(topic, {}).get(partition)
        return None if followed is None else followed.figures

    def ended(self, events: Iterable[Event], cluster: Cluster) -> Iterator[Event]:
        """Passes on the events of a round, and counts what its completed moves have copied. `cluster`: after the round.
        An end gets the bytes copied if that very move was sampled.
        """
        for event in events:
            if self._was_idle and event.event == catalogue.MOVE_STARTED:
                self._was_idle = False
                self.sums.forget_ended()
            name = TopicPartition(event.topic or "", -1 if event.partition is None else event.partition)
            if event.event == catalogue.MOVE_STARTED and (partition := cluster.get(*name)) is not None:
                self._unseen[name] = partition.leader
            if event.event not in _ENDS:
                yield event
                continue
            leader = self._unseen.pop(name, None)
            followed = self._of_id(name, event.id)
            if followed is None:
                if leader is not None and event.event == catalogue.MOVE_COMPLETED:
                    self._count_unseen(event, leader)
                    if event.copied is not None:  # a sample has found its size while it waited
                        for sums in self.sums.of(_group_of_end(event)):
                            sums.wait_no_more(event.copied)
                # What has no id was decided at once, as the place of a replica before there is a log.
                at_once = leader is not None and event.id is None
                self._count_end(event, name, 0 if at_once or _copies_nothing(event) else event.copied)
                self._was_idle = _is_idle(cluster)
                yield event
                continue
            if event.event == catalogue.MOVE_COMPLETED:
                self._count_rest(followed)
            figures = followed.figures
            copied = figures.bytes_total
            if event.event != catalogue.MOVE_COMPLETED:
                copied = followed.arrivals.held if figures.bytes_copied is None else figures.bytes_copied
            self._count_end(event, name, copied)
            self._was_idle = _is_idle(cluster)
            yield event if copied is None else msgspec.structs.replace(event, copied=copied)

    def _of_id(self, name: TopicPartition, id_: int | None) -> TrackedMove | None:
        for known in (self._followed, self._former):
            one = known.get(name.topic, {}).get(name.partition)
            if one is not None and one.move is not None and id_ is not None and one.move.id == id_:
                return one
        return None

    def _count_unseen(self, end: Event, leader: int) -> None:
        """A move that ended before its first sample: its size was measured while it waited."""
        adding = _adding_of_end(end) if end.copied is not None else ()
        for broker in adding:
            self._count(leader, broker, (end.copied or 0) // len(adding))

    def _count_end(self, end: Event, name: TopicPartition, copied: int | None) -> None:
        self._ended.add(name)
        one = self._followed.get(name.topic, {}).get(name.partition)
        # An end may be reported after a sample that has seen the next move of the partition.
        if one is not None and _id_of(one.move) == end.id:
            counted = one.former_sum if one.sampled > self.samples else one.sum
            one.sum = one.former_sum = None
            if counted is not None:
                self.sums.add(group_of(one.move), counted, -1)
        for sums in self.sums.of(_group_of_end(end)):
            sums.end(copied)

    @staticmethod
    def _take_out_ended(ended: Iterable[TopicPartition], seen: _Followed, cluster: Cluster, sums: GroupedSums) -> None:
        """Moves that ended after this sample had measured them."""
        for name in ended:
            partition, one = cluster.get(*name), seen.get(name.topic, {}).get(name.partition)
            if one is None:
                continue
            is_in_flight = partition is not None and partition.is_moving and _id_of(partition.move) == _id_of(one.move)
            if not is_in_flight:
                sums.add(group_of(one.move), one.figures.sum, -1)
                one.sum = None

    def _count_rest(self, followed: TrackedMove) -> None:
        figures = followed.figures
        for broker, rest in zip(figures.adding, figures.lacks, strict=True):
            if rest:
                self._count(followed.leader, broker, rest)
                self._links.grown(followed.leader, broker, rest, rest)

    def _count(self, leader: int, broker: int, size: int) -> None:
        self.copied_in[broker] += size
        self.copied_out[leader] += size

    def _begin_rates(self) -> None:
        """Over a time in which nothing moved there would be no rate to speak of. What the first sample finds copied may
        be older than the look that saw the first move.
        """
        self._is_sampled = self._is_sampled and bool(self._followed)
        if not (self._is_sampled or self.sums.all.waiting):
            self.rates = CopyRates()

    def _sample_rates(self, now: float, cluster: Cluster, receiving: Collection[int], answers: Answers) -> None:
        """Forgets brokers that have left. A client does not know the brokers, and forgets none."""
        for counted in (self.copied_in, self.copied_out) if cluster.brokers else ():
            forget_others(counted, cluster.brokers.keys() | cluster.failed.keys())
        if not (self._followed or self.sums.all.waiting):
            self.rates = CopyRates()  # the start of the next move is reported before it has a sample
            return
        there = [broker for broker in receiving if broker in cluster.brokers]
        silent = {broker for broker in there if answers.get(broker) is None}
        is_dark = bool(silent) and len(silent) == len(there)
        self.rates.sampled(now, self.copied_in, self.copied_out, silent, is_dark=is_dark)

    def update(
        self,
        now: float,
        cluster: Cluster,
        answers: Answers,
        events: list[Event],
        sizes: dict[TopicPartition, int | None],
        waiting: Collection[TopicPartition] = (),
        told: Mapping[int, ToldSizes] | None = None,
    ) -> Iterator[None]:
        """Takes a sample. `now`: seconds of any clock.

        told     when each broker reported its sizes: a move keeps its figures until all of its brokers have reported
                 again. None: all have just reported
        events   gets `move.stalled`, `move.resumed` and `moves.done`
        sizes    gets the changes for `SoftState.sizes`
        waiting  partitions with waiting moves
        """
        seen: _Followed = {}
        sums = GroupedSums()
        receivers: Counter[int] = Counter()
        only_removing = 0
        self._ended.clear()
        self._begin_rates()
        for topic in list(cluster.moving):
            known = self._followed.get(topic, {})
            throttles = cache(partial(TopicThrottles, cluster, topic))
            for index in list(cluster.moving.get(topic, ())):
                partition = cluster.get(topic, index)
                if partition is None or not partition.is_moving:
                    continue
                followed = known.get(index)
                if followed is None or followed.move != partition.move or followed.adding != partition.adding:
                    followed = TrackedMove(TopicPartition(topic, index), partition, now, self._sampled_at)
                name = followed.name
                if told is None or followed.has_news(partition, cluster, told):
                    self._update_move(followed, partition, cluster, throttles, answers, now, events)
                self._count_lacking(followed)
                seen.setdefault(topic, {})[index] = followed
                total = followed.arrivals.total
                if followed.figures.total is not None and cluster.soft.sizes.get(name) != total:
                    sizes[name] = total
                followed.former_sum, followed.sum = followed.sum, followed.figures.sum
                followed.sampled = self.samples + 1
                sums.add(group_of(followed.move), followed.sum)
                receivers.update(broker for broker in partition.adding if broker not in partition.isr)
                only_removing += not partition.adding
                yield
        receiving = list(receivers)
        _put_sizes(waiting, cluster, answers, sizes)
        yield from self._count_waiting(cluster, sums, sizes, receivers)
        self._links.sampled(now, cluster)
        yield from self._put_remaining_times(seen, cluster)
        self.receivers, self.only_removing = receivers, only_removing
        still = set(waiting)
        for name in list(cluster.soft.sizes):
            if name.partition not in seen.get(name.topic, ()) and name not in still:
                sizes[name] = None
            yield
        if self._unseen:  # those that started meanwhile; others have gone with their topics
            self._unseen = {one: by for one, by in self._unseen.items() if one[1] in cluster.moving.get(one[0], ())}
        self._former, self._followed = self._followed, seen
        self.samples, self._sampled_at = self.samples + 1, now
        self._take_out_ended(self._ended, seen, cluster, sums)
        events += self._finished(sums, cluster)
        sums.keep_ended(self.sums)
        self.sums = sums
        self._sample_rates(now, cluster, receiving, answers)
        self.observed_throughput.sampled(now, cluster, [broker for broker, answer in answers.items() if answer is None])

    def _finished(self, sums: GroupedSums, cluster: Cluster) -> Iterator[Event]:
        """For requests and plans without a move left, unless one began while the sample was taken."""
        if found := [one for one in self.sums.finished(sums) if one[0].route != HEAL]:
            begun = {group_of(None if one is None else one.move) for one in (cluster.get(*at) for at in self._unseen)}
            for key, count in found:
                if key not in begun:
                    yield Event(catalogue.MOVES_DONE, route=key.route, reason=key.reason or None, count=count)

    def _count_waiting(
        self,
        cluster: Cluster,
        sums: GroupedSums,
        fresh: Mapping[TopicPartition, int | None],
        receivers: Counter[int],
    ) -> Iterator[None]:
        """`fresh`: sizes from this sample."""
        for found in waiting_moves(cluster):
            yield
            if found is None:
                continue
            name, partition, move = found
            adding = added_by(partition, move)
            size = fresh.get(name)
            if size is None:
                size = cluster.soft.sizes.get(name)
            for each in sums.of(group_of(move)):
                each.wait(bytes_to_copy(adding, size))
            receivers.update(adding)
            if size:
                for broker in adding:
                    self._links.waits(partition.leader, broker, size)

    def _update_move(
        self,
        followed: TrackedMove,
        partition: Partition,
        cluster: Cluster,
        throttles: Throttles,
        answers: Answers,
        now: float,
        events: list[Event],
    ) -> None:
        name, before, arrivals = followed.name, followed.figures, followed.arrivals
        copied = tuple([replica_size(answers.get(broker), name) for broker in partition.adding])
        total = leader_size(answers, partition, name)
        if followed.samples:
            self.observed_throughput.grown(
                partition.adding, arrivals.copied, copied, max(total or 0, arrivals.total or 0)
            )
        elif self._unseen.pop(name, None) is not None:
            arrivals.is_new = True
            self._count_for_links(partition, (0,) * len(copied), copied, 0)
        is_partial = copies_only_untiered(cluster, name.topic, partition.adding)
        tells = not is_partial and not is_compacted(cluster, name.topic)
        sample = arrivals.sampled(now, partition.leader, total, copied, tells=tells)
        for broker, grown in zip(partition.adding, arrivals.grown, strict=True):
            if grown:
                self._count(partition.leader, broker, grown)
        if followed.samples:
            last = followed.samples.last
            self._count_for_links(partition, last.arrived, sample.arrived, sample.produced - last.produced)
        followed.leader = partition.leader
        followed.samples.add(sample)
        self._is_sampled = True
        late = [place for place, broker in enumerate(partition.adding) if broker not in partition.isr]
        in_sync = len(partition.adding) - len(late)
        if arrivals.gains(followed.samples.first, sample, late) or in_sync > followed.in_sync:
            followed.advanced_at = now
        followed.in_sync = in_sync
        of_all = None if is_partial else arrivals.of_all
        held = followed.held(partition, of_all)
        stalled = share = None
        stands_s = now - followed.advanced_at
        is_over = stands_s >= self._stall_s
        if is_over or self._at_once:
            reason = StallReason(
                name, partition, cluster, throttles, answers, followed.samples, arrivals, self._links.rates, stands_s
            )
            stalled = reason.found() if is_over else reason.seen_at_once()
            share = reason.share() if is_over and stalled is None else None
        # The remaining time follows once all moves are known: they share their brokers' links.
        rate = followed.samples.rate
        figures = MoveProgress(of_all, held, rate, before.remaining_ms, stalled, partition.adding, share)
        if figures != before:
            followed.figures = figures
        if stalled is not None and before.stalled is None:
            events.append(_event(catalogue.MOVE_STALLED, name, partition, stalled))
        elif stalled is None and before.stalled is not None:
            events.append(_event(catalogue.MOVE_RESUMED, name, partition, None))

    def _count_lacking(self, followed: TrackedMove) -> None:
        for broker, left in zip(followed.adding, followed.figures.lacks, strict=True):
            if left != 0:
                self._links.lacks(followed.leader, broker, left or 0)

    def _put_remaining_times(self, seen: _Followed, cluster: Cluster) -> Iterator[None]:
        longest: int | None = None
        untimed = 0
        for of_topic in seen.values():
            for followed in of_topic.values():
                remaining_ms = followed.remaining_ms(self._links, cluster)
                if remaining_ms != followed.figures.remaining_ms:
                    followed.figures = msgspec.structs.replace(followed.figures, remaining_ms=remaining_ms)
                if remaining_ms is None:
                    untimed += 1
                elif longest is None or remaining_ms > longest:
                    longest = remaining_ms
                yield
        self.remaining_ms, self.untimed = longest, untimed

    def _count_for_links(
        self, partition: Partition, before: Sequence[int | None], now: Sequence[int | None], produced: int
    ) -> None:
        """`before`, `now`: what has arrived at each adding replica; None: unknown."""
        for broker, had, has in zip(partition.adding, before, now, strict=True):
            if had is not None and has is not None and broker not in partition.isr:
                self._links.grown(partition.leader, broker, has - had - produced, has - had)


def _is_idle(cluster: Cluster) -> bool:
    return not cluster.moving and not cluster.queue and (cluster.batch is None or not cluster.batch.waiting)


def _adding_of_end(end: Event) -> Collection[int]:
    return [broker for broker in end.target or () if broker not in (end.original or ())]


def _copies_nothing(end: Event) -> bool:
    return end.target is not None and end.original is not None and not _adding_of_end(end)


def _group_of_end(end: Event) -> GroupKey:
    return GroupKey(end.route or RPC, end.reason or "")


def _id_of(move: MoveRecord | None) -> int | None:
    return None if move is None else move.id


def _event(name: str, partition: TopicPartition, value: Partition, reason: str | None) -> Event:
    id_ = _id_of(value.move)
    by = None if value.move is None else requester_of(value.move.terms.route, value.move.terms.by)
    event = Event(name, *partition, id=id_, reason=reason, target=value.target, replicas=value.replicas)
    return event if by is None else event.asked_by(by)


def _put_sizes(
    waiting: Collection[TopicPartition],
    cluster: Cluster,
    answers: Answers,
    sizes: dict[TopicPartition, int | None],
) -> None:
    for name in waiting:
        partition = cluster.get(*name)
        total = None if partition is None else leader_size(answers, partition, name)
        if total is not None and cluster.soft.sizes.get(name) != total:
            sizes[name] = total
