"""AskDocument: one of the documents of `vendor_table`, as JSON."""

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, Encoded, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.vendor_table import ASK
from kafka_reassign_rpc.protocol.messages import AskDocumentRequest, AskDocumentResponse


async def handle(node: Node, request: AskDocumentRequest, ctx: RequestContext) -> Encoded:
    return await ASK.answered(node, request.document, request.body, ctx)


API = Api(
    key=32251,
    name="AskDocument",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=ASK.acl,
    handle=handle,
    fail=error_alone(AskDocumentResponse),
)
