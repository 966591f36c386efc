"""From a decoded request to its handler and back: the table of APIs, rights, the door, errors as answers.

Each module of this package named `a<key>_<name>.py` declares one `API`, and the tables
of what a node refuses have a row for each, as has that of documents and commands of ours.

"""

import logging
import re
from asyncio import iscoroutine
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

from kafka_reassign_rpc import api as handlers
from kafka_reassign_rpc.api import refused_coordination, refused_records, vendor_table
from kafka_reassign_rpc.api.access import EVERYTHING, Access, Authorizer, ClusterRights
from kafka_reassign_rpc.api.api_definition import (
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    Encoded,
    Handled,
    Peer,
    RequestContext,
)
from kafka_reassign_rpc.api.large_requests import SMALL
from kafka_reassign_rpc.api.ports import MovesNode, obeyed
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.config_values import java_host
from kafka_reassign_rpc.core.kafka_errors import (
    IllegalSaslState,
    InvalidRequest,
    KafkaError,
    NotController,
    UnknownServerError,
)
from kafka_reassign_rpc.protocol.frame_codec import (
    DecodedRequest,
    Reply,
    RequestHeader,
    decode_request_in_slices,
    peek_request_header,
)
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError, TooManyElements
from kafka_reassign_rpc.protocol.messages import REQUESTS, RESPONSES, ApiMessage
from kafka_reassign_rpc.protocol.sliced_messages import take_apart
from kafka_reassign_rpc.protocol.versions import Versions
from kafka_reassign_rpc.support.turns import at_once, in_turns, start

log = logging.getLogger(__name__)

NOBODY = AclAuthorizer(frozenset(), allow_everyone=False)
"""Decides behind a closed door: no client may do anything."""
NOBODY.loaded = True


class Door(Protocol):
    """Of a node without an authorizer: if the brokers have one, it would do for every client what they refuse, so it
    asks them first. `known` waits, for some seconds at most, until it is known whether the door is open.
    """

    @property
    def is_open(self) -> bool: ...

    @property
    def why_closed(self) -> str:
        """Also says what to do."""

    async def known(self) -> None: ...


