"""ConsumerGroupHeartbeat: UNSUPPORTED_VERSION, as from every broker in ZooKeeper mode, since groups of KIP-848 need
KRaft.
"""

from typing import NoReturn

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import UnsupportedVersion
from kafka_reassign_rpc.protocol.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse


def handle(_node: Node, _request: ConsumerGroupHeartbeatRequest, _ctx: RequestContext) -> NoReturn:
    raise UnsupportedVersion


API = Api(
    key=68,
    name="ConsumerGroupHeartbeat",
    min_version=0,
    max_version=0,
    group=ApiGroup.CLIENT,
    acl=(),
    handle=handle,
    fail=error_alone(ConsumerGroupHeartbeatResponse, error_message=None),
)
