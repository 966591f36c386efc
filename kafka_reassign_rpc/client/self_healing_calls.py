from collections.abc import Iterable, Mapping
from typing import Any

from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.client.settings_calls import switch
from kafka_reassign_rpc.core.healing.repair_cost import RepairCost
from kafka_reassign_rpc.core.healing.self_healing_status import (
    ApprovalOutcome,
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    LogDirFailure,
    Repair,
    RepairMove,
)
from kafka_reassign_rpc.core.settings.healing_settings import PAUSED
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.documents import known
from kafka_reassign_rpc.protocol.messages import (
    ApproveRepairsRequest,
    DescribeSelfHealingRequest,
    HealBrokerRequest,
)

NO_HEALING = (
    "The controller does not heal clusters (KIP-46): that needs a kafka-reassign-rpc server. This request was not sent."
)
NO_APPROVAL = (
    "The controller knows no approval of repairs: that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
)


async def healing_status(router: RequestRouter) -> HealingStatus:
    await require(router, DescribeSelfHealingRequest, NO_HEALING)
    answer = await router.ask_controller(always(DescribeSelfHealingRequest()), DescribeSelfHealingRequest)
    raise_for(answer.error_code, answer.error_message)
    returned = set(answer.returned_brokers)
    fates = {one.broker_id: one for one in answer.fates}
    details = {one.broker_id: one for one in answer.repair_details}
    costs = {one.broker_id: one for one in answer.failed_log_dir_costs}
    return HealingStatus(
        interval_ms=known(answer.interval_ms),
        paused=answer.paused,
        held_back=answer.held_back,
        failed=tuple(
            FailedBroker(one.broker_id, one.since, known(one.heal_at), one.replicas, **_more(one, fates))
            for one in answer.failed_brokers
        ),
        waiting=answer.waiting_moves,
        moving=answer.moving_moves,
        problems=tuple(answer.problems),
        repairs=tuple(
            _repair(one, one.broker_id in returned, details.get(one.broker_id), fates.get(one.broker_id))
            for one in answer.repairs
        ),
        approval=answer.approval_required,
        unapproved=answer.unapproved_moves,
        log_dirs=tuple(
            LogDirFailure(
                one.broker_id,
                tuple(one.log_dirs),
                one.since,
                known(one.heal_at),
                known(one.replicas),
                **_more(costs.get(one.broker_id, one), fates),
            )
            for one in answer.failed_log_dirs
        ),
        gone=tuple(
            GoneBroker(
                one.broker_id,
                known(one.since),
                one.repaired,
                one.awaited,
                **_told(details.get(one.broker_id), fates.get(one.broker_id)),
            )
            for one in answer.gone_brokers
        ),
    )


def _more(told: Any, fates: Mapping[int, Any]) -> dict[str, Any]:
    fate = fates.get(told.broker_id)
    return {**_told(told, fate), "impossible": 0 if fate is None else fate.impossible_replicas}


def _told(costs: Any, fate: Any) -> dict[str, Any]:
    """`costs`, `fate`: None from a server that does not tell them."""
    cost = None
    if costs is not None and hasattr(costs, "bytes_to_copy"):
        unsized = 0 if fate is None else fate.unsized_copies
        cost = RepairCost(known(costs.bytes_to_copy), known(costs.copy_ms), unsized)
    return {"cost": cost} if fate is None else {"cost": cost, "fate": fate.text, "command": fate.command}


def _repair(told: Any, is_back: bool, detail: Any, fate: Any) -> BrokerRepair:
    """`detail`, `fate`: None from an older server."""
    return BrokerRepair(
        told.broker_id,
        told.waiting_moves,
        told.moving_moves,
        is_back,
        0 if detail is None else detail.unapproved_moves,
        held=0 if fate is None else fate.held_moves,
        **_told(detail, fate),
    )


async def heal_broker(router: RequestRouter, broker: int, dry_run: bool) -> Repair:
    await require(router, HealBrokerRequest, NO_HEALING)
    request = always(HealBrokerRequest(broker_id=broker, dry_run=dry_run))
    answer = await router.ask_controller(request, HealBrokerRequest, changes=not dry_run)
    raise_for(answer.error_code, answer.error_message)
    return Repair(
        moves=tuple(
            RepairMove(TopicPartition(topic.name, one.partition_index), tuple(one.replicas), tuple(one.target))
            for topic in answer.topics
            for one in topic.partitions
        ),
        left_out={TopicPartition(one.topic, one.partition_index): one.reason for one in answer.left_out},
        bytes=known(answer.bytes_to_copy),
        copy_ms=known(answer.copy_ms),
        unsized=answer.unsized_copies,
    )


async def approve_repairs(router: RequestRouter, brokers: Iterable[int] | None) -> ApprovalOutcome:
    await require(router, ApproveRepairsRequest, NO_APPROVAL)
    request = ApproveRepairsRequest(brokers=None if brokers is None else list(brokers))
    answer = await router.ask_controller(always(request), ApproveRepairsRequest, changes=True)
    raise_for(answer.error_code, answer.error_message)
    return ApprovalOutcome(answer.approved, answer.held, tuple(answer.brokers))


async def set_paused(router: RequestRouter, paused: bool) -> None:
    await require(router, DescribeSelfHealingRequest, NO_HEALING)
    await switch(router, PAUSED, "true" if paused else None)
