"""DoCommand: one of the commands of `vendor_table`, with JSON for what it is about and what it has done."""

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, Encoded, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.vendor_table import DO
from kafka_reassign_rpc.protocol.messages import DoCommandRequest, DoCommandResponse


async def handle(node: Node, request: DoCommandRequest, ctx: RequestContext) -> Encoded:
    return await DO.answered(node, request.command, request.body, ctx)


API = Api(
    key=32252,
    name="DoCommand",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=DO.acl,
    handle=handle,
    fail=error_alone(DoCommandResponse),
)
