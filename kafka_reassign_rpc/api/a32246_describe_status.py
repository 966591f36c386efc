"""DescribeStatus: a document of the status page.

Any server answers `status` and `history`; `moves`, `brokers`, `partitions` and `departure` only the controller. The
documents are complete, whatever the page shows, since the caller may describe the cluster. INVALID_REQUEST for an
unknown document or parameter.
"""

import json

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, NotController
from kafka_reassign_rpc.protocol.messages import DescribeStatusRequest, DescribeStatusResponse
from kafka_reassign_rpc.support.turns import Work, waited

FOUND, ELSEWHERE = 200, 503


def handle(node: Node, request: DescribeStatusRequest, _ctx: RequestContext) -> Work[DescribeStatusResponse]:
    assert node.status is not None  # simulated brokers do not serve vendor APIs
    status, document = yield from waited(node.status.document(request.document, request.query))
    if status == ELSEWHERE:
        raise NotController(json.loads(document)["error"])
    if status != FOUND:
        raise InvalidRequest(json.loads(document)["error"])
    return DescribeStatusResponse(version=0, throttle_time_ms=0, error_code=0, error_message=None, content=document)


API = Api(
    key=32246,
    name="DescribeStatus",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(DescribeStatusResponse),
)
