"""MoveServerSettings out of the brokers' default configs into `/admin/reassignment_settings`, in one transaction.

A setting that is there already keeps its value, which holds anyway. Every server answers, with INVALID_CONFIG if either
znode cannot be read, and with an empty answer if there is nothing to move.
"""

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.protocol.messages import MoveServerSettingsRequest, MoveServerSettingsResponse
from kafka_reassign_rpc.support.turns import Work, waited

_Setting = MoveServerSettingsResponse.OldSetting


def handle(node: Node, _request: MoveServerSettingsRequest, ctx: RequestContext) -> Work[MoveServerSettingsResponse]:
    if node.settings is None:
        raise InvalidRequest("This node is no kafka-reassign-rpc server.")
    found = yield from waited(node.settings.move(ctx.requester))
    values = [(name, value, True) for name, value in found.moved.items()]
    values += [(name, value, False) for name, value in found.dropped.items()]
    return MoveServerSettingsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        settings=[_Setting(version=0, name=name, value=value, moved=moved) for name, value, moved in sorted(values)],
    )


API = Api(
    key=32245,
    name="MoveServerSettings",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.ALTER_CONFIGS, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(MoveServerSettingsResponse),
)
