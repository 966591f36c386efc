"""An `Authenticator` finds out who is at the other end of one connection before any handler sees a request. A listener
makes one for each connection, when TLS is done. No I/O: the connection asks `admission` about each frame, in the order
in which frames came. SERVE: it is a request of `principal`. TAKE: `receive` gets it. CLOSE: the session is over, and
there is no answer.


Source: Authenticator, KafkaChannel and Selector of org.apache.kafka.common.network, SocketServer (Kafka 3.9).
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import NamedTuple, Protocol

from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.protocol.frame_codec import Body, DecodedRequest
from kafka_reassign_rpc.protocol.messages import ApiMessage


class AuthenticationFailed(Exception):
    """A connection gets no authenticator. The text is for the log; the client sees only that it closes."""


class Requests(Protocol):
    """Before authentication."""

    @property
    def served(self) -> Mapping[int, tuple[int, int]]: ...

    def api_versions(self, request: DecodedRequest) -> Body:
        """The answer's error code says whether the request was in order."""

    def illegal_sasl_state(self, request: DecodedRequest, text: str) -> ApiMessage | None:
        """Answers any served request; None if its API has no place for an error."""


class AuthenticationContext(NamedTuple):
    """What is known before the first frame (Kafka's AuthenticationContext). `certificate`: the client's (DER), if TLS
    has verified one.
    """

    client_address: str
    listener: str
    security_protocol: str
    certificate: bytes | None
    requests: Requests


class Admission(Enum):
    SERVE = auto()
    TAKE = auto()
    CLOSE = auto()


class End(Enum):
    """CLOSE_LATER is for failed authentication: the answer waits for connection.failed.authentication.delay.ms, and the
    connection reads nothing meanwhile.
    """

    OPEN = auto()
    CLOSE_LATER = auto()
    CLOSE_NOW = auto()


class Step(NamedTuple):
    """The connection sends `answer` (with its length in front; empty: nothing), then does `end`. `reason` says for the
    log why it closes. It holds no secrets, and of the client's words only names.
    """

    answer: bytes = b""
    end: End = End.OPEN
    reason: str = ""


class Authenticator(Protocol):
    """authenticated      False: no request is served; so again while a client re-authenticates
    guards             frames need `admission`: False if the principal never changes
    principal          Kafka's principal, such as `User:alice`; ANONYMOUS before authentication
    mechanism          the SASL mechanism that found it, else ""
    max_receive_size   bytes of the largest frame before authentication (sasl.server.max.receive.size)
    """

    @property
    def authenticated(self) -> bool: ...

    @property
    def guards(self) -> bool: ...

    @property
    def principal(self) -> str: ...

    @property
    def mechanism(self) -> str: ...

    @property
    def max_receive_size(self) -> int: ...

    def admission(self, frame: bytes) -> Admission: ...

    def receive(self, frame: bytes) -> Step | Awaitable[Step]:
        """The next frame comes only after this step. It is awaitable if the check is done off the event loop."""

    def invalid_size(self, text: str) -> Step: ...


MakeAuthenticator = Callable[[AuthenticationContext], Authenticator]
"""Raises AuthenticationFailed."""


class FixedAuthenticator(NamedTuple):
    """The principal is known from TLS, or is ANONYMOUS (PLAINTEXT), so `admission` is never asked."""

    principal: str = ANONYMOUS
    mechanism: str = ""
    authenticated: bool = True
    guards: bool = False
    max_receive_size: int = 0

    def admission(self, _frame: bytes) -> Admission:
        return Admission.SERVE

    def receive(self, _frame: bytes) -> Step:
        return Step(end=End.CLOSE_NOW)

    def invalid_size(self, text: str) -> Step:
        return Step(end=End.CLOSE_NOW, reason=text)


def anonymous(_context: AuthenticationContext) -> Authenticator:
    return FixedAuthenticator()
