"""The client's side of the SASL mechanisms that Kafka knows, without I/O.

An exchange is a generator: it yields each token for the server, gets the server's answer, and ends when it is done. A
mechanism may fetch a token or derive a key in between: run it off the event loop.

Source: Kafka's ScramSaslClient, OAuthBearerSaslClient; RFC 4616 (PLAIN), 5802 (SCRAM), 7628 (OAUTHBEARER), 4752
(GSSAPI).

The errors of a login. No text has a password, a token or a line of a login configuration.
"""

import hashlib
import hmac
import re
import secrets
import ssl
from base64 import b64decode, b64encode
from collections.abc import Generator, Mapping
from typing import Protocol

from kafka_reassign_rpc.core.configs.scram_credentials import (
    LEAST_ITERATIONS,
    MOST_OF_A_LOGIN,
    client_key_of,
    server_key_of,
    stored_key_of,
)
from kafka_reassign_rpc.support.bounded_text import shortened


class LoginFailed(ConnectionError):
    """The other side, or the mechanism, refused a login."""


def failure(error: Exception) -> str:
    """Of libraries, only Kerberos' own errors are known to show no secret."""
    if type(error).__module__.startswith("gssapi"):
        return shortened(" ".join(str(error).split()), 300)
    return f"the answer cannot be used ({type(error).__name__})"


def tls_failure(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message or error.reason}"
    return f"TLS failed: {(error.reason or 'the connection was closed').lower().replace('_', ' ')}"


Exchange = Generator[bytes, bytes, None]

NONCE_BYTES = 16
LONGEST_MESSAGE = 8192
"""In bytes: a server's message of SCRAM has a nonce, a salt and a number."""
_SERVER_FIRST = re.compile(r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/=]+),i=(?P<iterations>\d{1,9})")
_SERVER_FINAL = re.compile(r"v=(?P<signature>[A-Za-z0-9+/=]+)(?:,.*)?")
_AUTH_ALONE = b"\x01"
"""The first octet of Kafka's choice of a security layer: none (RFC 4752)."""


class TokenProvider(Protocol):
    """kafka-python's AbstractTokenProvider is one."""

    def token(self) -> str: ...
    def extensions(self) -> Mapping[str, str]: ...


def next_token(exchange: Exchange, challenge: bytes | None = None) -> bytes | None:
    """The first, or the one after this answer of the server; None at the end."""
    try:
        return next(exchange) if challenge is None else exchange.send(challenge)
    except StopIteration:
        return None


def plain(username: str, password: str) -> Exchange:
    challenge = yield "\0".join((username, username, password)).encode()
    if challenge:
        raise LoginFailed("PLAIN: the broker did not end the exchange")


def scram(mechanism: str, username: str, password: str) -> Exchange:
    """Raises LoginFailed if the server does not know the password."""
    digest = "sha" + mechanism.rpartition("-")[2]
    nonce = secrets.token_hex(NONCE_BYTES)
    name = username.replace("=", "=3D").replace(",", "=2C")
    client_first = f"n={name},r={nonce}"

    server_first = _text(mechanism, (yield f"n,,{client_first}".encode()))
    found = _SERVER_FIRST.fullmatch(server_first)
    if found is None or not found["nonce"].startswith(nonce):
        raise LoginFailed(f"{mechanism}: the server's first message is none for this client")
    iterations = int(found["iterations"])
    if not LEAST_ITERATIONS <= iterations <= MOST_OF_A_LOGIN:
        raise LoginFailed(
            f"{mechanism}: the server wants {iterations} iterations, {LEAST_ITERATIONS} to {MOST_OF_A_LOGIN} are taken"
        )
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), b64decode(found["salt"]), iterations)
    client_final = f"c=biws,r={found['nonce']}"
    signed = f"{client_first},{server_first},{client_final}".encode()
    signature = hmac.digest(stored_key_of(digest, salted), signed, digest)
    proof = bytes(one ^ other for one, other in zip(client_key_of(digest, salted), signature, strict=True))

    server_final = _text(mechanism, (yield f"{client_final},p={b64encode(proof).decode()}".encode()))
    ended = _SERVER_FINAL.fullmatch(server_final)
    known = hmac.digest(server_key_of(digest, salted), signed, digest)
    if ended is None or not hmac.compare_digest(b64decode(ended["signature"]), known):
        raise LoginFailed(f"{mechanism}: the server does not prove that it knows the password")


def _text(mechanism: str, message: bytes) -> str:
    if len(message) > LONGEST_MESSAGE:
        raise LoginFailed(f"{mechanism}: a message of {len(message)} bytes is too long")
    return message.decode()


def oauthbearer(provider: TokenProvider) -> Exchange:
    extensions = "".join(f"\x01{name}={value}" for name, value in provider.extensions().items())
    refusal = yield f"n,,\x01auth=Bearer {provider.token()}{extensions}\x01\x01".encode()
    if refusal:
        yield b"\x01"  # the server then says why, as an error
        raise LoginFailed("OAUTHBEARER: the broker did not end the exchange")


def gssapi(service: str, host: str) -> Exchange:
    """`service` and `host` are parts of the server's principal, such as kafka/broker1."""
    import gssapi as kerberos

    principal = f"{service}@{host}"
    name = kerberos.Name(principal, name_type=kerberos.NameType.hostbased_service)
    context = kerberos.SecurityContext(name=name.canonicalize(kerberos.MechType.kerberos), usage="initiate")
    token = context.step(None)
    while not context.complete:
        token = context.step((yield token or b""))
    offer = context.unwrap((yield token or b"")).message
    if not offer or not offer[0] & _AUTH_ALONE[0]:
        raise LoginFailed("GSSAPI: the server wants every message sealed, which Kafka does not do")
    # The server's largest message stays as it is: without a layer it has no meaning.
    yield context.wrap(_AUTH_ALONE + offer[1:] + principal.encode(), False).message
