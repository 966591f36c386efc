"""`served`: how a handler module declares the API key that it serves."""

from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.api.access import EVERYTHING, Access
from kafka_reassign_rpc.core.acls import acl_binding
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.protocol.frame_codec import NoAnswer, Reply, RequestHeader
from kafka_reassign_rpc.protocol.messages import RESPONSES, ApiMessage
from kafka_reassign_rpc.protocol.versions import SUPPORTED


class Peer(NamedTuple):
    """The client at the other end of a connection. `mechanism` is the SASL mechanism with which it authenticated, or
    "". `allowed`: what it may do on the cluster, where a broker has said so; None: this server decides.
    """

    host: str
    listener: str
    principal: str = ANONYMOUS
    mechanism: str = ""
    allowed: frozenset[acl_binding.AclOperation] | None = None


class RequestContext(msgspec.Struct, frozen=True, gc=False):
    """The header of a request, the client that it came from (see `Peer`), and what that client may do."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str = ""
    listener: str = "PLAINTEXT"
    principal: str = ANONYMOUS
    mechanism: str = ""
    access: Access = EVERYTHING
    forward: "Forward | None" = None
    """Answers a request that this one carries (Envelope); None for a request that came so."""

    @property
    def requester(self) -> Requester:
        return requesters.client(self.principal, self.client_id, self.client_host, self.listener, self.mechanism)


Forward = Callable[[bytes, Peer], Awaitable[tuple[RequestHeader, Reply]]]
"""(a request with its header, its client) -> its header and the body of its answer. Raises RemoteProtocolError if it
cannot be decoded, NotController."""


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """An answer whose body (everything after the response header) the handler has encoded itself, or its pieces."""

    body: bytes | list[bytes]


Answer = ApiMessage | Encoded | NoAnswer
Handled = Answer | Coroutine[Any, Any, Answer]
"""What a handler returns. Most are coroutines, which work in slices (`support.turns`): one with many items says
`await rest()` after each."""

Handler = Callable[[Any, Any, RequestContext], Handled]
"""(the `ports.Node`, request body of the API's own class, context) -> the answer."""

ErrorAnswer = Callable[[Any, int, KafkaError], Handled]
"""(request body, api version, error) -> the response body that says that the whole request failed."""

FEW = 5_000
"""Array elements of a request that names things of which a cluster has few, or which a client changes by hand."""
MANY = 30_000
"""... of which a cluster may have tens of thousands, such as groups and topics."""
PARTITION_NUMBERS = 60_000
"""... of a request that names partitions by number, all 200,000 and more of a cluster: eight numbers, one element."""
ALL_PARTITIONS = 300_000
"""... of a request that has an element for each partition, or for each topic."""


class ApiGroup(Enum):
    """Who sends the requests of an API. Each node serves some of these groups (see `api.dispatch`)."""

    CLIENT = "clients and tools"
    INTER_BROKER = "brokers, to their controller"
    VENDOR = "clients of this product: Kafka allocated no key"


AclOperation = acl_binding.AclOperation
AclResource = acl_binding.ResourceType


class Acl(NamedTuple):
    """`operation` on the cluster, or on each topic, group or transactional id that the request names. The dispatcher
    asks for those on the cluster that every request needs, the handler for others.

    only_for        for which requests or fields, if not for all
    names_request   the error's text names the request (AuthHelper.authorizeClusterOperation)
    """

    operation: AclOperation
    resource: AclResource
    only_for: str = ""
    names_request: bool = True


class Api(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """key, name       as in Kafka's ApiKeys; the module that declares it is called `a<key>_<name>`
    min_version     lowest and highest version served
    max_version
    acl             the permissions that its requests need, as in Kafka
    fail            makes the answer when `handle` has raised a KafkaError
    max_elements    the most array elements of a request, as `protocol.bounded_decoder` counts them: more than honest
                    clients send. One with more is not decoded. The answer is INVALID_REQUEST if the version has an
                    error for the whole request; else the connection closes
    advertised      False: served, but not shown in ApiVersions
    to_controller   clients send it to the controller alone (ControllerNodeProvider of Java's KafkaAdminClient): the
                    versions of brokers do not matter
    by_brokers      brokers carry out what it decides, and learn it from the controller: until they obey, it decides
                    nothing and is answered NOT_CONTROLLER. The others write what each broker reads in ZooKeeper by
                    itself (configs, quotas, credentials, ACLs, settings, the cordon), what needs no broker (ids), or
                    what the broker that asks learns by the answer (AlterPartition)
    """

    key: int
    name: str
    min_version: int
    max_version: int
    group: ApiGroup
    acl: tuple[Acl, ...]
    handle: Handler
    fail: ErrorAnswer
    max_elements: int
    advertised: bool
    to_controller: bool
    by_brokers: bool


def error_alone(response: type[Any], **fields: Any) -> ErrorAnswer:
    """Answers that hold an error, these fields, and the defaults of their schema."""

    def fail(_request: object, version: int, error: KafkaError) -> Any:
        text = {"error_message": error.message} if "error_message" in response.fields else {}
        return response(version=version, error_code=error.code, **(text | fields))

    return fail


def served(
    request: type[ApiMessage],
    *acl: Acl,
    handle: Handler,
    fail: ErrorAnswer | None = None,
    group: ApiGroup = ApiGroup.CLIENT,
    max_elements: int = FEW,
    advertised: bool = True,
    to_controller: bool = False,
    by_brokers: bool = False,
) -> Api:
    """Key, name and versions are those of the message. fail: None, the error alone says it."""
    key = request.API_KEY
    low, high = SUPPORTED[key]
    return Api(
        key=key,
        name=request.__name__.removesuffix("Request"),
        min_version=low,
        max_version=high,
        group=group,
        acl=acl,
        handle=handle,
        fail=fail or error_alone(RESPONSES[key]),
        max_elements=max_elements,
        advertised=advertised,
        to_controller=to_controller,
        by_brokers=by_brokers,
    )
