"""From a decoded request to its handler and back. `Dispatcher` makes a `Node` a service for the server package."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from inspect import isawaitable
from typing import Any

from kafka_reassign_rpc.api.access import EVERYTHING, Access
from kafka_reassign_rpc.api.api_definition import (
    AclOperation,
    AclResource,
    Answer,
    Api,
    Encoded,
    Handled,
    Peer,
    RequestContext,
    awaited,
)
from kafka_reassign_rpc.api.door import NOBODY, Door
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.java_host import java_host
from kafka_reassign_rpc.core.kafka_errors import IllegalSaslState, InvalidRequest, KafkaError, UnknownServerError
from kafka_reassign_rpc.protocol.frame_codec import DecodedRequest, NoAnswer, Reply, RequestHeader
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError, TooManyElements
from kafka_reassign_rpc.protocol.messages import REQUESTS, RESPONSES, ApiMessage

log = logging.getLogger(__name__)

_READY = (Encoded, ApiMessage, NoAnswer)
"""Asked first: to see that an object is no awaitable takes a microsecond."""


class Dispatcher:
    """Answers requests with a node's APIs (`server.request_service.Service`).

    A KafkaError from a handler becomes the error answer of its API. Any other exception is a defect: the dispatcher
    logs it with its traceback, counts it in `failures` and answers UNKNOWN_SERVER_ERROR. The connection stays open.

    authorizer  decides what callers may do; None: everything, if the door is open
    door        asked where there is no authorizer; None: it is always open
    on_denied   called once for each request of which something was denied to its caller
    """

    def __init__(
        self,
        node: Node,
        authorizer: AclAuthorizer | None = None,
        on_denied: Callable[[RequestContext], None] = lambda _ctx: None,
        door: Door | None = None,
    ) -> None:
        self._node = node
        self._authorizer = authorizer
        self._door = door if authorizer is None else None
        self._on_denied = on_denied
        self._apis: Mapping[int, Api] = node.apis
        self._cluster_acls = {key: _on_cluster(api) for key, api in node.apis.items()}
        self.failures = 0

    @property
    def served(self) -> Mapping[int, tuple[int, int]]:
        """The versions that the node serves, by API key."""
        return {key: (api.min_version, api.max_version) for key, api in self._apis.items()}

    @property
    def max_elements(self) -> Mapping[int, int]:
        """The most array elements of a request, by API key."""
        return {key: api.max_elements for key, api in self._apis.items()}

    def refusal(self, header: RequestHeader, error: RemoteProtocolError) -> ApiMessage | None:
        """The answer to a request that was not decoded; None where the connection has to close.

        Only a request with too many elements has one, in versions with an error for the whole request.
        """
        key, version = header.api_key, header.api_version
        if not isinstance(error, TooManyElements) or not _has_top_level_error(RESPONSES[key], version):
            return None
        request_class: Any = REQUESTS[key]
        api, empty = self._apis[key], request_class(version=version)
        text = f"The request has more than the {api.max_elements} array elements that {api.name} may have in all."
        answer = api.fail(empty, version, InvalidRequest(text))
        assert isinstance(answer, ApiMessage)  # the answer to a small request
        return answer

    def illegal_sasl_state(self, request: DecodedRequest, text: str) -> ApiMessage | None:
        """The answer to a request that comes in the midst of authentication; None where its version has no place for
        an error of the whole request, and where the answer is large: a stranger gets none that takes time."""
        header = request.header
        if not isinstance(request.body, ApiMessage):
            return None
        answer = self._apis[header.api_key].fail(request.body, header.api_version, IllegalSaslState(text))
        if isinstance(answer, Coroutine):
            answer.close()
        return answer if isinstance(answer, ApiMessage) else None

    def handle(self, request: DecodedRequest, peer: Peer) -> Reply | Awaitable[Reply]:
        """The body of the answer, its bytes, or an awaitable of either."""
        if self._door is not None and self._apis[request.header.api_key].acl and not self._door.is_open:
            return self._once_the_door_is_known(self._door, request, peer)
        authorizer = self._authorizer
        access = EVERYTHING if authorizer is None else Access(authorizer, peer.principal, java_host(peer.host))
        return self._handle(request, peer, access)

    async def _once_the_door_is_known(self, door: Door, request: DecodedRequest, peer: Peer) -> Reply:
        await door.known()
        access = EVERYTHING if door.is_open else Access(NOBODY, peer.principal, peer.host, door.why_closed)
        body = self._handle(request, peer, access)
        return await body if isawaitable(body) else body

    def _handle(self, request: DecodedRequest, peer: Peer, access: Access) -> Reply | Awaitable[Reply]:
        header = request.header
        api = self._apis[header.api_key]
        ctx = RequestContext(
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            *peer,
            access,
        )
        try:
            if not access.unlimited:
                for operation, named in self._cluster_acls[header.api_key]:
                    access.check_cluster(operation, named)
            result = api.handle(self._node, request.body, ctx)
        except Exception as error:
            self._tell_denied(ctx)
            result = self._failed(api, request, error)
            return _later(result) if isawaitable(result) else _reply(result)
        if not isinstance(result, _READY) and isawaitable(result):
            return self._answer_later(api, request, result, ctx)
        if access.refusals:
            self._on_denied(ctx)
        return result.body if isinstance(result, Encoded) else result

    async def _answer_later(
        self, api: Api, request: DecodedRequest, result: Awaitable[Answer], ctx: RequestContext
    ) -> Reply:
        try:
            return _reply(await result)
        except Exception as error:
            failed = self._failed(api, request, error)
        finally:
            self._tell_denied(ctx)
        return _reply(await awaited(failed))

    def _tell_denied(self, ctx: RequestContext) -> None:
        if ctx.access.refusals:
            self._on_denied(ctx)

    def _failed(self, api: Api, request: DecodedRequest, error: Exception) -> Handled:
        if not isinstance(error, KafkaError):
            self.failures += 1
            log.error("%s version %d failed", api.name, request.header.api_version, exc_info=error)
            error = UnknownServerError()
        return api.fail(request.body, request.header.api_version, error)


def _on_cluster(api: Api) -> tuple[tuple[AclOperation, str], ...]:
    """What every request of the API needs on the cluster: the operations, each with the name of the request where the
    error's text has it. Without it, the answer is CLUSTER_AUTHORIZATION_FAILED."""
    return tuple(
        (acl.operation, api.name if acl.names_request else "")
        for acl in api.acl
        if acl.resource is AclResource.CLUSTER and not acl.only_for
    )


def _reply(answer: Answer) -> Reply:
    return answer.body if isinstance(answer, Encoded) else answer


async def _later(answer: Awaitable[Answer]) -> Reply:
    return _reply(await answer)


def _has_top_level_error(response: type[ApiMessage], version: int) -> bool:
    field = response._struct.fields.get("error_code")
    return field is not None and bool(field.for_version_q(version))
