"""From a decoded request to its handler and back. `Dispatcher` makes a `Node` a service for the server package."""

import logging
from collections.abc import Awaitable, Mapping
from inspect import isawaitable

from kafka_reassign_rpc.api.api_definition import Answer, Api, Encoded, Peer, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, UnknownServerError
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest
from kafka_reassign_rpc.protocol.messages import ApiMessage

log = logging.getLogger(__name__)


class Dispatcher:
    """Answers requests with a node's APIs (`server.request_service.Service`).

    A KafkaError from a handler becomes the error answer of its API. Any other exception is a defect: the dispatcher
    logs it with its traceback, counts it in `failures` and answers UNKNOWN_SERVER_ERROR. The connection stays open.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._apis: Mapping[int, Api] = node.apis
        self.failures = 0

    @property
    def served(self) -> Mapping[int, tuple[int, int]]:
        """The versions that the node serves, by API key."""
        return {key: (api.min_version, api.max_version) for key, api in self._apis.items()}

    def handle(self, request: DecodedRequest, peer: Peer) -> ApiMessage | bytes | Awaitable[ApiMessage | bytes]:
        """The body of the answer, its bytes, or an awaitable of either."""
        header = request.header
        api = self._apis[header.api_key]
        ctx = RequestContext(
            api_key=header.api_key,
            api_version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            client_host=peer.host,
            listener=peer.listener,
            principal=peer.principal,
        )
        try:
            result = api.handle(self._node, request.body, ctx)
        except Exception as error:
            return self._failed(api, request, error)
        if isawaitable(result):
            return self._later(api, request, result)
        return result.body if isinstance(result, Encoded) else result

    async def _later(self, api: Api, request: DecodedRequest, result: Awaitable[Answer]) -> ApiMessage | bytes:
        try:
            body = await result
        except Exception as error:
            return self._failed(api, request, error)
        return body.body if isinstance(body, Encoded) else body

    def _failed(self, api: Api, request: DecodedRequest, error: Exception) -> ApiMessage:
        if not isinstance(error, KafkaError):
            self.failures += 1
            log.error("%s version %d failed", api.name, request.header.api_version, exc_info=error)
            error = UnknownServerError()
        return api.fail(request.body, request.header.api_version, error)
