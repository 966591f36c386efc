"""How far a batch is. Pure: the caller passes what the cluster shows.

The cluster alone shows what a batch still needs, so submit can be killed at any point and started again:

    the partition                                       its state
    has the target, no move in flight                   done
    moves to the target, or waits in the queue for it   moving
    has the expected replicas, no move in flight        not begun
    anything else, or it is deleted                     mismatched: submit begins nothing of the batch

A node may learn of the end of a move later than the controller, so submit looks at mismatched partitions again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry


@dataclass(frozen=True)
class BatchState:
    """The partitions of a batch by state; `mismatched` has the reason for each."""

    done: frozenset[TopicPartition]
    moving: frozenset[TopicPartition]
    not_begun: frozenset[TopicPartition]
    mismatched: Mapping[TopicPartition, str]

    @property
    def is_done(self) -> bool:
        return not (self.moving or self.not_begun or self.mismatched)


def batch_state(
    batch: Mapping[TopicPartition, PlanEntry],
    topics: Mapping[str, dict[int, PartitionInfo] | KafkaError],
    in_flight: Mapping[TopicPartition, PartitionReassignment],
) -> BatchState:
    """Find the state of each partition of a batch.

    topics       the partitions of the batch's topics, as the cluster describes them
    in_flight    all reassignments that the controller lists
    """
    by_state: dict[str, set[TopicPartition]] = {"done": set(), "moving": set(), "not begun": set()}
    mismatched = {}
    for name, entry in batch.items():
        state = _partition_state(entry, topics.get(entry.topic), in_flight.get(name))
        if state in by_state:
            by_state[state].add(name)
        else:
            mismatched[name] = state
    return BatchState(
        frozenset(by_state["done"]), frozenset(by_state["moving"]), frozenset(by_state["not begun"]), mismatched
    )


def _partition_state(
    entry: PlanEntry, topic: dict[int, PartitionInfo] | KafkaError | None, move: PartitionReassignment | None
) -> str:
    """The state, or why the partition does not match the plan."""
    if move is not None:
        waits_for_target = move.is_waiting and set(move.target) == set(entry.replicas)
        return (
            "moving" if waits_for_target or move.target == entry.replicas else f"moves to {list(move.target)} already"
        )
    if topic is None or isinstance(topic, KafkaError):
        return f"the topic cannot be described: {topic.message if topic is not None else 'it does not exist'}"
    if entry.partition not in topic:
        return "there is no such partition"
    replicas = topic[entry.partition].replicas
    if replicas == entry.replicas:
        return "done"
    if replicas == entry.expected_replicas:
        return "not begun"
    return f"has the replicas {list(replicas)}, the plan was made for {list(entry.expected_replicas)}"
