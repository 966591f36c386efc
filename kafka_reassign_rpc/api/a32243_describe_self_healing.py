"""DescribeSelfHealing (KIP-46): failed brokers and the state of self-healing."""

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.healing.repair_cost import UNKNOWN_COST, RepairCost
from kafka_reassign_rpc.core.healing.self_healing_status import BrokerRepair, GoneBroker, HealingStatus, Lost
from kafka_reassign_rpc.protocol.messages import DescribeSelfHealingRequest, DescribeSelfHealingResponse
from kafka_reassign_rpc.support.turns import Work, waited

NEVER = UNKNOWN = -1


def handle(node: Node, _request: DescribeSelfHealingRequest, _ctx: RequestContext) -> Work[DescribeSelfHealingResponse]:
    controller = required_controller(node)
    found = yield from waited(controller.healing())
    return DescribeSelfHealingResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        interval_ms=NEVER if found.interval_ms is None else found.interval_ms,
        paused=found.paused,
        held_back=found.held_back,
        failed_brokers=[
            DescribeSelfHealingResponse.FailedBroker(
                version=0,
                broker_id=broker.broker,
                since=broker.since,
                heal_at=NEVER if broker.heal_at is None else broker.heal_at,
                replicas=broker.replicas,
                **_cost(broker.cost),
            )
            for broker in found.failed
        ],
        waiting_moves=found.waiting,
        moving_moves=found.moving,
        problems=list(found.problems),
        repairs=[
            DescribeSelfHealingResponse.BrokerRepair(
                version=0,
                broker_id=one.broker,
                waiting_moves=one.waiting,
                moving_moves=one.moving,
            )
            for one in found.repairs
        ],
        returned_brokers=[one.broker for one in found.repairs if one.is_back],
        approval_required=found.approval,
        unapproved_moves=found.unapproved,
        failed_log_dirs=[
            DescribeSelfHealingResponse.BrokerWithFailedLogDirs(
                version=0,
                broker_id=one.broker,
                log_dirs=list(one.paths),
                since=one.since,
                heal_at=NEVER if one.heal_at is None else one.heal_at,
                replicas=UNKNOWN if one.replicas is None else one.replicas,
            )
            for one in found.log_dirs
        ],
        repair_details=[
            DescribeSelfHealingResponse.RepairDetail(
                version=0, broker_id=one.broker, unapproved_moves=one.unapproved, **_cost(one.cost)
            )
            for one in found.repairs
        ],
        failed_log_dir_costs=[
            DescribeSelfHealingResponse.FailedLogDirCost(version=0, broker_id=one.broker, **_cost(one.cost))
            for one in found.log_dirs
        ],
        gone_brokers=[
            DescribeSelfHealingResponse.GoneBroker(
                version=0,
                broker_id=one.broker,
                since=UNKNOWN if one.since is None else one.since,
                repaired=one.repaired,
                awaited=one.awaited,
            )
            for one in found.gone
        ],
        fates=_fates(found),
    )


def _fates(found: HealingStatus) -> list[DescribeSelfHealingResponse.BrokerFate]:
    """Of a broker that stands in several lists, that of its loss."""
    held = {one.broker: one.held for one in found.repairs}
    every: list[Lost | BrokerRepair] = [*found.repairs, *found.gone, *found.log_dirs, *found.failed]
    told = {one.broker: one for one in every}
    return [
        DescribeSelfHealingResponse.BrokerFate(
            version=0,
            broker_id=broker,
            text=one.fate,
            command=one.command,
            unsized_copies=(one.cost or UNKNOWN_COST).unsized,
            impossible_replicas=0 if isinstance(one, BrokerRepair | GoneBroker) else one.impossible,
            held_moves=held.get(broker, 0),
        )
        for broker, one in sorted(told.items())
    ]


def _cost(found: RepairCost | None) -> dict[str, int]:
    known = found or UNKNOWN_COST
    return {
        "bytes_to_copy": UNKNOWN if known.bytes is None else known.bytes,
        "copy_ms": UNKNOWN if known.copy_ms is None else known.copy_ms,
    }


API = Api(
    key=32243,
    name="DescribeSelfHealing",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(DescribeSelfHealingResponse),
)
