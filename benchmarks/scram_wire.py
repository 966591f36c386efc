"""A SCRAM-SHA-512 login that costs the load client almost nothing: it derives the salted password once.

Source: RFC 5802; Kafka's ScramSaslClient. It does not check the server's signature.
"""

import base64
import hashlib
import hmac
import secrets
from functools import cached_property

from benchmarks.client import Wire
from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
)

VERSION = 1


class Credentials:
    """A user, with its password as SCRAM derives it."""

    def __init__(self, name: str, password: str, salt: bytes, iterations: int) -> None:
        self.name = name
        self.salt = salt
        self.iterations = iterations
        self.salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, iterations)

    @cached_property
    def client_key(self) -> bytes:
        return hmac.digest(self.salted, b"Client Key", "sha512")


_HANDSHAKE = encode_request(
    SaslHandshakeRequest(mechanism="SCRAM-SHA-512", version=VERSION), version=VERSION, correlation_id=1, client_id="b"
)


def log_in(wire: Wire, user: Credentials) -> None:
    """Raises RuntimeError if the server refuses the user, or sends another salt."""
    wire.ask(_HANDSHAKE)
    bare = f"n={user.name},r={secrets.token_hex(12)}"
    server_first = _token(wire, f"n,,{bare}".encode()).decode()
    attributes = dict(part.partition("=")[::2] for part in server_first.split(","))
    if base64.b64decode(attributes["s"]) != user.salt:
        raise RuntimeError(f"another salt: {server_first}")
    without_proof = f"c=biws,r={attributes['r']}"
    signed = f"{bare},{server_first},{without_proof}".encode()
    signature = hmac.digest(hashlib.sha512(user.client_key).digest(), signed, "sha512")
    proof = bytes(a ^ b for a, b in zip(user.client_key, signature, strict=True))
    _token(wire, f"{without_proof},p={base64.b64encode(proof).decode()}".encode())


def _token(wire: Wire, token: bytes) -> bytes:
    request = SaslAuthenticateRequest(auth_bytes=token, version=VERSION)
    frame = wire.ask(encode_request(request, version=VERSION, correlation_id=2, client_id="b"))
    _, answer = decode_response(SaslAuthenticateResponse, frame, version=VERSION)
    if answer.error_code:
        raise RuntimeError(f"not authenticated: {answer.error_message}")
    return bytes(answer.auth_bytes)
