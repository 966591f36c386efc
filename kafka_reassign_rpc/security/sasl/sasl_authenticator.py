"""The order of messages on a connection that authenticates with SASL: Kafka's SaslServerAuthenticator, step by step.

    state          message                              step                                   next state
    -------------  -----------------------------------  -------------------------------------  ------------------
    INITIAL        no request of Kafka, GSSAPI enabled  the token of GSSAPI, without headers   AUTHENTICATE
                   no request of Kafka                  closes later                           FAILED
                   any request                          as in HANDSHAKE_OR_VERSIONS
    HANDSHAKE_OR_  ApiVersions, in order                the versions                           HANDSHAKE
      VERSIONS     ApiVersions, unknown version         35                                     the same
                   ApiVersions, improper names          42                                     the same
    the same, and  SaslHandshake, enabled mechanism     0, mechanisms                          AUTHENTICATE
      HANDSHAKE    SaslHandshake, another one           33, mechanisms; closes later           FAILED
                   any other request                    closes later                           FAILED
                   what does not parse                  closes now                             FAILED
    HANDSHAKE      ApiVersions                          closes now                             FAILED
    AUTHENTICATE   after SaslHandshake 0: a token       a token                                the same, COMPLETE
                   … wrong, the client may know why     closes later                           FAILED
                   … wrong otherwise                    closes now                             FAILED
    AUTHENTICATE   after SaslHandshake 1:
                   SaslAuthenticate                     0, token, session_lifetime_ms          the same, COMPLETE
                   … wrong                              58, text; closes later                 FAILED
                   any other request                    34 in its own answer; closes later     FAILED
                   what does not parse                  closes now                             FAILED
    each of these  a frame over max_receive_size        closes later                           FAILED
    COMPLETE       any request                          is served                              the same
    COMPLETE, the  SaslHandshake, not within 1 s of     as in HANDSHAKE, but the exchange is
      session has  the last                             a re-authentication (KIP-368):
      an end       … same mechanism                     0, mechanisms                          AUTHENTICATE
                   … another enabled one                0, mechanisms                          BAD_MECHANISM
                   … one that is not enabled            closes now                             FAILED
                   any other request after the end      closes now                             FAILED
    BAD_MECHANISM  anything                             closes later                           FAILED

"Closes later": after connection.failed.authentication.delay.ms, its answer with it. Where Kafka answers 34 to a request
of an API that this server does not serve, it closes later without an answer. `session_lifetime_ms` is the least of
connections.max.reauth.ms and what is left of the credentials' life.

Source: SaslServerAuthenticator, KafkaChannel.maybeBeginServerReauthentication, SocketServer.processCompletedReceives
(Kafka 3.9); KIP-43, KIP-152, KIP-368.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from inspect import isawaitable

import msgspec

from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.protocol.frame_codec import (
    Body,
    DecodedRequest,
    RequestHeader,
    decode_request,
    encode_response,
    peek_request_header,
    response_prefix,
)
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError, Truncated, UnsupportedApiVersions
from kafka_reassign_rpc.protocol.messages import (
    ApiMessage,
    ApiVersionsRequest,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)
from kafka_reassign_rpc.protocol.served_connection import unsupported_api_versions
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.security.authenticator import Admission, AuthenticationContext, End, Step
from kafka_reassign_rpc.security.sasl.mechanism import (
    MakeSaslServer,
    SaslAuthenticationError,
    SaslError,
    SaslRetry,
    SaslServer,
)

log = logging.getLogger(__name__)

UNSUPPORTED_SASL_MECHANISM = 33
SASL_AUTHENTICATION_FAILED = 58
KAFKAS_KEYS = range(93)
"""The API keys of Kafka 3.9 and later."""
SASL_APIS: Mapping[int, tuple[int, int]] = {ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.API_VERSIONS: (0, 4)}
SASL_AUTHENTICATE: Mapping[int, tuple[int, int]] = {ApiKey.SASL_AUTHENTICATE: (0, 2)}
LEAST_REAUTH_INTERVAL_S = 1.0
MOST_ELEMENTS = 1_000
"""Array elements of a request that is decoded only to be refused."""
GSSAPI = "GSSAPI"


class SaslSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the authenticators of a listener share.

    mechanisms          sasl.enabled.mechanisms
    max_receive_size    sasl.server.max.receive.size
    max_reauth_ms       connections.max.reauth.ms by mechanism; 0: sessions have no end of their own
    clock, wall_clock   seconds; the second since 1970
    """

    mechanisms: Mapping[str, MakeSaslServer]
    max_receive_size: int
    max_reauth_ms: Mapping[str, int] = {}
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time


