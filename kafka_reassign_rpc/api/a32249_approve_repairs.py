"""ApproveRepairs: let repairs of the named brokers, or all, start that wait for approval (`self.healing.approval`). The
answer comes once that is durable. POLICY_VIOLATION with the reason if repairs are held back: then nothing is approved.
"""

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.protocol.messages import ApproveRepairsRequest, ApproveRepairsResponse
from kafka_reassign_rpc.support.turns import Work, waited


def handle(node: Node, request: ApproveRepairsRequest, ctx: RequestContext) -> Work[ApproveRepairsResponse]:
    controller = required_controller(node)
    brokers = None if request.brokers is None else frozenset(request.brokers)
    found = yield from waited(controller.approve_repairs(brokers, ctx))
    return ApproveRepairsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        approved=found.approved,
        held=found.held,
        brokers=list(found.brokers),
    )


API = Api(
    key=32249,
    name="ApproveRepairs",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(ApproveRepairsResponse),
    by_brokers=True,
)
