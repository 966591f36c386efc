"""What has arrived at the adding replicas of one move. Sizes alone do not say it: logs also shrink.

Retention cuts the leader's log, and later what a replica has copied of it. Both count as if nothing had been cut: cuts
are neither progress nor a loss. Any other shrinking of a replica is a loss, and is copied again.
"""

from collections.abc import Iterable, Sequence

from kafka_reassign_rpc.core.reassignment.remaining_time import Sample, arrived_between
from kafka_reassign_rpc.core.state.cluster import Cluster

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

    Lists are changed in place: new objects for a hundred thousand moves would cost the garbage collector its time.
    """

    __slots__ = (
        "_arrived", "_cut", "_known", "_leader", "_produced", "_trimmed", "copied", "followed", "lacked", "lacks",
        "total",
    )  # fmt: skip

    def __init__(self, adding: int, leader: int) -> None:
        self.total: int | None = None
        self.copied: list[int | None] = [None] * adding
        self.lacks: list[int | None] = [None] * adding
        self.lacked: list[int | None] = [None] * adding
        self.followed = [False] * adding
        self._leader = leader
        self._produced = 0
        self._arrived = [0] * adding
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
            if has is not None:
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
