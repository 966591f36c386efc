"""AlterReassignmentThrottles: another throttle for moves."""

from typing import Any

import pytest

from kafka_reassign_rpc.api.a32247_alter_reassignment_throttles import API
from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.protocol.messages import AlterReassignmentThrottlesRequest
from kafka_reassign_rpc.support.turns import in_turns
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic
from tests.longest_turn import longest_turn

Topic = AlterReassignmentThrottlesRequest.ThrottledTopic


@pytest.mark.parametrize(
    ("topics", "wanted"),
    [
        (None, None),
        ([], {}),
        ([Topic(name="a", partitions=None), Topic(name="b", partitions=[3, 1, 3])], {"a": None, "b": {1, 3}}),
        ([Topic(name="a", partitions=[1]), Topic(name="a", partitions=[2])], {"a": {1, 2}}),
        ([Topic(name="a", partitions=[1]), Topic(name="a", partitions=None)], {"a": None}),
        ([Topic(name="a", partitions=None), Topic(name="a", partitions=[1])], {"a": None}),
        ([Topic(name="a", partitions=[4, -1, 5, 2**31 - 1]), Topic(name="none", partitions=[0])], {"a": {4}}),
    ],
)
async def test_dh_4_the_rate_of_all_moves_of_topics_or_of_partitions_is_asked_for(topics: Any, wanted: Any) -> None:
    node = ModelNode(topic("a", 5), topic("b", 5))
    answer = await ask(node, AlterReassignmentThrottlesRequest(throttle=7, topics=topics), 0)
    assert (answer.error_code, answer.moving_moves, answer.waiting_moves, answer.repair_moves) == (0, 2, 3, 1)
    assert node.controller is not None
    assert node.controller.calls == [("change_rates", wanted, 7)]


async def test_dh_4_a_rate_below_0_is_refused_and_only_the_controller_answers() -> None:
    node = ModelNode()
    answer = await ask(node, AlterReassignmentThrottlesRequest(throttle=-1), 0)
    assert (answer.error_code, answer.error_message) == (
        42,
        "A throttle cannot be -1 bytes/s: give a rate, or 0 for none",
    )
    assert node.controller is not None
    node.controller.active = False
    assert (await ask(node, AlterReassignmentThrottlesRequest(throttle=1), 0)).error_code == 41


async def test_dh_4_whoever_names_a_topic_with_a_million_partitions_again_and_again_holds_up_nobody() -> None:
    """A frame of 10 MB has room for it."""
    node = ModelNode(topic("a", 5))
    topics = [Topic(name="a", partitions=list(range(1_500_000))), *[Topic(name="a", partitions=[n]) for n in range(3)]]
    request = AlterReassignmentThrottlesRequest(throttle=7, topics=topics)
    work: Any = API.handle(node, request, RequestContext(API.key, 0, 1, "test"))
    with longest_turn() as turn:
        await in_turns(work)
    assert turn.seconds < 0.02
    assert node.controller is not None
    assert node.controller.calls == [("change_rates", {"a": {0, 1, 2, 3, 4}}, 7)]
