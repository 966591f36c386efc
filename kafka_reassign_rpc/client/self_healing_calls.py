"""Calls about failed brokers and their repairs."""

from collections.abc import Iterable

from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.settings_calls import switch
from kafka_reassign_rpc.client.vendor_calls import ask_document, do_command
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair, RepairMove
from kafka_reassign_rpc.core.settings.healing_settings import PAUSED
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.vendor_bodies import ApproveBody, HealBody, RepairAnswer
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest

NO_HEALING = (
    "The controller does not heal clusters (KIP-46): that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
)
NO_APPROVAL = (
    "The controller knows no approval of repairs: that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
)


async def healing_status(router: RequestRouter) -> HealingStatus:
    return await ask_document(router, "healing", HealingStatus, NO_HEALING)


async def heal_broker(router: RequestRouter, broker: int, dry_run: bool) -> Repair:
    body = HealBody(broker=broker, dry_run=dry_run)
    answer = await do_command(router, "heal", RepairAnswer, NO_HEALING, body, changes=not dry_run)
    return Repair(
        moves=tuple(
            RepairMove(TopicPartition(one.topic, one.partition), one.replicas, one.target) for one in answer.moves
        ),
        left_out={TopicPartition(one.topic, one.partition): one.reason for one in answer.left_out},
        bytes=answer.bytes,
        copy_ms=answer.copy_ms,
        unsized=answer.unsized,
    )


async def approve_repairs(router: RequestRouter, brokers: Iterable[int] | None) -> ApprovalOutcome:
    body = ApproveBody(brokers=None if brokers is None else frozenset(brokers))
    return await do_command(router, "approve", ApprovalOutcome, NO_APPROVAL, body)


async def set_paused(router: RequestRouter, paused: bool) -> None:
    await require(router, DescribeReassignmentsRequest, NO_HEALING)
    await switch(router, PAUSED, "true" if paused else None)
