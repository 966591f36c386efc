"""ApiVersions (key 18), versions 0-4: what this node serves.

Behaviour   all keys of the node in ascending order. From version 3 the client's software name and version must
            look like names (INVALID_REQUEST otherwise). A version above 4 is answered in version 0 with
            UNSUPPORTED_VERSION and the version range of this API, so that the client can ask again (KIP-511):
            the server package does that, for the request cannot be read.
            The header of the answer never has tagged fields.
ACL         none.
"""

import re
from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError
from kafka_reassign_rpc.protocol.messages import ApiVersionsResponse

MAX_VERSION = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    if ctx.api_version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        raise InvalidRequest
    return ApiVersionsResponse(
        version=ctx.api_version,
        error_code=0,
        # tuples of the fields, in order: much cheaper to build than objects
        api_keys=[
            (api.key, api.min_version, api.max_version)
            for api in sorted(node.apis.values(), key=lambda api: api.key)
            if api.advertised
        ],
        throttle_time_ms=0,
    )


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return ApiVersionsResponse(version=version, error_code=error.code, api_keys=[], throttle_time_ms=0)


API = Api(18, "ApiVersions", 0, MAX_VERSION, handle, fail)
