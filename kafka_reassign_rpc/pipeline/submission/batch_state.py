"""How far a batch is, from what the cluster shows. That alone says what a batch still needs, so submit can be killed
at any point.

the partition                                       its state
has the target, no move in flight                   done
has it, and its first leader leads, not target[0]   done, to elect
moves to the target, or waits in the queue for it   moving
has the expected replicas, no move in flight        not begun
has them with its first leader in front, no copy    not begun, reordered
anything else, deleted, or its topic created again  mismatched: submit does not begin it

A node may learn of the end of a move later than the controller, so submit checks mismatched partitions again.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry


@dataclass(frozen=True)
class BatchState:
    """`mismatched` has the reasons, `leaders` those that are known.

    reordered    those of `not_begun` with their first leader in front
    to_elect     those of `done` that their first leader still leads
    """

    done: frozenset[TopicPartition]
    moving: frozenset[TopicPartition]
    not_begun: frozenset[TopicPartition]
    mismatched: Mapping[TopicPartition, str]
    reordered: frozenset[TopicPartition] = frozenset()
    to_elect: frozenset[TopicPartition] = frozenset()
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)


def batch_state(
    batch: Mapping[TopicPartition, PlanEntry],
    topics: Mapping[str, TopicInfo],
    in_flight: Mapping[TopicPartition, PartitionReassignment],
) -> BatchState:
    """`in_flight`: all reassignments that the controller lists."""
    by_state: dict[str, set[TopicPartition]] = {"done": set(), "moving": set(), "not begun": set(), "reordered": set()}
    mismatched, leaders = {}, {}
    for name, entry in batch.items():
        topic = topics.get(entry.topic)
        state = _partition_state(entry, topic, in_flight.get(name))
        if topic is not None and entry.partition in topic.partitions:
            leaders[name] = topic.partitions[entry.partition].leader
        if state in by_state:
            by_state[state].add(name)
        else:
            mismatched[name] = state
    done = frozenset(by_state["done"])
    return BatchState(
        done,
        frozenset(by_state["moving"]),
        frozenset(by_state["not begun"] | by_state["reordered"]),
        mismatched,
        frozenset(by_state["reordered"]),
        frozenset(name for name in done if _is_led_by_first_leader(batch[name], leaders[name])),
        leaders,
    )


def _is_led_by_first_leader(entry: PlanEntry, leader: int) -> bool:
    return entry.first_leader >= 0 and leader == entry.first_leader and leader != entry.replicas[0]


def _partition_state(entry: PlanEntry, topic: TopicInfo | None, move: PartitionReassignment | None) -> str:
    """The state, or why the partition does not match the plan."""
    if why := made_again(entry.topic_id, topic):
        return why
    if move is not None:
        if entry.first_leader >= 0 and move.target == entry.reordered and not move.adding_replicas:
            return "reordered"  # the next moment it is
        waits_for_target = move.is_waiting and set(move.target) == set(entry.replicas)
        return (
            "moving" if waits_for_target or move.target == entry.replicas else f"moves to {list(move.target)} already"
        )
    if topic is None or topic.error is not None:
        why = "it does not exist" if topic is None or topic.error is None else topic.error.message
        return f"the topic cannot be described: {why}"
    if entry.partition not in topic.partitions:
        return "there is no such partition"
    replicas = topic.partitions[entry.partition].replicas
    if replicas == entry.replicas:
        return "done"
    if replicas == entry.reordered:
        return "reordered" if entry.first_leader >= 0 else "not begun"
    if replicas == entry.expected_replicas:
        return "not begun"
    return f"has the replicas {list(replicas)}, the plan was made for {list(entry.expected_replicas)}"


def misfit_lines(batch: Mapping[TopicPartition, PlanEntry], found: BatchState, live: Set[int]) -> list[str]:
    """Names also moves that lack a live broker."""
    gone = {name: missing_broker(batch[name], live) for name in sorted(found.not_begun)}
    return [f"{name}: {why}" for name, why in (*sorted(found.mismatched.items()), *gone.items()) if why]


def made_again(planned_id: str, topic: TopicInfo | None) -> str:
    """Why a topic is not that of the plan, or "". `planned_id`: in the snapshot; "": not known."""
    if topic is None or not planned_id or topic.topic_id in ("", planned_id):
        return ""
    return f"the topic was deleted and made again: its id is {topic.topic_id}, in the snapshot {planned_id}"


def missing_broker(entry: PlanEntry, live: Set[int]) -> str:
    """Why a move cannot begin, or ""."""
    gone = [broker for broker in entry.replicas if broker not in live]
    return f"broker {gone[0]} is not live" if gone else ""
