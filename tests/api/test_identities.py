"""ListReassignments and DescribeReassignments: the identity of a move, and what is known of it (KIP-240)."""

from typing import Any

from kafka_reassign_rpc.core.errors import PolicyViolation
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest, ListReassignmentsRequest
from tests.api.ask import ask
from tests.api.model_node import ModelNode, moving, topic

NONE = 2**63 - 1


def listing(*topics: tuple[str, list[int]]) -> Any:
    one = ListReassignmentsRequest.ListReassignmentsTopic
    wanted = [one(version=0, topic=name, partition_ids=ids) for name, ids in topics]
    return ListReassignmentsRequest(version=0, timeout_ms=1, topic_partitions=wanted or None)


def description(name: str, *moves: tuple[int, int]) -> Any:
    one = DescribeReassignmentsRequest.DescribeReassignmentsTopic
    asked = [one.DescribeReassignmentsMove(version=0, partition_id=i, reassignment_id=number) for i, number in moves]
    return DescribeReassignmentsRequest(
        version=0, timeout_ms=1, topic_reassignments=[one(version=0, topic=name, reassignments=asked)]
    )


def listed(answer: Any) -> dict[tuple[str, int], int]:
    return {
        (one.topic, move.partition_id): move.reassignment_id
        for one in answer.reassignments
        for move in one.topic_reassignments
    }


def node() -> ModelNode:
    return ModelNode(topic("a", {0: moving(0), 1: moving(1)}), topic("b", 2))


async def test_240_1_all_moves_are_listed_with_their_identities() -> None:
    answer = await ask(node(), listing(), 0)
    assert (answer.error_code, listed(answer)) == (0, {("a", 0): 1000, ("a", 1): 1001})


async def test_240_1_only_those_asked_for_that_move_are_listed() -> None:
    answer = await ask(node(), listing(("a", [1]), ("b", [0])), 0)
    assert (answer.error_code, listed(answer)) == (0, {("a", 1): 1001})


async def test_240_3_what_does_not_exist_is_named_and_the_rest_is_listed_all_the_same() -> None:
    answer = await ask(node(), listing(("a", [0, 7]), ("nope", [0])), 0)
    assert answer.error_code == 3
    assert answer.error_message == "There is no partition a-7, nope-0."
    assert listed(answer) == {("a", 0): 1000}


async def test_240_3_a_server_that_is_not_the_controller_says_so() -> None:
    standing_by = node()
    standing_by.controller.active = False
    for request in (listing(), description("a", (0, 1000)), description("a")):
        assert (await ask(standing_by, request, 0)).error_code == 41


async def test_240_2_a_move_is_described_with_its_leader_its_start_and_the_brokers_of_its_target() -> None:
    answer = await ask(node(), description("a", (0, 1000)), 0)
    [found] = answer.descriptions
    assert (found.topic, found.partition_id, found.reassignment_id) == ("a", 0, 1000)
    assert (found.start_time, found.leader_id, found.leader_throttle) == (1, 1, NONE)
    assert [(one.broker_id, one.follower_throttle) for one in found.new_assigned] == [(1, NONE), (2, NONE), (4, NONE)]


async def test_236_6_asked_for_no_moves_it_says_why_none_may_start() -> None:
    guarded = node()
    nothing = DescribeReassignmentsRequest(version=0, timeout_ms=1, topic_reassignments=[])
    answer = await ask(guarded, nothing, 0)
    assert (answer.error_code, answer.descriptions, answer.closed) == (0, [], None)
    guarded.controller.guard = PolicyViolation("Not today.")
    answer = await ask(guarded, nothing, 0)
    assert (answer.error_code, answer.descriptions, answer.closed) == (0, [], "Not today.")


async def test_240_2_a_rate_counts_only_for_replicas_that_the_topic_names_and_a_broker_has_or_inherits() -> None:
    throttled = node()
    throttled.topic_configs["a"] = {
        "leader.replication.throttled.replicas": "0:1,1:2",
        "follower.replication.throttled.replicas": "*",
    }
    throttled.broker_configs |= {
        "1": {"leader.replication.throttled.rate": "500"},
        "4": {"follower.replication.throttled.rate": "700"},
        "<default>": {"follower.replication.throttled.rate": "900"},
    }
    answer = await ask(throttled, description("a", (0, 1000), (1, 1001)), 0)
    first, second = answer.descriptions
    assert (first.leader_throttle, second.leader_throttle) == (500, NONE)
    assert [(one.broker_id, one.follower_throttle) for one in first.new_assigned] == [(1, 900), (2, 900), (4, 700)]


async def test_240_3_an_identity_that_is_not_the_current_one_is_left_out_without_an_error() -> None:
    answer = await ask(node(), description("a", (0, 999), (1, 1001)), 0)
    assert answer.error_code == 0
    assert [one.reassignment_id for one in answer.descriptions] == [1001]
