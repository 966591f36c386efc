"""DescribeSelfHealing and HealBroker: failed brokers, and an operator's order to heal one."""

import asyncio
from inspect import isawaitable
from typing import Any

import pytest

from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.core.healing.repair_cost import RepairCost
from kafka_reassign_rpc.core.healing.self_healing_status import (
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    LogDirFailure,
    Repair,
    RepairMove,
)
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import NoAnswer, decode_request, encode_request, encode_response
from kafka_reassign_rpc.protocol.messages import DescribeSelfHealingRequest, HealBrokerRequest
from tests.api.ask import PEER, ask
from tests.api.model_node import ModelNode
from tests.longest_turn import longest_turn


async def test_46_6_lost_brokers_are_shown_with_their_times_and_with_what_holds_repairs_back() -> None:
    node = ModelNode()
    assert node.controller is not None
    failed = (FailedBroker(3, 1000, 61_000, 7), FailedBroker(4, 2000, None, 1))
    repairs = (BrokerRepair(8, waiting=5, moving=6, is_back=True, unapproved=4, cost=RepairCost(900, None)),)
    disks = [LogDirFailure(9, ("/d",), 1000, None, 2, RepairCost(70, 8)), LogDirFailure(10, (), 1000, None, None)]
    node.controller.health = HealingStatus(
        60_000, True, "healing is paused", failed, 5, 6, ["no rack"], repairs, log_dirs=disks,
        gone=[GoneBroker(11, None, 7, 8), GoneBroker(12, 900, 0, 1)],
    )  # fmt: skip
    answer = await ask(node, DescribeSelfHealingRequest(version=0), 0)
    assert (answer.error_code, answer.interval_ms, answer.paused, answer.held_back) == (
        0,
        60_000,
        True,
        "healing is paused",
    )
    assert [(one.broker_id, one.since, one.heal_at, one.replicas) for one in answer.failed_brokers] == [
        (3, 1000, 61_000, 7),
        (4, 2000, -1, 1),
    ]
    assert [(one.broker_id, one.waiting_moves, one.moving_moves) for one in answer.repairs] == [(8, 5, 6)]
    assert list(answer.returned_brokers) == [8]
    [more] = answer.repair_details
    assert (more.broker_id, more.unapproved_moves, more.bytes_to_copy, more.copy_ms) == (8, 4, 900, -1)
    assert [(one.broker_id, one.bytes_to_copy, one.copy_ms) for one in answer.failed_log_dir_costs] == [
        (9, 70, 8),
        (10, -1, -1),
    ]
    gone = [(one.broker_id, one.since, one.repaired, one.awaited) for one in answer.gone_brokers]
    assert gone == [(11, -1, 7, 8), (12, 900, 0, 1)]
    assert (answer.waiting_moves, answer.moving_moves, list(answer.problems)) == (5, 6, ["no rack"])


async def test_46_3_a_repair_is_answered_by_topic_with_what_has_to_stay() -> None:
    node = ModelNode()
    assert node.controller is not None
    moves = [
        RepairMove(TopicPartition("a", 1), (1, 3), (1, 2)),
        RepairMove(TopicPartition("b", 0), (3,), (2,)),
        RepairMove(TopicPartition("a", 0), (3, 2), (1, 2)),
    ]
    node.controller.repair = Repair(moves, {TopicPartition("c", 4): "no live replica is in sync"}, 900)
    answer = await ask(node, HealBrokerRequest(version=0, broker_id=3, dry_run=True), 0)
    assert node.controller.calls == [("heal", 3, True)]
    assert [
        (topic.name, [(one.partition_index, list(one.replicas), list(one.target)) for one in topic.partitions])
        for topic in answer.topics
    ] == [("a", [(1, [1, 3], [1, 2]), (0, [3, 2], [1, 2])]), ("b", [(0, [3], [2])])]
    assert [(one.topic, one.partition_index, one.reason) for one in answer.left_out] == [
        ("c", 4, "no live replica is in sync")
    ]
    assert (answer.error_code, answer.bytes_to_copy) == (0, 900)


async def test_46_6_an_order_that_cannot_be_followed_is_answered_with_the_reason() -> None:
    node = ModelNode()
    assert node.controller is not None
    node.controller.raises = PolicyViolation("Nothing is healed: healing is paused.")
    answer = await ask(node, HealBrokerRequest(version=0, broker_id=3, dry_run=False), 0)
    assert (answer.error_code, answer.error_message) == (44, "Nothing is healed: healing is paused.")
    assert (answer.bytes_to_copy, list(answer.topics), list(answer.left_out)) == (-1, [], [])


async def test_46_only_the_controller_answers_about_failed_brokers() -> None:
    node = ModelNode()
    assert node.controller is not None
    node.controller.active = False
    assert (await ask(node, DescribeSelfHealingRequest(version=0), 0)).error_code == 41
    assert (await ask(node, HealBrokerRequest(version=0, broker_id=3, dry_run=True), 0)).error_code == 41


@pytest.mark.long
async def test_46_3_and_sv_6_a_repair_of_many_partitions_is_answered_in_slices() -> None:
    node = ModelNode()
    assert node.controller is not None
    count = 30_000
    moves = [RepairMove(TopicPartition(f"t{at % 100}", at), (1, 2, 3), (1, 2, 4)) for at in range(count)]
    left_out = {TopicPartition("u", at): "no live replica is in sync" for at in range(count)}
    node.controller.repair = Repair(moves, left_out, 900)
    dispatcher = Dispatcher(node)
    request = decode_request(
        encode_request(
            HealBrokerRequest(version=0, broker_id=3, dry_run=True), version=0, correlation_id=7, client_id="test"
        )[4:]
    )
    with longest_turn() as turn:
        await asyncio.create_task(answered(dispatcher, request))
    assert turn.seconds < 0.04, "in one go it takes 0.2 s"
    answer = await ask(node, HealBrokerRequest(version=0, broker_id=3, dry_run=True), 0)
    assert {
        (topic.name, one.partition_index, tuple(one.replicas), tuple(one.target))
        for topic in answer.topics
        for one in topic.partitions
    } == {(move.partition.topic, move.partition.partition, move.replicas, move.target) for move in moves}
    assert {(one.topic, one.partition_index): one.reason for one in answer.left_out} == left_out


async def answered(dispatcher: Dispatcher, request: Any) -> None:
    """The node has the bytes of its answer."""
    result = dispatcher.handle(request, PEER)
    answer = await result if isawaitable(result) else result
    assert not isinstance(answer, NoAnswer)
    if not isinstance(answer, list | bytes):
        encode_response(answer, version=0, correlation_id=7)