class State(Enum):
    INITIAL = auto()
    HANDSHAKE_OR_VERSIONS = auto()
    HANDSHAKE = auto()
    AUTHENTICATE = auto()
    COMPLETE = auto()
    FAILED = auto()
    REAUTH_HANDSHAKE = auto()
    BAD_MECHANISM = auto()


class _Previous(msgspec.Struct, frozen=True):
    mechanism: str
    principal: str


class SaslAuthenticator:
    guards = True

    def __init__(self, settings: SaslSettings, context: AuthenticationContext) -> None:
        self._settings = settings
        self._requests = context.requests
        self._address = context.client_address
        self._state = State.INITIAL
        self._server: SaslServer | None = None
        self._headers = False
        """Whether tokens come in SaslAuthenticate requests."""
        self._previous: _Previous | None = None
        self._expires: float | None = None
        """The end of the session, by the settings' clock."""
        self._last_reauth: float | None = None
        self.max_receive_size = settings.max_receive_size
        self.principal = ANONYMOUS
        self.mechanism = ""

    @property
    def authenticated(self) -> bool:
        return self._state is State.COMPLETE

    # ------------------------------------------------------------------------------------------------ the connection

    def admission(self, frame: bytes) -> Admission:
        if self._state is not State.COMPLETE:
            return Admission.TAKE
        if self._expires is None:
            return Admission.SERVE
        now = self._settings.clock()
        if frame[:2] == b"\0\x11" and (
            self._last_reauth is None or now - self._last_reauth >= LEAST_REAUTH_INTERVAL_S
        ):  # SaslHandshake
            self._last_reauth = now
            self._previous = _Previous(self.mechanism, self.principal)
            self._server, self._headers = None, False
            self._state = State.REAUTH_HANDSHAKE
            return Admission.TAKE
        return Admission.CLOSE if now > self._expires else Admission.SERVE

    def invalid_size(self, text: str) -> Step:
        self._state = State.FAILED
        return _closes_later(f"Failing SASL authentication due to invalid receive size: {text}")

    def receive(self, frame: bytes) -> Step | Awaitable[Step]:
        if len(frame) > self.max_receive_size and self._state is not State.REAUTH_HANDSHAKE:
            return self.invalid_size(f"{len(frame)} bytes, {self.max_receive_size} are accepted")
        match self._state:
            case State.AUTHENTICATE:
                return self._token(frame)
            case State.BAD_MECHANISM:
                assert self._previous is not None
                return self._failed(
                    _closes_later(
                        f"SASL mechanism '{self.mechanism}' requested by client is not supported for"
                        f" re-authentication of mechanism '{self._previous.mechanism}'"
                    )
                )
            case State.COMPLETE | State.FAILED:
                return self._failed(Step(end=End.CLOSE_NOW))
        return self._kafka_request(frame)

    def _failed(self, step: Step) -> Step:
        self._state = State.FAILED
        return step

    # ------------------------------------------------------------------------------------------------ before tokens

    def _kafka_request(self, frame: bytes) -> Step | Awaitable[Step]:
        header = _header_of(frame, self._requests.served)
        if header is None:
            return self._no_request(frame)
        if self._state is State.INITIAL:
            self._state = State.HANDSHAKE_OR_VERSIONS
        key = header.api_key
        if key not in SASL_APIS:
            return self._failed(_closes_later(f"Unexpected Kafka request of type {_name(key)} during SASL handshake."))
        if key == ApiKey.API_VERSIONS and self._state is not State.HANDSHAKE_OR_VERSIONS:
            return self._failed(_closes_now(f"Unexpected ApiVersions request in SASL state {self._state.name}"))
        try:
            request = decode_request(frame, SASL_APIS)
        except UnsupportedApiVersions:
            return Step(unsupported_api_versions(SASL_APIS[ApiKey.API_VERSIONS], header.correlation_id))
        except RemoteProtocolError as error:
            return self._failed(_closes_now(str(error)))
        return self._api_versions(request) if key == ApiKey.API_VERSIONS else self._handshake(request)

    def _no_request(self, frame: bytes) -> Step | Awaitable[Step]:
        """Clients before 0.10 began with a bare token of GSSAPI."""
        if self._state is not State.INITIAL:
            return self._failed(_closes_now("Error parsing request header"))
        if GSSAPI not in self._settings.mechanisms:
            return self._failed(
                _closes_later("Exception handling first SASL packet from client, GSSAPI is not supported by server")
            )
        self._begin(GSSAPI)
        return self._token(frame)

    def _api_versions(self, request: DecodedRequest) -> Step:
        body = self._requests.api_versions(request)
        if getattr(body, "error_code", 0) == 0:
            self._state = State.HANDSHAKE
        return Step(_encoded(request.header, body))

    def _handshake(self, request: DecodedRequest) -> Step:
        header, mechanism = request.header, request.body.mechanism
        self._headers = header.api_version >= 1
        enabled = mechanism in self._settings.mechanisms
        answer = encode_response(
            SaslHandshakeResponse(
                version=header.api_version,
                error_code=0 if enabled else UNSUPPORTED_SASL_MECHANISM,
                mechanisms=list(self._settings.mechanisms),
            ),
            version=header.api_version,
            correlation_id=header.correlation_id,
        )
        again = self._previous
        if not enabled:
            text = "Unsupported SASL mechanism"
            return self._failed(_closes_now(text) if again else _closes_later(text, answer))
        if again is not None and again.mechanism != mechanism:
            self.mechanism = mechanism
            self._state = State.BAD_MECHANISM
        else:
            self._begin(mechanism)
        return Step(answer)

    def _begin(self, mechanism: str) -> None:
        self.mechanism = mechanism
        self._server = self._settings.mechanisms[mechanism](self._address)
        self._state = State.AUTHENTICATE

    # ------------------------------------------------------------------------------------------------ tokens

    def _token(self, frame: bytes) -> Step | Awaitable[Step]:
        if not self._headers:
            return self._evaluate(None, frame)
        header = _header_of(frame, self._requests.served)
        if header is None:
            return self._failed(_closes_now("Error parsing request header"))
        if header.api_key != ApiKey.SASL_AUTHENTICATE:
            return self._failed(self._illegal_state(frame, header))
        try:
            request = decode_request(frame, SASL_AUTHENTICATE)
        except RemoteProtocolError as error:
            return self._failed(_closes_now(str(error)))
        return self._evaluate(request.header, request.body.auth_bytes)

    def _illegal_state(self, frame: bytes, header: RequestHeader) -> Step:
        served = self._requests.served
        text = f"Unexpected Kafka request of type {_name(header.api_key)} during SASL authentication."
        if header.api_key not in served:
            return _closes_later(text)
        try:
            request = decode_request(frame, served, max_elements=dict.fromkeys(served, MOST_ELEMENTS))
        except UnsupportedApiVersions:  # Kafka takes it for version 0
            old = msgspec.structs.replace(header, api_version=0)
            request = DecodedRequest(old, ApiVersionsRequest(version=0))
        except RemoteProtocolError as error:
            return _closes_now(str(error))
        answer = self._requests.illegal_sasl_state(request, text)
        return _closes_later(text, b"" if answer is None else _encoded(request.header, answer))

    def _evaluate(self, header: RequestHeader | None, token: bytes) -> Step | Awaitable[Step]:
        """`header` is of a SaslAuthenticate; None for a bare token."""
        assert self._server is not None
        try:
            answer = self._server.evaluate(token)
            if isawaitable(answer):
                return self._evaluated_later(header, answer)
            return self._evaluated(header, answer)
        except SaslError as error:
            return self._failed(self._wrong(header, error))

    async def _evaluated_later(self, header: RequestHeader | None, waits: Awaitable[bytes]) -> Step:
        try:
            return self._evaluated(header, await waits)
        except SaslError as error:
            return self._failed(self._wrong(header, error))

    def _evaluated(self, header: RequestHeader | None, answer: bytes) -> Step:
        server = self._server
        assert server is not None
        lifetime = 0
        if server.complete:
            principal = f"User:{server.authorization_id}"
            if self._previous is not None:
                _ensure_unchanged(self._previous.principal, principal)
            lifetime = self._session(server)
            self.principal, self._state = principal, State.COMPLETE
            self._server = None
        if header is None:
            return Step(len(answer).to_bytes(4, "big") + answer)
        return Step(_authenticate_answer(header, 0, "", answer, lifetime))

    def _session(self, server: SaslServer) -> int:
        """The session's length in ms; 0 if it has no end."""
        reauth = self._settings.max_reauth_ms.get(self.mechanism, 0)
        lengths = [float(reauth)] if reauth > 0 else []
        if server.expires_at is not None:
            lengths.append((server.expires_at - self._settings.wall_clock()) * 1000)
        if not lengths:
            self._expires = None
            return 0
        lifetime = max(0, int(min(lengths)))
        self._expires = self._settings.clock() + lifetime / 1000
        return lifetime

    def _wrong(self, header: RequestHeader | None, error: SaslError) -> Step:
        log.debug("SASL mechanism %s: %s", self.mechanism, error)
        if isinstance(error, SaslRetry):
            return _closes_now(str(error))
        known = isinstance(error, SaslAuthenticationError)
        kind = "authentication" if self._previous is None else "re-authentication"
        text = f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {self.mechanism}"
        if known:
            text = str(error)
        if header is None:
            return _closes_later(text) if known else _closes_now(text)
        return _closes_later(text, _authenticate_answer(header, SASL_AUTHENTICATION_FAILED, text, b"", 0))