class Dispatcher:
    """A KafkaError from a handler becomes the error answer of its API. Any other exception is a defect: the dispatcher
    logs it, counts it in `failures` and answers UNKNOWN_SERVER_ERROR. The connection stays open.

    authorizer  None allows everything, if the door is open
    door        asked if there is no authorizer; None is always open
    on_denied   called once for each request in which something was denied
    """

    def __init__(
        self,
        node: MovesNode,
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
        return {key: (api.min_version, api.max_version) for key, api in self._apis.items()}

    @property
    def max_elements(self) -> Mapping[int, int]:
        return {key: api.max_elements for key, api in self._apis.items()}

    def refusal(self, header: RequestHeader, error: RemoteProtocolError) -> ApiMessage | None:
        """Answers a request that was not decoded; None if the connection must close.

        Only one with too many elements has an answer, in versions with an error for the whole request.
        """
        key, version = header.api_key, header.api_version
        if not isinstance(error, TooManyElements) or not _has_top_level_error(RESPONSES[key], version):
            return None
        request_class: Any = REQUESTS[key]
        api, empty = self._apis[key], request_class(version=version)
        text = f"The request has more than the {api.max_elements} array elements that {api.name} may have in all."
        return _small(api.fail(empty, version, InvalidRequest(text)))

    def illegal_sasl_state(self, request: DecodedRequest, text: str) -> ApiMessage | None:
        """Answers a request that comes in the midst of authentication. None if its version has no error for the whole
        request, or if the answer is large: a stranger gets none that takes time.
        """
        header = request.header
        if not isinstance(request.body, ApiMessage):
            return None
        return _small(self._apis[header.api_key].fail(request.body, header.api_version, IllegalSaslState(text)))

    def handle(self, request: DecodedRequest, peer: Peer) -> Reply | Awaitable[Reply]:
        return start(self._reply(request, peer))

    async def _forward(self, frame: bytes, peer: Peer) -> tuple[RequestHeader, Reply]:
        try:
            request = await in_turns(decode_request_in_slices(frame, self.served, self.max_elements))
        except TooManyElements as error:
            header = peek_request_header(frame)
            refusal = self.refusal(header, error)
            if refusal is None:
                raise
            return header, refusal
        reply = await self._reply(request, peer, forwarded=True)
        await in_turns(take_apart(request.body))
        return request.header, reply

    async def _reply(self, request: DecodedRequest, peer: Peer, *, forwarded: bool = False) -> Reply:
        """`forwarded`: it came in an envelope, and NotController is raised, for the broker that has sent it."""
        header = request.header
        api = self._apis[header.api_key]
        door = self._door
        authorizer: Authorizer | None = self._authorizer if peer.allowed is None else ClusterRights(peer.allowed)
        access = EVERYTHING if authorizer is None else Access(authorizer, peer.principal, java_host(peer.host))
        if peer.allowed is None and door is not None and api.acl and not door.is_open:
            await door.known()
            if not door.is_open:
                access = Access(NOBODY, peer.principal, peer.host, door.why_closed)
        ctx = RequestContext(
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            peer.host,
            peer.listener,
            peer.principal,
            peer.mechanism,
            access,
            None if forwarded else self._forward,
        )
        try:
            if not ctx.access.unlimited:
                for operation, named in self._cluster_acls[api.key]:
                    ctx.access.check_cluster(operation, named)
            if api.by_brokers:
                await obeyed(self._node)
            handled = api.handle(self._node, request.body, ctx)
            answer = await handled if iscoroutine(handled) else handled
        except Exception as error:
            if forwarded and isinstance(error, NotController):
                raise
            handled = self._failed(api, request, error)
            answer = await handled if iscoroutine(handled) else handled
        finally:
            if ctx.access.refusals:
                self._on_denied(ctx)
        return answer.body if isinstance(answer, Encoded) else answer

    def _failed(self, api: Api, request: DecodedRequest, error: Exception) -> Handled:
        if not isinstance(error, KafkaError):
            self.failures += 1
            log.error(
                "a defect in %s version %d: its client gets UNKNOWN_SERVER_ERROR",
                api.name,
                request.header.api_version,
                exc_info=error,
            )
            error = UnknownServerError()
        return api.fail(request.body, request.header.api_version, error)


def _on_cluster(api: Api) -> tuple[tuple[AclOperation, str], ...]:
    """The operations that every request needs on the cluster, each with the name of the request if the error's text has
    it.
    """
    return tuple(
        (acl.operation, api.name if acl.names_request else "")
        for acl in api.acl
        if acl.resource is AclResource.CLUSTER and not acl.only_for
    )


def _small(handled: Handled) -> ApiMessage | None:
    """The answer if it takes no more than a few steps and is a message."""
    answer = at_once(handled, SMALL) if iscoroutine(handled) else handled
    return answer if isinstance(answer, ApiMessage) else None


def _has_top_level_error(response: type[ApiMessage], version: int) -> bool:
    field = response._struct.fields.get("error_code")
    return field is not None and bool(field.for_version_q(version))


TABLES = (refused_records, refused_coordination, vendor_table)
_HANDLER_MODULE = re.compile(r"a\d+_\w+")


def table(apis: Iterable[Api]) -> dict[int, Api]:
    return {api.key: api for api in sorted(apis, key=lambda api: api.key)}


def advertised(apis: Mapping[int, Api]) -> Versions:
    return {key: (api.min_version, api.max_version) for key, api in apis.items() if api.advertised}


def _load() -> dict[int, Api]:
    names = [module.name for module in iter_modules(handlers.__path__) if _HANDLER_MODULE.fullmatch(module.name)]
    handled = (import_module(f"{handlers.__name__}.{name}").API for name in names)
    return table([*handled, *(api for module in TABLES for api in module.APIS)])


def _of(group: ApiGroup) -> dict[int, Api]:
    return {key: api for key, api in SERVER_APIS.items() if api.group is group}


SERVER_APIS: Mapping[int, Api] = _load()
"""All APIs that the server process serves."""

CLIENT_APIS: Mapping[int, Api] = _of(ApiGroup.CLIENT)
"""APIs that every node serves. A node that is not the controller answers NOT_CONTROLLER to a request that only the
controller can carry out."""

INTER_BROKER_APIS: Mapping[int, Api] = _of(ApiGroup.INTER_BROKER)
"""APIs that brokers call on their controller."""

SENT_TO_SERVERS: frozenset[int] = frozenset(key for key, api in SERVER_APIS.items() if api.group is ApiGroup.VENDOR)
"""APIs that clients send to servers of this product alone."""

SENT_TO_CONTROLLER: frozenset[int] = SENT_TO_SERVERS | {
    key for key, api in SERVER_APIS.items() if api.to_controller or api.group is ApiGroup.INTER_BROKER
}
"""The same, and APIs that clients and brokers send to the controller alone."""


class Service(Protocol):
    """What a server needs to answer requests: a `Dispatcher`, or what relays them."""

    @property
    def served(self) -> Mapping[int, tuple[int, int]]:
        """Versions by API key. A request for any other closes the connection."""

    @property
    def max_elements(self) -> Mapping[int, int]:
        """The most array elements of a request, by API key."""

    def refusal(self, header: RequestHeader, error: RemoteProtocolError) -> ApiMessage | None:
        """The answer to a request that cannot be decoded; None closes the connection."""

    def illegal_sasl_state(self, request: DecodedRequest, text: str) -> ApiMessage | None:
        """The answer in the midst of authentication, or None if it has no field for an error."""

    def handle(self, request: DecodedRequest, peer: Peer) -> Reply | Awaitable[Reply]:
        """Does not raise for a request's own errors: every answer has a place for them."""
