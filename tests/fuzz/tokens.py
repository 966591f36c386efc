"""What strangers, and clients that authenticate again, send in the place of a login: any order, any size."""

import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import NamedTuple

from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
)
from tests.fuzz.damage import damaged
from tests.security.sasl_steps import api_versions, plain, request, scram_proof
from tests.security.worst_tokens import LATER, TOKENS, first_requests, requests_in_the_place_of_a_token

USER, PASSWORD = "alice", "alice-secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_NAMES = (*MECHANISMS, "GSSAPI", "CRAM-MD5", "")
_ALPHABET = "n=,ar2C3D\x01\0auth Bearer.p=m=ey"
_FIRST = {
    "PLAIN": plain(USER, "wrong"),
    "OAUTHBEARER": b"n,,\x01auth=Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.e30.AAAA\x01\x01",
    **dict.fromkeys(("SCRAM-SHA-256", "SCRAM-SHA-512"), f"n,,n={USER},r=abcdefgh".encode()),
}
_REQUESTS = [frame for _, frame in (*first_requests(), *requests_in_the_place_of_a_token())]

SHORTEST = 8
"""Bytes of a request."""

Made = bytes | Callable[[bytes], bytes]


class Frame(NamedTuple):
    """A frame without its length. `made` may be a function of the server's last token; `right`: it proves who its
    sender is."""

    kind: str
    made: Made
    right: bool = False


def read(sent: bytes, answer: bytes) -> tuple[bytes, bool]:
    """The server's token, and whether it has let the client in. Sessions have an end, so the last answer of a login
    with headers tells their length; of bare tokens those of SCRAM tell it."""
    key, version = struct.unpack_from(">hh", sent) if len(sent) >= SHORTEST else (-1, -1)
    if key == SaslAuthenticateRequest.API_KEY and 0 <= version <= 2:
        with suppress(ProtocolError):
            body = decode_response(SaslAuthenticateResponse, answer, version=version)[1]
            done = body.error_code == 0 and (body.session_lifetime_ms or 0) > 0
            return bytes(body.auth_bytes or b""), done
    return answer, answer.startswith(b"v=")


def exchange(rng: Random) -> Iterator[Frame]:
    """Frames of one connection, until the server closes it."""
    mechanism = rng.choice(MECHANISMS)
    bare = rng.random() < 0.3
    if rng.random() < 0.3:
        yield Frame("versions", request(api_versions(), 3))
    if rng.random() < 0.2:
        yield Frame("request", rng.choice(_REQUESTS))
    if rng.random() < 0.3:  # a right login, then another one
        yield from _right(rng.choice(MECHANISMS[:3]))
    yield Frame("handshake", _handshake(rng.choice(_NAMES) if rng.random() < 0.1 else mechanism, not bare))
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.1:
            yield Frame("request", rng.choice(_REQUESTS))
            continue
        kind, token = _token(rng, mechanism)
        yield Frame(kind, token if bare else _wrapped(rng, token))


def _handshake(mechanism: str, headers: bool) -> bytes:
    return request(SaslHandshakeRequest(mechanism=mechanism, version=int(headers)), int(headers))


def _right(mechanism: str) -> Iterator[Frame]:
    yield Frame("handshake", _handshake(mechanism, True))
    if mechanism == "PLAIN":
        yield Frame("right", _authenticate(plain(USER, PASSWORD)), right=True)
        return
    bare = f"n={USER},r=abcdefgh"
    yield Frame("right", _authenticate(f"n,,{bare}".encode()))
    yield Frame("right", lambda token: _authenticate(_proof(mechanism, bare, token)), right=True)


def _proof(mechanism: str, bare: str, server_first: bytes) -> bytes:
    return scram_proof(mechanism, PASSWORD, bare, server_first) if server_first.count(b",") == 2 else b"x"


def _authenticate(token: bytes, version: int = 2) -> bytes:
    return request(SaslAuthenticateRequest(auth_bytes=token, version=version), version)


def _wrapped(rng: Random, token: Made) -> Made:
    version, hurt = rng.choice((0, 1, 2)), rng.random() < 0.1

    def made(last: bytes) -> bytes:
        frame = _authenticate(token if isinstance(token, bytes) else token(last), version)
        return damaged(rng, frame) if hurt else frame

    return made


def _token(rng: Random, mechanism: str) -> tuple[str, Made]:
    kind = rng.choice(("well-formed", "damaged", "damaged", "grammar", "grammar", "bytes", "large", "later"))
    if kind == "well-formed":
        return kind, _FIRST[mechanism]
    if kind == "damaged":
        return kind, damaged(rng, _FIRST[mechanism])
    if kind == "grammar":
        return kind, "".join(rng.choices(_ALPHABET, k=rng.choice((3, 30, 300, 30_000)))).encode()
    if kind == "later" and mechanism in LATER:
        return kind, rng.choice(list(LATER[mechanism][1].values()))
    if kind == "large":
        return kind, rng.choice(list(TOKENS[mechanism].values()))
    return kind, rng.randbytes(rng.choice((0, 1, 10, 1000, 100_000)))
