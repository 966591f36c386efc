"""How far one move is, in bytes; and one move in flight as it is followed from sample to sample.

What has arrived at the adding replicas of one move. Sizes alone do not say it: logs also shrink.

Retention cuts the leader's log, and later what a replica has copied of it. Both count as if nothing had been cut: cuts
are neither progress nor a loss. Any other shrinking of a replica is a loss, and is copied again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from kafka_reassign_rpc.core.reassignment.move_sums import MoveBytes
from kafka_reassign_rpc.core.reassignment.remaining_time import Sample, Samples, SharedLinks, arrived_between
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import NOT_TOLD, ToldSizes
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

TIERED = "remote.storage.enable"
FROM_LAST_TIERED = "follower.fetch.last.tiered.offset.enable"


def copies_only_untiered(cluster: Cluster, topic: str, followers: Iterable[int]) -> bool:
    """Whether one of these followers skips what is both in tiered storage (KIP-405) and with the leader.

    A new replica begins where the leader's local log begins, and brokers report the sizes of local segments. With
    `follower.fetch.last.tiered.offset.enable` (KIP-1023, Kafka 4.3) an empty replica begins at what is not tiered yet;
    no API reports how many bytes that is.
    """
    if not _is_on(cluster.topic_configs.get(topic, {}).get(TIERED)):
        return False
    for_all = cluster.default_configs.get(FROM_LAST_TIERED)
    own = (cluster.broker_configs.get(str(one), {}).get(FROM_LAST_TIERED, for_all) for one in followers)
    return any(map(_is_on, own))


def _is_on(value: str | None) -> bool:
    return value is not None and value.strip().lower() == "true"


def is_compacted(cluster: Cluster, topic: str) -> bool:
    """Cleaning shrinks the logs of leader and replica at different times: then sizes do not show what is lacking."""
    own = cluster.topic_configs.get(topic, {}).get("cleanup.policy")
    return "compact" in (cluster.default_configs.get("log.cleanup.policy", "") if own is None else own)


class Arrivals:
    """Bytes; those of replicas are in the order of the adding replicas.

    total     the leader's log; None: unknown
    copied    the replicas' logs; None: unknown
    lacks     what each replica lacks; below 0: it holds more than the leader; None: unknown
    lacked    the same, one sample before
    followed  whether each replica has been seen with all there was, and has kept up since
    grown     what each replica has got since its last report, however many samples ago
    is_new    the move is followed since its start: what the first report of a replica shows has been copied by it

    Lists are changed in place: new objects for a hundred thousand moves would cost the garbage collector its time.
    """

    __slots__ = (
        "_arrived", "_cut", "_is_known", "_known", "_leader", "_produced", "_trimmed", "copied", "followed", "grown",
        "is_new", "lacked", "lacks", "total",
    )  # fmt: skip

    def __init__(self, adding: int, leader: int) -> None:
        self.total: int | None = None
        self.copied: list[int | None] = [None] * adding
        self.lacks: list[int | None] = [None] * adding
        self.lacked: list[int | None] = [None] * adding
        self.followed = [False] * adding
        self.grown = [0] * adding
        self.is_new = False
        self._leader = leader
        self._produced = 0
        self._arrived = [0] * adding
        self._is_known = [False] * adding
        self._known = [0] * adding
        """The last size that each has reported."""
        self._cut = [0] * adding
        """What retention has cut from the leader since the first sample, as far as the replica had it."""
        self._trimmed = [0] * adding
        """How much of that is cut from the replica too."""

    def sampled(
        self, now: float, leader: int, total: int | None, copied: Sequence[int | None], *, tells: bool
    ) -> Sample:
        """`total` and `copied`: sizes; None: unknown. `tells`: whether sizes show what is lacking."""
        change = 0
        if leader == self._leader and total is not None and self.total is not None:
            change = total - self.total
        self.total = self.total if total is None else total
        self._leader = leader
        if change > 0:
            self._produced += change
        for place, has in enumerate(copied):
            known = self._known[place]
            if change < 0 and tells:  # the replica may have got by now what was cut since
                ahead = self._cut[place] - self._trimmed[place]
                self._cut[place] += min(-change, max(0, max(known, has or 0) - ahead))
            self.grown[place] = 0
            if has is not None:
                if self._is_known[place] or self.is_new:
                    self.grown[place] = max(0, has - known)
                self._is_known[place] = True
                if has < known:
                    self._trimmed[place] = min(self._cut[place], self._trimmed[place] + known - has)
                elif self.copied[place] is not None:
                    self._arrived[place] += has - known
                self._known[place] = has
            self.copied[place] = has
            self.lacked[place] = self.lacks[place]
            self.lacks[place] = None
            if tells and has is not None and self.total is not None:
                self.lacks[place] = self.total + self._cut[place] - has - self._trimmed[place]
        sizes = zip(self._arrived, copied, strict=True)
        return Sample(now, self._produced, tuple([None if has is None else one for one, has in sizes]))

    @property
    def of_all(self) -> int | None:
        """What each replica has or must get; None: unknown."""
        return None if self.total is None else self.total + max(self._cut, default=0)

    @property
    def held(self) -> int | None:
        """By all replicas, of each no more than its leader has; None: unknown."""
        known = [one for one in self.copied if one is not None]
        if self.total is None or len(known) < len(self.copied):
            return None
        return sum([min(one, self.total) for one in known])

    def has_of_all(self, place: int, before: int | None) -> int | None:
        """How much of `of_all` a replica has; None: sizes do not show it. If it holds more than its leader, nothing
        shows how much of that is old. If it lacked bytes a moment ago, it may only have been asked later than its
        leader: it stays at what it had (`before`).
        """
        lacks, copied = self.lacks[place], self.copied[place]
        if lacks is None or copied is None:
            return None
        if lacks == 0 or (lacks < 0 and self.followed[place]):
            return self.of_all
        if lacks > 0:
            return copied + self._trimmed[place]
        return before if (self.lacked[place] or 0) > 0 else None

    def gains(self, first: Sample, last: Sample, late: Iterable[int]) -> bool:
        """Whether one of these places gets more than its leader. What only follows its leader gains nothing, whichever
        of the two was asked first.
        """
        produced, found = last.produced - first.produced, False
        for place in late:
            lacks, arrived = self.lacks[place], arrived_between(first, last, place)
            if lacks == 0:
                self.followed[place] = True
            elif lacks is None or lacks > produced or (arrived is not None and arrived <= 0):
                self.followed[place] = False
            found |= arrived is not None and arrived > produced and not self.followed[place]
        return found


class MoveProgress(msgspec.Struct, frozen=True, gc=False):
    """How far one move is, in bytes, bytes per second and milliseconds; None: unknown.

    total         what each adding replica has or must get: the leader's log, and what retention has cut from it since
                  the replica has copied that
    copied        what each adding replica has of that, by broker. One whose rest is unknown is missing: its broker has
                  not reported its size, or sizes do not show it (the topic is compacted, or the replica, out of sync,
                  holds more than its leader)
    rate          how much arrives at all of them together
    stalled       why the move is stalled; None: it advances, waits for its share of a throttle, or is too young to say
    waits_for     its share of a throttle, with the throttle; None: it is stalled, advances, or is too young to say
    """

    total: int | None = None
    copied: Mapping[int, int] = {}
    rate: int | None = None
    remaining_ms: int | None = None
    stalled: str | None = None
    adding: tuple[int, ...] = ()
    waits_for: str | None = None

    @property
    def bytes_total(self) -> int | None:
        """Of all its replicas, None: unknown."""
        if not self.adding:
            return 0
        return None if self.total is None else self.total * len(self.adding)

    @property
    def bytes_copied(self) -> int | None:
        """None until it is known of every replica."""
        left = self.bytes_left
        return None if left is None or self.bytes_total is None else self.bytes_total - left

    @property
    def lacks(self) -> list[int | None]:
        """What each adding replica lacks, in their order; None: unknown."""
        return [
            None if self.total is None or one not in self.copied else max(0, self.total - self.copied[one])
            for one in self.adding
        ]

    @property
    def bytes_left(self) -> int | None:
        """None: unknown."""
        lacks = [one for one in self.lacks if one is not None]
        return sum(lacks) if len(lacks) == len(self.adding) else None

    @property
    def sum(self) -> MoveBytes:
        return MoveBytes(self.bytes_total, self.bytes_copied, self.stalled)

    def waits_to_join(self, isr: Collection[int]) -> list[int]:
        """The replicas outside the ISR although all is copied."""
        return [broker for broker in self.adding if broker not in isr] if self.bytes_left == 0 else []


class TrackedMove:
    """A change of target resets the samples."""

    __slots__ = (
        "adding", "advanced_at", "arrivals", "figures", "former_sum", "in_sync", "leader", "move", "name", "sampled",
        "samples", "since", "sum",
    )  # fmt: skip

    def __init__(self, name: TopicPartition, partition: Partition, now: float, since: float) -> None:
        self.name = name
        self.move: MoveRecord | None = partition.move
        self.adding = partition.adding
        self.leader = partition.leader
        self.samples = Samples()
        self.arrivals = Arrivals(len(partition.adding), partition.leader)
        self.since = since
        """An answer to an earlier question is about a former move of the partition."""
        self.advanced_at = now
        self.in_sync = 0
        self.figures = MoveProgress(adding=partition.adding)
        self.sum: MoveBytes | None = None
        """What it counts for in the sums of the last sample that has seen it; None: for nothing."""
        self.former_sum: MoveBytes | None = None
        """In those of the sample before: they hold until a sample has seen all moves."""
        self.sampled = 0
        """The number of that sample."""

    def has_news(self, partition: Partition, cluster: Cluster, told: Mapping[int, ToldSizes]) -> bool:
        """Whether all of its brokers have reported their sizes since its last sample. A broker that is gone is not
        waited for.
        """
        since = self.samples.last.at if self.samples else float("-inf")
        from_ = (partition.leader,) if partition.is_described else partition.sources
        asked = [told.get(broker, NOT_TOLD) for broker in (*from_, *partition.adding) if broker in cluster.brokers]
        return all(one.is_news_of(self.name, since) and one.asked_at > self.since for one in asked)

    def held(self, partition: Partition, of_all: int | None) -> dict[int, int]:
        """What each adding replica has of `of_all`, as far as that is known. What is in sync has everything. Of an
        unknown whole it is what lies there; a broker that does not answer has what it had.
        """
        found = {}
        for place, broker in enumerate(partition.adding):
            size, before = self.arrivals.copied[place], self.figures.copied.get(broker)
            if of_all is not None and broker in partition.isr:
                has: int | None = of_all
            elif size is None:
                has = before
            else:
                has = size if of_all is None else self.arrivals.has_of_all(place, before)
            if has is not None:
                found[broker] = has
        return found

    def remaining_ms(self, links: SharedLinks, cluster: Cluster) -> int | None:
        """Until the last copy is complete; None: unknown.

        A stalled move gets nothing of a shared link. A dead broker may return at any time; a client, whose cluster has
        moves alone, does not know which are dead.
        """
        left = self.figures.lacks
        if not self.samples or None in left:
            return None
        if not any(left):
            return 0
        if cluster.brokers and any(broker not in cluster.brokers for broker in self.adding):
            return None
        if None in self.samples.first.arrived or None in self.samples.last.arrived:
            return None
        longest = 0.0
        alone_s = self.samples.alone([one or 0 for one in left])
        for broker, alone in zip(self.adding, alone_s, strict=True):
            shared = links.seconds(self.leader, broker) if self.figures.stalled is None else None
            known = [seconds for seconds in (alone, shared) if seconds is not None]
            if not known:
                return None
            longest = max(longest, min(known))
        return int(longest * 1000)
