"""Where a batch stands in a cluster, and whether the cluster is well. Pure: looks come in, judgements go out.

What a batch still needs is told by the cluster alone, so a submission can be killed at any point and started again:

    the partition                                 it is
    at rest with the target                       done
    on its way to the target, or waiting for it   moving
    at rest with the expected replicas            not begun
    anything else, or gone                        in the way: nothing of the batch is submitted

A node may learn of the end of a move later than the controller lists it, so what is in the way is looked at again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.pipeline.plans.plan_reader import PlanEntry

LOOKS = 2
"""So often in a row something has to be wrong before it is believed."""


@dataclass(frozen=True)
class BatchState:
    """The partitions of a batch; `in_the_way` says of each why it does not fit any more."""

    done: frozenset[TopicPartition]
    moving: frozenset[TopicPartition]
    not_begun: frozenset[TopicPartition]
    in_the_way: Mapping[TopicPartition, str]

    @property
    def is_done(self) -> bool:
        return not (self.moving or self.not_begun or self.in_the_way)


def standing(
    batch: Mapping[TopicPartition, PlanEntry],
    topics: Mapping[str, dict[int, PartitionInfo] | KafkaError],
    in_flight: Mapping[TopicPartition, PartitionReassignment],
) -> BatchState:
    """Judge each partition of a batch by what the cluster shows."""
    found: dict[str, set[TopicPartition]] = {"done": set(), "moving": set(), "not begun": set()}
    in_the_way = {}
    for name, entry in batch.items():
        verdict = _judge(entry, topics.get(entry.topic), in_flight.get(name))
        if verdict in found:
            found[verdict].add(name)
        else:
            in_the_way[name] = verdict
    return BatchState(frozenset(found["done"]), frozenset(found["moving"]), frozenset(found["not begun"]), in_the_way)


def _judge(
    entry: PlanEntry, topic: dict[int, PartitionInfo] | KafkaError | None, move: PartitionReassignment | None
) -> str:
    if move is not None:
        waits = move.is_waiting and set(move.target) == set(entry.replicas)
        return "moving" if waits or move.target == entry.replicas else f"moves to {list(move.target)} already"
    if topic is None or isinstance(topic, KafkaError):
        return f"the topic cannot be seen: {topic.message if topic is not None else 'it is gone'}"
    if entry.partition not in topic:
        return "there is no such partition"
    replicas = topic[entry.partition].replicas
    if replicas == entry.replicas:
        return "done"
    if replicas == entry.expected_replicas:
        return "not begun"
    return f"has the replicas {list(replicas)}, the plan was made for {list(entry.expected_replicas)}"


class Health(msgspec.Struct, frozen=True):
    """A look at the whole cluster.

    live                nodes that are there; servers that are no brokers too
    holding             those of them that hold replicas
    under_replicated    partitions whose ISR is not all of their replicas
    """

    live: frozenset[int]
    holding: frozenset[int]
    under_replicated: frozenset[TopicPartition]


def look(nodes: Iterable[int], topics: Iterable[TopicInfo]) -> Health:
    """Go through all topics; only what is under-replicated is kept."""
    live = frozenset(nodes)
    holding: set[int] = set()
    behind = set()
    for topic in topics:
        for index, partition in topic.partitions.items():
            holding.update(partition.replicas)
            if len(partition.isr) < len(partition.replicas):
                behind.add(TopicPartition(topic.name, index))
    return Health(live, live & holding, frozenset(behind))


@dataclass
class HealthWatch:
    """Compares each look with the first: what was not well then does not count. A moving partition is expected to be
    under-replicated."""

    first: Health
    _lost: dict[int, int] = field(default_factory=dict)
    _behind: dict[TopicPartition, int] = field(default_factory=dict)

    def update(self, now: Health, moving: Iterable[TopicPartition]) -> None:
        """Take another look."""
        self._lost = {broker: self._lost.get(broker, 0) + 1 for broker in self.first.holding - now.live}
        behind = now.under_replicated - self.first.under_replicated - frozenset(moving)
        self._behind = {name: self._behind.get(name, 0) + 1 for name in behind}

    @property
    def suspects(self) -> bool:
        """Whether the last look found anything."""
        return bool(self._lost or self._behind)

    @property
    def verdict(self) -> str | None:
        """What is certainly wrong, in words."""
        lost = sorted(broker for broker, looks in self._lost.items() if looks >= LOOKS)
        late = sorted(name for name, looks in self._behind.items() if looks >= LOOKS)
        said = []
        if lost:
            said.append(f"broker{'s' if len(lost) > 1 else ''} {', '.join(map(str, lost))} lost")
        if late:
            shown = ", ".join(str(name) for name in late[:5])
            more = f" and {len(late) - 5} more" if len(late) > 5 else ""
            said.append(f"{len(late)} partitions that do not move are under-replicated: {shown}{more}")
        return "; ".join(said) or None
