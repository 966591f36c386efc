"""The state of a batch, from what a cluster shows."""

import pytest

from kafka_reassign_rpc.client import PartitionInfo, PartitionReassignment, TopicPartition
from kafka_reassign_rpc.core.kafka_errors import UnknownTopicOrPartition
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.submission.batch_state import batch_state

NAME = TopicPartition("t", 0)
BATCH = {NAME: PlanEntry("t", 0, (1, 2), (3, 4))}


def at_rest(*replicas: int) -> dict[str, object]:
    return {"t": {0: PartitionInfo(replicas[0], replicas, replicas)}}


@pytest.mark.parametrize(
    ("topics", "in_flight", "state"),
    [
        (at_rest(1, 2), {}, "done"),
        (at_rest(3, 4), {}, "not begun"),
        (at_rest(1, 2, 3, 4), {NAME: PartitionReassignment((1, 2, 3, 4), (1, 2), (3, 4))}, "moving"),
        (at_rest(1, 2, 3, 4), {}, "has the replicas [1, 2, 3, 4], the plan was made for [3, 4]"),
        (at_rest(4, 3), {}, "has the replicas [4, 3], the plan was made for [3, 4]"),
        (at_rest(3, 4), {NAME: PartitionReassignment((5, 3, 4), (5,), (3, 4))}, "moves to [5] already"),
        ({"t": {}}, {}, "there is no such partition"),
        ({"t": UnknownTopicOrPartition()}, {}, "the topic cannot be described: This server does not host"),
        ({}, {}, "the topic cannot be described: it does not exist"),
    ],
)
def test_dp_4_the_cluster_alone_shows_the_state_of_a_partition(topics, in_flight, state: str) -> None:  # type: ignore[no-untyped-def]
    found = batch_state(BATCH, topics, in_flight)
    sets = {"done": found.done, "not begun": found.not_begun, "moving": found.moving}
    assert found.is_done == (state == "done")
    if state in sets:
        assert sets.pop(state) == {NAME}
        assert found.mismatched == {}
    else:
        assert found.mismatched[NAME].startswith(state)
    assert not any(sets.values())
