"""ListReassignments and DescribeReassignments: the identities of moves, and their descriptions (KIP-240)."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.api.a32241_describe_reassignments import encode_description
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.core.writers.topic_writes import put_partition
from kafka_reassign_rpc.protocol.frame_codec import encode_body
from kafka_reassign_rpc.protocol.messages import (
    DescribeReassignmentsRequest,
    DescribeReassignmentsResponse,
    ListReassignmentsRequest,
)
from tests.api.ask import ask
from tests.api.model_node import ModelNode, moving, topic
from tests.python_client.move_documents import move_document

NONE = 2**63 - 1


def listing(*topics: tuple[str, list[int]]) -> Any:
    one = ListReassignmentsRequest.ListReassignmentsTopic
    wanted = [one(version=0, topic=name, partition_ids=ids) for name, ids in topics]
    return ListReassignmentsRequest(version=0, timeout_ms=1, topic_partitions=wanted or None)


def description(name: str, *moves: tuple[int, int]) -> Any:
    return descriptions((name, moves))


def descriptions(*topics: tuple[str, Sequence[tuple[int, int]]]) -> Any:
    one = DescribeReassignmentsRequest.DescribeReassignmentsTopic
    move = one.DescribeReassignmentsMove
    asked = [
        one(
            version=0,
            topic=name,
            reassignments=[move(version=0, partition_id=index, reassignment_id=number) for index, number in moves],
        )
        for name, moves in topics
    ]
    return DescribeReassignmentsRequest(version=0, timeout_ms=1, topic_reassignments=asked)


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


async def test_240_3_what_does_not_exist_is_named_and_the_rest_is_listed_anyway() -> None:
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


async def test_240_3_a_topic_or_a_partition_named_again_adds_to_the_moves_that_are_asked_for() -> None:
    for asked in (
        descriptions(("a", [(0, 1000)]), ("a", [(1, 1001)])),
        descriptions(("a", [(0, 1000), (0, 5), (1, 1001)])),
        descriptions(("a", [(0, 5), (0, 1000)]), ("a", [(1, 1001), (0, 1000)])),
    ):
        answer = await ask(node(), asked, 0)
        assert [(one.partition_id, one.reassignment_id) for one in answer.descriptions] == [(0, 1000), (1, 1001)]


async def test_240_1_descriptions_come_in_the_order_of_the_request() -> None:
    here = ModelNode(topic("a", {index: moving(index) for index in range(3)}), topic("b", {0: moving(0)}))
    asked = descriptions(("b", [(0, 1000)]), ("a", [(2, 1002), (0, 1000)]), ("b", [(9, 1)]), ("a", [(1, 1001)]))
    answer = await ask(here, asked, 0)
    assert [(one.topic, one.partition_id) for one in answer.descriptions] == [("b", 0), ("a", 2), ("a", 0), ("a", 1)]


INT64 = st.integers(0, 2**62)
BROKERS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True).map(tuple)


@pytest.mark.long
@given(
    name=st.text(min_size=1, max_size=200), index=st.integers(0, 2**31 - 1), target=BROKERS, number=INT64, since=INT64
)
def test_240_1_a_description_has_the_bytes_that_the_codec_writes(
    name: str, index: int, target: tuple[int, ...], number: int, since: int
) -> None:
    kind = DescribeReassignmentsResponse.ReassignmentDescription
    description = kind(
        version=0,
        reassignment_id=number,
        start_time=since,
        leader_id=target[-1],
        leader_throttle=NONE,
        new_assigned=[kind.NewlyAssignedReplica(version=0, broker_id=one, follower_throttle=NONE) for one in target],
        topic=name,
        partition_id=index,
    )
    body = DescribeReassignmentsResponse(
        version=0, throttle_time_ms=0, error_code=0, error_message=None, descriptions=[description]
    )
    move = replace(move_document((name, index)), id=number, target=target, leader=target[-1], since=since)
    assert encode_description(move, TopicThrottles(Cluster(), name)) in encode_body(body, version=0)


async def test_240_1_what_is_not_known_of_a_move_is_minus_one_in_its_description() -> None:
    unled = replace(moving(0), leader=-1, move=MoveRecord(MoveTerms((1, 2, 4)), (1, 2, 3), 1000))
    [found] = (await ask(ModelNode(topic("a", {0: unled})), every_move(), 0)).descriptions
    assert (found.leader_id, found.start_time, found.leader_throttle) == (-1, -1, NONE)


async def test_240_1_the_target_of_a_description_is_whole_however_long_it_is() -> None:
    target = tuple(range(300))
    wide = replace(
        moving(0), replicas=target, adding=target[2:], removing=(), move=MoveRecord(MoveTerms(target), (1,), 1000)
    )
    [found] = (await ask(ModelNode(topic("a", {0: wide})), every_move(), 0)).descriptions
    assert tuple(one.broker_id for one in found.new_assigned) == target


def every_move() -> Any:
    return DescribeReassignmentsRequest(version=0, timeout_ms=1, topic_reassignments=None)


async def test_240_1_a_move_without_an_identity_yet_is_not_described_among_all() -> None:
    unrecorded = replace(moving(0), move=MoveRecord(MoveTerms((1, 2, 4)), (1, 2, 3)))
    answer = await ask(ModelNode(topic("a", {0: unrecorded, 1: moving(1)})), every_move(), 0)
    assert [one.partition_id for one in answer.descriptions] == [1]


async def test_240_1_ten_thousand_moves_are_described_as_they_are_now() -> None:
    here = ModelNode(topic("many", {index: moving(index) for index in range(10_000)}))
    assert [one.partition_id for one in (await ask(here, every_move(), 0)).descriptions] == list(range(10_000))
    put_partition(Cluster(), here.known["many"], 8, replace(moving(8), leader=2))
    here.topic_configs["many"] = {"leader.replication.throttled.replicas": "*"}
    here.broker_configs["1"] = {"leader.replication.throttled.rate": "500"}
    again = (await ask(here, every_move(), 0)).descriptions
    assert [(one.leader_id, one.leader_throttle) for one in again[7:9]] == [(1, 500), (2, NONE)]
