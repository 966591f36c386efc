"""DoCommand: what the commands of a server take and answer."""

from inspect import isawaitable
from typing import Any

import pytest

from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.core.healing.self_healing_status import Repair, RepairMove
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.queue.holding import Selection
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_request
from tests.api.ask import PEER, ask
from tests.api.model_node import ModelNode, topic
from tests.longest_turn import tries
from tests.vendor_requests import order, told


@pytest.mark.parametrize(
    ("topics", "wanted"),
    [
        (None, None),
        ({}, {}),
        ({"a": None, "b": [3, 1, 3]}, {"a": None, "b": {1, 3}}),
        ({"a": [4, -1, 5, 2**31 - 1], "none": [0]}, {"a": {4}}),
    ],
)
async def test_dh_4_the_rate_of_all_moves_of_topics_or_of_partitions_is_asked_for(topics: Any, wanted: Any) -> None:
    node = ModelNode(topic("a", 5), topic("b", 5))
    answer = await ask(node, order("throttle", rate=7, topics=topics), 0)
    assert told(answer) == {"moving": 2, "waiting": 3, "repairs": 1}
    assert node.controller is not None
    assert node.controller.calls == [("change_rates", wanted, 7)]


async def test_dh_4_a_rate_below_0_is_refused() -> None:
    answer = await ask(ModelNode(), order("throttle", rate=-1), 0)
    assert (answer.error_code, answer.error_message) == (
        42,
        "A throttle cannot be -1 bytes/s: give a rate, or 0 for none",
    )


async def test_46_3_a_repair_is_answered_with_its_moves_and_what_has_to_stay() -> None:
    node = ModelNode()
    assert node.controller is not None
    moves = [RepairMove(TopicPartition("a", 1), (1, 3), (1, 2)), RepairMove(TopicPartition("b", 0), (3,), (2,))]
    node.controller.repair = Repair(moves, {TopicPartition("c", 4): "no live replica is in sync"}, 900)
    answer = await ask(node, order("heal", broker=3), 0)
    assert node.controller.calls == [("heal", 3, True)], "a dry run, unless it says otherwise"
    assert told(answer) == {
        "bytes": 900,
        "copy_ms": None,
        "unsized": 0,
        "moves": [
            {"topic": "a", "partition": 1, "replicas": [1, 3], "target": [1, 2]},
            {"topic": "b", "partition": 0, "replicas": [3], "target": [2]},
        ],
        "left_out": [{"topic": "c", "partition": 4, "reason": "no live replica is in sync"}],
    }


async def test_46_6_an_order_that_cannot_be_followed_is_answered_with_the_reason() -> None:
    node = ModelNode()
    assert node.controller is not None
    node.controller.raises = PolicyViolation("Nothing is healed: healing is paused.")
    answer = await ask(node, order("heal", broker=3, dry_run=False), 0)
    assert (answer.error_code, answer.error_message) == (44, "Nothing is healed: healing is paused.")
    assert answer.body == b""


async def test_46_3_and_sv_6_a_repair_of_many_partitions_is_answered_in_slices() -> None:
    node = ModelNode()
    assert node.controller is not None
    count = 50_000
    moves = [RepairMove(TopicPartition(f"t{at % 100}", at), (1, 2, 3), (1, 2, 4)) for at in range(count)]
    left_out = {TopicPartition("u", at): "no live replica is in sync" for at in range(count)}
    node.controller.repair = Repair(moves, left_out, 900)
    dispatcher = Dispatcher(node)
    frame = encode_request(order("heal", broker=3), version=0, correlation_id=7, client_id="test")[4:]
    request = decode_request(frame)

    async def answered() -> int:
        result: Any = dispatcher.handle(request, PEER)
        pieces = await result if isawaitable(result) else result
        return max(map(len, pieces))

    for measured in tries():
        async with measured:
            largest = await answered()
        assert largest < 100_000
    found = told(await ask(node, order("heal", broker=3), 0))
    assert {
        (one["topic"], one["partition"], tuple(one["replicas"]), tuple(one["target"])) for one in found["moves"]
    } == {(*move.partition, move.replicas, move.target) for move in moves}
    assert {(one["topic"], one["partition"]): one["reason"] for one in found["left_out"]} == left_out


async def test_dh_8_repairs_are_approved_of_brokers_or_of_all() -> None:
    node = ModelNode()
    assert node.controller is not None
    assert told(await ask(node, order("approve", brokers=[3, 3]), 0)) == {"approved": 4, "held": 1, "brokers": [3]}
    await ask(node, order("approve"), 0)
    assert node.controller.calls == [("approve_repairs", frozenset({3})), ("approve_repairs", None)]


async def test_dh_5_moves_are_held_and_released_by_what_all_lists_name() -> None:
    node = ModelNode()
    assert node.controller is not None
    answer = await ask(node, order("hold", topics=["a"], brokers=[1, 2], reason="disks"), 0)
    assert told(answer) == {"changed": 3, "unchanged": 2, "in_flight": 1}
    await ask(node, order("release", all=True), 0)
    selection = Selection(frozenset({"a"}), frozenset({1, 2}))
    assert node.controller.calls == [
        ("hold_moves", selection, True, "disks"),
        ("hold_moves", Selection(), False, ""),
    ]


@pytest.mark.parametrize("command", ["hold", "release"])
async def test_dh_5_a_request_that_names_no_moves_and_not_all_is_refused(command: str) -> None:
    node = ModelNode()
    for given in ({}, {"all": True, "topics": ["a"]}):
        answer = await ask(node, order(command, **given), 0)
        assert (answer.error_code, answer.error_message) == (
            42,
            "Name topics, brokers or reasons, or say that all moves of the queue are meant.",
        )
    assert node.controller is not None
    assert node.controller.calls == []
