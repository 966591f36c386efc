"""ApiVersions: the APIs that this node announces.

A server announces no more than the brokers do for what clients may send to any node (see
`protocol.versions`), but answers all versions that it knows: a client may have learnt them earlier. A
version above 4, which cannot be decoded, is answered by the protocol package (KIP-511).
"""

import re

from kafka_reassign_rpc.api.api_definition import RequestContext, served
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


API = served(ApiVersionsRequest, handle=handle)
