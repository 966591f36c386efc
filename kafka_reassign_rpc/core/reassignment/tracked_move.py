"""One move in flight as it is followed from sample to sample."""

from collections.abc import Mapping

from kafka_reassign_rpc.core.reassignment.arrivals import Arrivals
from kafka_reassign_rpc.core.reassignment.move_progress import MoveProgress
from kafka_reassign_rpc.core.reassignment.move_sums import MoveBytes
from kafka_reassign_rpc.core.reassignment.remaining_time import Samples, SharedLinks
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import NOT_TOLD, ToldSizes
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


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
