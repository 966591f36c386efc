"""The state of a batch, from what a cluster shows."""

from kafka_reassign_rpc.client import PartitionInfo, PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.core.kafka_errors import UnknownTopicOrPartition
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.submission.batch_state import batch_state
from tests.tables import for_each

NAME = TopicPartition("t", 0)
BATCH = {NAME: PlanEntry("t", 0, (1, 2), (3, 4))}


def at_rest(*replicas: int, leader: int | None = None, topic_id: str = "") -> dict[str, TopicInfo]:
    partition = PartitionInfo(replicas[0] if leader is None else leader, replicas, replicas)
    return {"t": TopicInfo("t", {0: partition}, None, topic_id)}


@for_each(
    ("topics", "in_flight", "state"),
    [
        (at_rest(1, 2), {}, "done"),
        (at_rest(3, 4), {}, "not begun"),
        (at_rest(1, 2, 3, 4), {NAME: PartitionReassignment((1, 2, 3, 4), (1, 2), (3, 4))}, "moving"),
        (at_rest(1, 2, 3, 4), {}, "has the replicas [1, 2, 3, 4], the plan was made for [3, 4]"),
        (at_rest(4, 3), {}, "has the replicas [4, 3], the plan was made for [3, 4]"),
        (at_rest(3, 4), {NAME: PartitionReassignment((5, 3, 4), (5,), (3, 4))}, "moves to [5] already"),
        ({"t": TopicInfo("t", {}, None)}, {}, "there is no such partition"),
        (
            {"t": TopicInfo("t", {}, UnknownTopicOrPartition())},
            {},
            "the topic cannot be described: This server does not host",
        ),
        ({}, {}, "the topic cannot be described: it does not exist"),
    ],
)
def test_dp_4_the_cluster_alone_shows_the_state_of_a_partition(topics, in_flight, state: str) -> None:  # type: ignore[no-untyped-def]
    found = batch_state(BATCH, topics, in_flight)
    sets = {"done": found.done, "not begun": found.not_begun, "moving": found.moving}
    if state in sets:
        assert sets.pop(state) == {NAME}
        assert found.mismatched == {}
    else:
        assert found.mismatched[NAME].startswith(state)
    assert not any(sets.values())


@for_each(("planned", "shown", "fits"), [("A", "A", True), ("A", "B", False), ("", "B", True), ("A", "", True)])
@for_each("replicas", [(1, 2), (3, 4)])
def test_dp_4_a_topic_that_was_made_again_is_not_the_one_of_the_plan(
    planned: str, shown: str, fits: bool, replicas: tuple[int, ...]
) -> None:
    batch = {NAME: PlanEntry("t", 0, (1, 2), (3, 4), topic_id=planned)}
    found = batch_state(batch, at_rest(*replicas, topic_id=shown), {})
    if fits:
        assert found.done | found.not_begun == {NAME}
    else:
        assert found.mismatched == {NAME: "the topic was deleted and made again: its id is B, in the snapshot A"}


@for_each(
    ("first_leader", "leader", "is_left"),
    [
        (3, 3, True),
        (3, 1, False),  # somebody had it elected
        (3, 2, False),  # not by the plan: somebody else let it lead
        (3, -1, False),
        (1, 1, False),
        (-1, 3, False),  # the plan leaves leadership alone
        (-1, -1, False),
        (4, 1, False),
    ],
)
def test_dp_7_an_election_is_left_where_the_plans_first_leader_leads_and_another_is_the_first_of_the_target(
    first_leader: int, leader: int, is_left: bool
) -> None:
    batch = {NAME: PlanEntry("t", 0, (1, 2, 3), (4, 1, 3), first_leader)}
    found = batch_state(batch, at_rest(1, 2, 3, leader=leader), {})
    assert found.done == {NAME}
    assert found.to_elect == ({NAME} if is_left else frozenset())
    before = batch_state(batch, at_rest(*batch[NAME].reordered, leader=leader), {})
    assert (before.done, before.to_elect) == (frozenset(), frozenset())
