"""ApiVersions (key 18), versions 0-4: the APIs that this node announces.

A server announces no more than the brokers do for what clients may send to any node (see `core.announced_versions`),
but answers all versions that it knows: a client may have learnt them earlier. From version 3 on the client's software
name and version must look like names, or the answer is INVALID_REQUEST. The protocol package answers a version above 4,
which cannot be decoded, in version 0 with UNSUPPORTED_VERSION and the versions of this API, so that the client can ask
again (KIP-511). The header of the answer never has tagged fields.
"""

import re

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.protocol.messages import ApiVersionsRequest, ApiVersionsResponse

MAX_VERSION = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(node: Node, request: ApiVersionsRequest, ctx: RequestContext) -> ApiVersionsResponse:
    if ctx.api_version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        raise InvalidRequest
    return ApiVersionsResponse(
        version=ctx.api_version,
        error_code=0,
        # tuples of the fields, in order: much cheaper to build than objects
        api_keys=[(key, low, high) for key, (low, high) in node.announced_versions().items()],
        throttle_time_ms=0,
    )


API = Api(
    key=18,
    name="ApiVersions",
    min_version=0,
    max_version=MAX_VERSION,
    group=ApiGroup.CLIENT,
    acl=(),
    handle=handle,
    fail=error_alone(ApiVersionsResponse),
)