def _header_of(frame: bytes, served: Mapping[int, tuple[int, int]]) -> RequestHeader | None:
    """None unless it is a request of Kafka, or of this server."""
    try:
        header = peek_request_header(frame)
    except Truncated:
        return None
    return header if header.api_key in KAFKAS_KEYS or header.api_key in served else None


_NAMES = {int(key): key.name for key in ApiKey}


def _name(key: int) -> str:
    """Kafka's, such as API_VERSIONS."""
    return _NAMES.get(key, str(key))


def _ensure_unchanged(before: str, now: str) -> None:
    if before != now:
        one, other = before.replace(":", ".", 1), now.replace(":", ".", 1)
        raise SaslAuthenticationError(f"Cannot change principals during re-authentication from {one}: {other}")


def _encoded(header: RequestHeader, body: Body) -> bytes:
    if isinstance(body, ApiMessage):
        return encode_response(body, version=header.api_version, correlation_id=header.correlation_id)
    data = b"".join(body) if isinstance(body, list) else body
    return response_prefix(header.api_key, header.api_version, header.correlation_id, len(data)) + data


def _authenticate_answer(header: RequestHeader, code: int, text: str, token: bytes, lifetime: int) -> bytes:
    version = header.api_version
    body = SaslAuthenticateResponse(
        version=version, error_code=code, error_message=text, auth_bytes=token, session_lifetime_ms=lifetime
    )
    return encode_response(body, version=version, correlation_id=header.correlation_id)


def _closes_later(reason: str, answer: bytes = b"") -> Step:
    return Step(answer, End.CLOSE_LATER, reason)


def _closes_now(reason: str) -> Step:
    return Step(end=End.CLOSE_NOW, reason=reason)
