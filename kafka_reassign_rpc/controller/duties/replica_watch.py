"""Reports to operators about replicas: how many partitions are under-replicated or offline, in the status document and
the metrics; and new replicas on cordoned brokers, however they came there.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.views import HEALTHY, PartitionHealth
from kafka_reassign_rpc.core.writers.replay import PartitionTransition
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.turns import Pace

INTERVAL_S = 5.0
SOON_S = 1.0
"""How soon it counts again while a partition is unhealthy: what has come back is not shown as lost."""
JOINING_S = 0.5


async def count_partitions(loop: ControllerLoop, health: PartitionHealth) -> None:
    """After the first time it counts only topics that have changed."""
    await _brokers_joined(loop)
    while True:
        await Pace().through(health.update(loop.cluster))
        await asyncio.sleep(INTERVAL_S if health.now == HEALTHY else SOON_S)


async def _brokers_joined(loop: ControllerLoop) -> None:
    """A cluster without any broker is one that starts: what is offline is not known before its brokers are there.
    Without a topic nothing is.
    """
    if loop.cluster.brokers or not loop.cluster.topics:
        return
    before = None
    while not before or before != loop.cluster.brokers.keys():
        before = set(loop.cluster.brokers)
        await asyncio.sleep(JOINING_S)


NAMED = 5


def new_on_cordoned(cluster: Cluster, changed: Iterable[PartitionTransition]) -> Iterator[Event | None]:
    """Yields None after each partition."""
    closed: frozenset[int] | None = None
    found = defaultdict[int, list[TopicPartition]](list)
    for topic, index, before, after in changed:
        had = _replicas(before)
        if after.replicas != had:
            closed = cordoned(cluster) if closed is None else closed
            for broker in closed.intersection(after.replicas).difference(had):
                found[broker].append(TopicPartition(topic, index))
        yield None
    for broker, names in sorted(found.items()):
        reason = first_of(list(map(str, names[:NAMED])), NAMED, of=len(names))
        yield Event(catalogue.CORDON_BROKEN, broker=broker, reason=reason, count=len(names))


def _replicas(before: Partition | None) -> tuple[int, ...]:
    """A partition without a state has no replica yet: others have just written it into its topic's znode. (In front of
    KRaft its version is unknown, and only who is in sync shows it.)"""
    return () if before is None or (before.partition_epoch < 0 and not before.isr) else before.replicas


class CordonWatch:
    def __init__(self, cluster: Cluster, record: Record) -> None:
        self._cluster = cluster
        self._record = record

    def changed(self, partitions: Iterable[PartitionTransition]) -> Iterator[None]:
        """By a round, or by what was read."""
        events = []
        for event in new_on_cordoned(self._cluster, partitions):
            if event is not None:
                events.append(event)
            yield
        if events:
            self._record(events)
