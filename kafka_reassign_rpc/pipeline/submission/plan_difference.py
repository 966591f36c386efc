"""A plan compared with the cluster now."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from kafka_reassign_rpc.client import PartitionReassignment, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.plans.move_list import ListedMove
from kafka_reassign_rpc.pipeline.snapshots import cluster_look
from kafka_reassign_rpc.pipeline.submission.batch_state import batch_state, missing_broker
from kafka_reassign_rpc.support.counted import agreeing

_MOVES = 1000


class MoveState(StrEnum):
    """MOVING includes moves in the queue."""

    DONE = "done"
    MOVING = "moving"
    TO_BEGIN = "to-begin"
    CHANGED = "changed"


class ComparedMove(NamedTuple):
    move: ListedMove
    state: MoveState
    why: str = ""

    @property
    def text(self) -> str:
        return f"does not fit: {self.why}" if self.why else self.state.replace("-", " ")


class ClusterNow(NamedTuple):
    topics: Mapping[str, TopicInfo]
    in_flight: Mapping[TopicPartition, PartitionReassignment]
    live: frozenset[int]


def look(client: ReassignmentClient, cluster_id: str, topics: Collection[str]) -> ClusterNow:
    """Raises BadInput for another cluster, KafkaError."""
    everything, moves, _ = cluster_look.look(client)
    if everything.cluster_id != cluster_id:
        raise BadInput(f"the plan is for cluster {cluster_id}, this is cluster {everything.cluster_id}")
    live = frozenset(node.id for node in everything.nodes)
    return ClusterNow({topic.name: topic for topic in everything.topics if topic.name in topics}, moves, live)


def compare(
    moves: Iterable[ListedMove], topic_ids: Mapping[str, str], now: ClusterNow, kinds: Counter[MoveState]
) -> Iterator[ComparedMove]:
    """In order; `kinds` counts by state. `topic_ids`: the plan's; a topic with another id is another topic."""
    left = iter(moves)
    while part := list(islice(left, _MOVES)):
        batch = {TopicPartition(one.topic, one.partition): _entry(one, topic_ids) for one in part}
        found = batch_state(batch, now.topics, now.in_flight)
        for one in part:
            name = TopicPartition(one.topic, one.partition)
            if name in found.mismatched:
                state, why = MoveState.CHANGED, found.mismatched[name]
            elif name in found.not_begun:
                why = missing_broker(batch[name], now.live)
                state = MoveState.CHANGED if why else MoveState.TO_BEGIN
            else:
                state, why = MoveState.MOVING if name in found.moving else MoveState.DONE, ""
            kinds[state] += 1
            yield ComparedMove(one, state, why)


def _entry(move: ListedMove, topic_ids: Mapping[str, str]) -> PlanEntry:
    target, expected = tuple(move.to_replicas), tuple(move.from_replicas)
    first = -1 if move.first_leader is None else move.first_leader
    return PlanEntry(move.topic, move.partition, target, expected, first, topic_ids.get(move.topic, ""))


def difference_text(kinds: Mapping[MoveState, int]) -> str:
    """`10 done, 3 moving, 4 to begin, 1 does not fit`"""
    changed = kinds.get(MoveState.CHANGED, 0)
    parts = [
        f"{kinds.get(state, 0)} {state.replace('-', ' ')}" for state in MoveState if state is not MoveState.CHANGED
    ]
    return ", ".join([*parts, f"{changed} {agreeing(changed, 'do')} not fit"])
