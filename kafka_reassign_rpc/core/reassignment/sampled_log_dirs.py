"""What brokers report of their log dirs (DescribeLogDirs)."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.kafka_errors import KafkaStorageError
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class SampledLogDir(msgspec.Struct, frozen=True, gc=False):
    """error      0: none
    total      bytes of its volume, `usable` of them free; None: unknown
    cordoned   KIP-1066; None before Kafka 4.3, which first reports it
    """

    path: str
    error: int = 0
    total: int | None = None
    usable: int | None = None
    sizes: Mapping[str, Mapping[int, int | None]] = {}
    """Bytes by topic and partition; None: unknown."""
    cordoned: bool | None = None


def error_name(error: int) -> str:
    return "KAFKA_STORAGE_ERROR" if error == KafkaStorageError.code else f"error {error}"


def why_failed(error: int) -> str:
    """For people."""
    name = error_name(error)
    return f"{name}: offline, or out of disk" if error == KafkaStorageError.code else name


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


def leader_size(answers: Answers, partition: Partition, name: TopicPartition) -> int | None:
    """Bytes; None: unknown. A broker without the replica leads no longer, or not yet. Where the leader is not known,
    the largest of the old replicas counts.
    """
    leaders = [partition.leader] if partition.is_described else partition.sources
    sizes = [replica_size(answers.get(one), name, absent=None) for one in leaders]
    return max((one for one in sizes if one is not None), default=None)


def replica_size(
    log_dirs: Collection[SampledLogDir] | None, name: TopicPartition, *, absent: int | None = 0
) -> int | None:
    """Bytes; `absent`: the broker has none; None: no answer, or its log dir may have failed."""
    if log_dirs is None:
        return None
    for log_dir in log_dirs:
        of_topic = log_dir.sizes.get(name.topic, {})
        if name.partition in of_topic:
            return of_topic[name.partition]
    return None if any(log_dir.error for log_dir in log_dirs) else absent
