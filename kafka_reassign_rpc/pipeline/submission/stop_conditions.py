"""When submit stops. A condition counts when two checks in a row find it, unless it held before the first batch."""

from collections.abc import Iterable, Set
from dataclasses import dataclass, field

import msgspec

from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import first_of, those

CHECKS_IN_A_ROW = 2


class SubmitStopped(Exception):
    """The cluster became unhealthy. Moves in flight continue. Exit code 3."""


class ClusterHealth(msgspec.Struct, frozen=True):
    """`live` includes our servers. `holding`: live nodes with replicas. `under_replicated`: fewer in the ISR than
    replicas.
    """

    live: frozenset[int]
    holding: frozenset[int]
    under_replicated: frozenset[tuple[str, int]]


def cluster_health(nodes: Iterable[int], topics: Iterable[TopicInfo]) -> ClusterHealth:
    """Keeps only under-replicated partitions in memory."""
    live = frozenset(nodes)
    holding: set[int] = set()
    behind = set()
    for topic in topics:
        for index, partition in topic.partitions.items():
            holding.update(partition.replicas)
            if len(partition.isr) < len(partition.replicas):
                behind.add((topic.name, index))
    return ClusterHealth(live, live & holding, frozenset(behind))


@dataclass
class StopConditions:
    """A moving partition may be under-replicated. `live`: when this run began, for a broker may have joined since the
    first batch.
    """

    first: ClusterHealth
    live: frozenset[int] = frozenset()
    _lost: dict[int, int] = field(default_factory=dict)
    _behind: dict[tuple[str, int], int] = field(default_factory=dict)

    def check(self, now: ClusterHealth, moving: Iterable[TopicPartition], targets: Set[int] = frozenset()) -> None:
        """`targets` get replicas by the present batch, and may have held none before."""
        watched = self.first.holding | (targets & (self.first.live | self.live))
        self._lost = {broker: self._lost.get(broker, 0) + 1 for broker in watched - now.live}
        behind = now.under_replicated - self.first.under_replicated - frozenset(map(tuple, moving))
        self._behind = {name: self._behind.get(name, 0) + 1 for name in behind}

    @property
    def suspected(self) -> bool:
        return bool(self._lost or self._behind)

    @property
    def reason_to_stop(self) -> str | None:
        """None: go on."""
        lost = sorted(broker for broker, checks in self._lost.items() if checks >= CHECKS_IN_A_ROW)
        late = sorted(name for name, checks in self._behind.items() if checks >= CHECKS_IN_A_ROW)
        reasons = []
        if lost:
            reasons.append(f"{those(lost)} lost")
        if late:
            shown = first_of([TopicPartition(*name) for name in late], 5)
            which = (
                "1 partition that does not move is"
                if len(late) == 1
                else f"{len(late)} partitions that do not move are"
            )
            reasons.append(f"{which} under-replicated: {shown}")
        return "; ".join(reasons) or None
