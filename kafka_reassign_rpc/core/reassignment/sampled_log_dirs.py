"""What brokers tell of their log dirs (DescribeLogDirs)."""

from collections.abc import Collection, Mapping

import msgspec

from kafka_reassign_rpc.core.state.cluster import TopicPartition


class SampledLogDir(msgspec.Struct, frozen=True, gc=False):
    """A broker's log dir: its error code (0: none), bytes of its volume (-1: unknown), sizes of its replicas, and
    whether it is cordoned (KIP-1066)."""

    path: str
    error: int = 0
    total: int = -1
    usable: int = -1
    sizes: Mapping[str, Mapping[int, int]] = {}
    """Bytes by topic and partition."""
    cordoned: bool = False


Answers = Mapping[int, Collection[SampledLogDir] | None]
"""By broker; None: no answer."""


def replica_size(log_dirs: Collection[SampledLogDir] | None, name: TopicPartition) -> int:
    """Bytes of a broker's replica; 0: it has none yet; -1: no answer, or its log dir may have failed."""
    if log_dirs is None:
        return -1
    for log_dir in log_dirs:
        size = log_dir.sizes.get(name.topic, {}).get(name.partition)
        if size is not None:
            return size
    return -1 if any(log_dir.error for log_dir in log_dirs) else 0
