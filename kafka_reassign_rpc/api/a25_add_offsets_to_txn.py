"""AddOffsetsToTxn, see `coordinator_refusals`."""

from typing import NoReturn

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.coordinator_refusals import check_group, check_transaction, transaction_error
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.protocol.messages import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse


def handle(_node: Node, request: AddOffsetsToTxnRequest, ctx: RequestContext) -> NoReturn:
    check_transaction(ctx.access, AclOperation.WRITE, request.transactional_id)
    check_group(ctx.access, AclOperation.READ, request.group_id)
    raise transaction_error(request.transactional_id)


API = Api(
    key=25,
    name="AddOffsetsToTxn",
    min_version=0,
    max_version=4,
    group=ApiGroup.CLIENT,
    acl=(
        Acl(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID),
        Acl(AclOperation.READ, AclResource.GROUP),
    ),
    handle=handle,
    fail=error_alone(AddOffsetsToTxnResponse),
)
