"""What brokers report of their log dirs (DescribeLogDirs)."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class SampledLogDir(msgspec.Struct, frozen=True, gc=False):
    """error      0: none
    total      bytes of its volume, `usable` of them free; -1: unknown
    cordoned   KIP-1066; None before Kafka 4.3, which first reports it
    """

    path: str
    error: int = 0
    total: int = -1
    usable: int = -1
    sizes: Mapping[str, Mapping[int, int]] = {}
    """Bytes by topic and partition."""
    cordoned: bool | None = None


Answers = Mapping[int, Collection[SampledLogDir] | None]
"""By broker; None: no answer."""


def takes_nothing_new(log_dirs: Collection[SampledLogDir] | None) -> bool | None:
    """Whether all working log dirs of a broker are cordoned, None: it does not report that."""
    cordoned = [one.cordoned for one in log_dirs or () if not one.error]
    return all(cordoned) if cordoned and None not in cordoned else None


class ToldSizes(NamedTuple):
    """When a broker reported its sizes, by the clock of the samples, of which partitions (None: all that it is asked
    for), and when it was asked (None: no earlier).
    """

    at: float
    of: Mapping[str, Collection[int]] | None = None
    asked: float | None = None

    @property
    def asked_at(self) -> float:
        return self.at if self.asked is None else self.asked

    def is_news_of(self, name: TopicPartition, since: float) -> bool:
        return self.at > since and (self.of is None or name.partition in self.of.get(name.topic, ()))


NOT_TOLD = ToldSizes(float("-inf"))


def leader_size(answers: Answers, partition: Partition, name: TopicPartition) -> int:
    """Bytes; -1: unknown. A broker without the replica leads no longer, or not yet. Where the leader is not known, the
    largest of the old replicas counts.
    """
    leaders = [partition.leader] if partition.is_described else partition.sources
    return max((replica_size(answers.get(one), name, absent=-1) for one in leaders), default=-1)


def replica_size(log_dirs: Collection[SampledLogDir] | None, name: TopicPartition, *, absent: int = 0) -> int:
    """Bytes; `absent`: the broker has none; -1: no answer, or its log dir may have failed."""
    if log_dirs is None:
        return -1
    for log_dir in log_dirs:
        size = log_dir.sizes.get(name.topic, {}).get(name.partition)
        if size is not None:
            return size
    return -1 if any(log_dir.error for log_dir in log_dirs) else absent
