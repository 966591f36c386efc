"""ListReassignments and DescribeReassignments: the identities of moves, and their descriptions (KIP-240)."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.api.a32241_describe_reassignments import (
    CacheKey,
    Described,
    DescriptionFragments,
    encode_description,
)
from kafka_reassign_rpc.core.reassignment.move_progress import MoveProgress
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, RPC, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
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


# ---------------------------------------------------------------------------------------------------- progress

INT64 = st.integers(0, 2**62)
OR_UNKNOWN = st.none() | st.integers(0, 2**62)
BROKERS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True)


def or_unknown(figure: int | None) -> int:
    return -1 if figure is None else figure


@st.composite
def described(draw: st.DrawFn) -> tuple[Partition, MoveProgress, WaitingMove | None]:
    target = tuple(draw(BROKERS))
    adding = tuple(draw(st.sets(st.sampled_from(target))))
    route, reason = draw(st.sampled_from([RPC, QUEUE, HEAL])), draw(st.text(max_size=200))
    move = MoveRecord(MoveTerms(target, route, reason), (0,), draw(INT64), draw(INT64))
    figures = MoveProgress(
        draw(OR_UNKNOWN),
        {broker: draw(INT64) for broker in adding},
        draw(OR_UNKNOWN),
        draw(OR_UNKNOWN),
        draw(st.none() | st.text(max_size=200)),
        waits_for=draw(st.none() | st.text(min_size=1, max_size=200)),
    )
    waiting = None
    if draw(st.booleans()):
        routes = st.sampled_from([RPC, QUEUE, HEAL])
        waiting = WaitingMove(MoveTerms(tuple(draw(BROKERS)), draw(routes), draw(st.text(max_size=200))))
    return Partition(target, adding=adding, leader=draw(st.sampled_from(target)), move=move), figures, waiting


@pytest.mark.long
@given(name=st.text(min_size=1, max_size=200), index=st.integers(0, 2**31 - 1), what=described())
def test_240_6_a_description_has_the_bytes_that_the_codec_writes(
    name: str, index: int, what: tuple[Partition, MoveProgress, WaitingMove | None]
) -> None:
    partition, figures, waiting = what
    kind = DescribeReassignmentsResponse.ReassignmentDescription
    move = partition.move
    assert move is not None
    description = kind(
        version=0,
        reassignment_id=or_unknown(move.id),
        start_time=or_unknown(move.started),
        leader_id=partition.leader,
        leader_throttle=NONE,
        new_assigned=[
            kind.NewlyAssignedReplica(
                version=0, broker_id=broker, follower_throttle=NONE, copied_bytes=figures.copied.get(broker, -1)
            )
            for broker in move.terms.target
        ],
        topic=name,
        partition_id=index,
        total_bytes=or_unknown(figures.total),
        remaining_ms=or_unknown(figures.remaining_ms),
        stall_reason=figures.stalled,
        rate=or_unknown(figures.rate),
        route=move.terms.route,
        reason=move.terms.reason,
        waiting_target=None if waiting is None else list(waiting.terms.target),
        waiting_route=RPC if waiting is None else waiting.terms.route,
        waiting_reason="" if waiting is None else waiting.terms.reason,
        waits_for=figures.waits_for or "",
    )
    body = DescribeReassignmentsResponse(
        version=0, throttle_time_ms=0, error_code=0, error_message=None, descriptions=[description]
    )
    throttles = TopicThrottles(Cluster(), name)
    assert encode_description(name, index, partition, throttles, figures, waiting) in encode_body(body, version=0)


def every_move() -> Any:
    return DescribeReassignmentsRequest(version=0, timeout_ms=1, topic_reassignments=None)


async def test_240_6_all_moves_are_described_with_how_far_they_are() -> None:
    here = node()
    here.controller.figures["a", 1] = MoveProgress(100, {4: 40}, 7, 9000, "broker 4 is dead", waits_for="others")
    first, second = (await ask(here, every_move(), 0)).descriptions
    assert [(one.topic, one.partition_id, one.reassignment_id) for one in (first, second)] == [
        ("a", 0, 1000),
        ("a", 1, 1001),
    ]
    assert (first.total_bytes, first.remaining_ms, first.rate, first.stall_reason) == (-1, -1, -1, None)
    assert (second.total_bytes, second.remaining_ms, second.rate) == (100, 9000, 7)
    assert (second.stall_reason, second.waits_for, first.waits_for) == ("broker 4 is dead", "others", "")
    assert [(one.broker_id, one.copied_bytes) for one in second.new_assigned] == [(1, -1), (2, -1), (4, 40)]


async def test_236_13_a_move_that_waits_is_told_with_the_one_in_flight_of_its_partition_while_it_waits() -> None:
    here, everything = node(), every_move()

    async def waiting(request: Any = everything) -> dict[int, list[int] | None]:
        return {one.partition_id: one.waiting_target for one in (await ask(here, request, 0)).descriptions}

    assert await waiting() == {0: None, 1: None}
    here.controller.waiting["a"] = {1: WaitingMove(MoveTerms((5, 6), QUEUE, "why"))}
    assert await waiting() == {0: None, 1: [5, 6]}
    assert await waiting(description("a", (1, 1001))) == {1: [5, 6]}
    [_, second] = (await ask(here, everything, 0)).descriptions
    assert (second.reason, second.waiting_route, second.waiting_reason) == ("", QUEUE, "why")
    here.controller.waiting["a"] = {1: WaitingMove(MoveTerms((7,)))}
    assert await waiting() == {0: None, 1: [7]}
    del here.controller.waiting["a"]
    assert await waiting() == {0: None, 1: None}


async def test_240_6_a_move_without_an_identity_yet_is_not_described_among_all() -> None:
    unrecorded = replace(moving(0), move=MoveRecord(MoveTerms((1, 2, 4)), (1, 2, 3)))
    answer = await ask(ModelNode(topic("a", {0: unrecorded, 1: moving(1)})), every_move(), 0)
    assert [one.partition_id for one in answer.descriptions] == [1]


async def test_240_6_ten_thousand_moves_are_described_and_a_change_of_any_kind_is_seen() -> None:
    here = ModelNode(topic("many", {index: moving(index) for index in range(10_000)}))
    assert [one.partition_id for one in (await ask(here, every_move(), 0)).descriptions] == list(range(10_000))
    here.controller.figures["many", 7] = MoveProgress(100, {4: 40})
    here.controller.sampled += 1
    put_partition(Cluster(), here.known["many"], 8, replace(moving(8), leader=2))
    here.topic_configs["many"] = {"leader.replication.throttled.replicas": "*"}
    here.broker_configs["1"] = {"leader.replication.throttled.rate": "500"}
    again = (await ask(here, every_move(), 0)).descriptions
    assert again[7].total_bytes == 100
    assert [(one.leader_id, one.leader_throttle) for one in again[7:9]] == [(1, 500), (2, NONE)]


def test_240_6_a_description_is_kept_while_nothing_changes() -> None:
    fragments, here, figures = DescriptionFragments(), Cluster(topic_configs={"t": {}}), MoveProgress(1, {4: 1})
    value = moving(0)

    def made(value: Partition = value, figures: MoveProgress = figures) -> bytes:
        return fragments.description("t", 0, value, TopicThrottles(here, "t"), figures)

    first = made()
    assert made() is first
    assert made(figures=replace(figures)) is not first
    kept = made()
    here.broker_configs["1"] = {}
    assert made() is not kept
    fragments.keep(())
    assert made() == first


def test_240_6_the_descriptions_of_a_topic_are_kept_while_nothing_changes() -> None:
    fragments, throttles, found = DescriptionFragments(), TopicThrottles(Cluster(), "t"), Described(2, b"two of them")
    fragments.put_topic("t", CacheKey(5, 1, throttles), found)
    assert fragments.of_topic("t", CacheKey(5, 1, throttles)) is found
    for changed in (
        CacheKey(6, 1, throttles),
        CacheKey(5, 2, throttles),
        CacheKey(5, 1, TopicThrottles(Cluster(), "t")),
    ):
        assert fragments.of_topic("t", changed) is None
    fragments.keep(())
    assert fragments.of_topic("t", CacheKey(5, 1, throttles)) is None
