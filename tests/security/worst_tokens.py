"""The tokens and requests that cost a server most before it knows who has sent them.

Each fills a frame of `sasl.server.max.receive.size`: with one field, with the smallest fields of the grammar, or with
what almost is one. `TOKENS` are a client's first message, by mechanism; `LATER` its next one, made of the server's.
"""

import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.protocol.frame_codec import uvarint
from kafka_reassign_rpc.protocol.messages import (
    REQUESTS,
    ApiVersionsRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from tests.largest_frames import arrays, largest_frame
from tests.security.sasl_steps import api_versions, request

LARGEST = 524_288
"""sasl.server.max.receive.size of Kafka."""
ROOM = LARGEST - 100
"""Without the header of a request."""


def filled(before: bytes, part: bytes, behind: bytes = b"", room: int = ROOM) -> bytes:
    """As many parts as there is room for."""
    return before + part * ((room - len(before) - len(behind)) // len(part)) + behind


def _jwt(header: bytes, payload: bytes = b"{}", signature: bytes = bytes(256)) -> bytes:
    return b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in (header, payload, signature))


def _bearer(token: bytes) -> bytes:
    return b"n,,\x01auth=Bearer " + token + b"\x01\x01"


def _numbered(before: bytes, form: str, behind: bytes, room: int) -> bytes:
    """Distinct parts."""
    parts, size = [before], len(before) + len(behind)
    for number in range(room):
        part = (form % number).encode()
        size += len(part)
        if size > room:
            break
        parts.append(part)
    return b"".join(parts) + behind


def _json(room: int) -> Iterator[tuple[str, bytes]]:
    """Documents that are JSON, or nearly. Their header is one of a token."""
    head = b'{"alg":"RS256","kid":"rsa"'
    yield "keys", _numbered(head, ',"%d":0', b"}", room)
    yield "lists", filled(head + b',"a":[', b"[],", b"0]}", room)
    yield "nested", filled(head + b',"a":', b"[", b"", room)
    yield "numbers", filled(head + b',"a":[', b"1e9,", b"0]}", room)
    yield "a number", filled(head + b',"a":', b"9", b"}", room)
    yield "escapes", filled(head + b',"a":"', b"\\u0000", b'"}', room)
    yield "a key id", filled(b'{"alg":"RS256","kid":"', b"k", b'"}', room)
    yield "crit", filled(head + b',"crit":[', b'"a",', b'"b"]}', room)
    yield "an algorithm", filled(b'{"alg":"', b"R", b'"}', room)


def _of_oauthbearer() -> Iterator[tuple[str, bytes]]:
    yield "authorization id", filled(b"n,a=", b"a", b",\x01auth=Bearer a.b.c\x01\x01")
    yield "escapes", filled(b"n,a=", b"=2C", b",\x01auth=Bearer a.b.c\x01\x01")
    yield "pairs", filled(b"n,,\x01", b"a=b\x01", b"auth=Bearer a.b.c\x01\x01")
    yield "pairs without an end", filled(b"n,,\x01", b"a=b\x01", b"auth")
    yield "a key", filled(b"n,,\x01", b"a", b"=b\x01\x01")
    yield "a value", filled(b"n,,\x01a=", b"b", b"\x01\x01")
    yield "spaces", filled(b"n,,\x01auth=Bearer ", b" ", b"\x01\x01")
    yield "a token", filled(b"n,,\x01auth=Bearer ", b"a", b"\x01\x01")
    yield "dots", filled(b"n,,\x01auth=Bearer ", b".", b"\x01\x01")
    yield "padding", filled(b"n,,\x01auth=Bearer a", b"=", b"\x01\x01")
    for size in (ROOM, 64_000):  # as large as a frame, and as a token that is looked at
        room = (size - 500) * 3 // 4
        for name, document in _json(room):
            yield f"header, {name}, {size}", _bearer(_jwt(document))
        for name, document in _json(room):
            yield f"payload, {name}, {size}", _bearer(_jwt(b'{"alg":"RS256","kid":"rsa"}', document))
        signature = bytes(room - 200)
        yield f"signature, {size}", _bearer(_jwt(b'{"alg":"RS256","kid":"rsa"}', signature=signature))
        yield f"signature of PS512, {size}", _bearer(_jwt(b'{"alg":"PS512","kid":"rsa"}', bytes(room - 1000)))
        yield f"signature of ES256, {size}", _bearer(_jwt(b'{"alg":"ES256","kid":"ec"}', bytes(room - 1000), bytes(64)))


def _of_scram() -> Iterator[tuple[str, bytes]]:
    for room in (ROOM, 8192):  # as large as a frame, and as a message that is looked at
        yield f"name, {room}", filled(b"n,,n=", b"a", b",r=b", room)
        yield f"name of escapes, {room}", filled(b"n,,n=", b"=2C", b",r=b", room)
        yield f"escapes without an end, {room}", filled(b"n,,n=", b"=2C", b"=2", room)
        yield f"name that is not ASCII, {room}", filled(b"n,,n=", "ａ".encode(), b",r=b", room)  # noqa: RUF001
        yield f"name of combining characters, {room}", filled(b"n,,n=", "\u0344\u1100".encode(), b",r=b", room)
        yield f"nonce, {room}", filled(b"n,,n=alice,r=", b"r", b"", room)
        yield f"nonce that is none, {room}", filled(b"n,,n=alice,r=", b"r", b"\x00", room)
        yield f"authorization id, {room}", filled(b"n,a=", b"=3D", b",n=alice,r=b", room)
        yield f"reserved, {room}", filled(b"n,,m=", b"m", b",n=alice,r=b", room)
        yield f"extensions, {room}", filled(b"n,,n=alice,r=b", b",a=b", b"", room)
        yield f"extensions without an end, {room}", filled(b"n,,n=alice,r=b", b",a=b", b",", room)
        yield f"distinct extensions, {room}", _numbered(b"n,,n=alice,r=b", ",%d=b", b"", room)
        yield f"an extension, {room}", filled(b"n,,n=alice,r=b,a=", b"=", b"", room)
    yield "commas", b"," * ROOM


def _of_plain() -> Iterator[tuple[str, bytes]]:
    for room in (ROOM, 20_000):  # as large as a frame, and as a message that is looked at
        yield f"name, {room}", filled(b"\0", b"a", b"\0b", room)
        yield f"authorization id, {room}", filled(b"", b"a", b"\0alice\0b", room)
        yield f"password, {room}", filled(b"\0alice\0", b"b", b"", room)
    yield "no separators", b"a" * ROOM
    yield "separators", bytes(ROOM)
    yield "no UTF-8", b"\xff" * ROOM
    yield "characters of four bytes", filled(b"\0alice\0", "\U0001f600".encode())


TOKENS: Mapping[str, Mapping[str, bytes]] = {
    "PLAIN": dict(_of_plain()),
    "SCRAM-SHA-256": dict(_of_scram()),
    "SCRAM-SHA-512": dict(_of_scram()),
    "OAUTHBEARER": dict(_of_oauthbearer()),
}


def _scram_final(name: str, room: int) -> Callable[[bytes], bytes]:
    def made(server_first: bytes) -> bytes:
        nonce = server_first.partition(b",")[0]
        head = b"c=biws," + nonce
        return {
            "channel": filled(b"c=", b"AAAA", b"," + nonce + b",p=AAAA", room),
            "nonce": filled(b"c=biws,r=", b"r", nonce[2:] + b",p=AAAA", room),
            "proof": filled(head + b",p=", b"AAAA", b"", room),
            "proof that is none": filled(head + b",p=", b"A", b"=", room),
            "extensions": filled(head, b",a=b", b",p=AAAA", room),
            "proofs": filled(head, b",p=AAAA", b"", room),
            "proofs without an end": filled(head, b",p=AAAA", b",p", room),
        }[name]

    return made


_FINALS = {
    f"last message, {name}, {room}": _scram_final(name, room)
    for name in ("channel", "nonce", "proof", "proof that is none", "extensions", "proofs", "proofs without an end")
    for room in (ROOM, 8192)
}
LATER: Mapping[str, tuple[bytes, Mapping[str, Callable[[bytes], bytes]]]] = {
    "SCRAM-SHA-256": (b"n,,n=alice,r=abcdefgh", _FINALS),
    "SCRAM-SHA-512": (b"n,,n=alice,r=abcdefgh", _FINALS),
    "OAUTHBEARER": (
        _bearer(b"a.b.c"),
        {f"after a bad one, {name}": (lambda _, token=token: token) for name, token in TOKENS["OAUTHBEARER"].items()},  # type: ignore[misc]
    ),
}
"""By mechanism: a first message that does not end the exchange, and what may come next, made of the answer."""


def authenticate(token: bytes, version: int = 2) -> bytes:
    return request(SaslAuthenticateRequest(auth_bytes=token, version=version), version)


def _tags(room: int) -> bytes:
    """As many tagged fields as there is room for."""
    parts = bytearray()
    count = 0
    while len(parts) < room - 10:
        parts += uvarint(count) + b"\0"
        count += 1
    return uvarint(count) + parts


def _header(message: Any, version: int) -> bytes:
    return struct.pack(">hhih", message.API_KEY, version, 7, -1)


def first_requests() -> Iterator[tuple[str, bytes]]:
    """Requests that may come before a mechanism is chosen, and what looks like one."""
    tags = _tags(ROOM)
    for name, text in {"letters": "a", "a hyphen at the end": "a-", "dots": ".", "no ASCII": "ü"}.items():
        yield f"ApiVersions, a name: {name}", request(api_versions(3, text * (ROOM // len(text.encode()))), 3)
        body = ApiVersionsRequest(
            client_software_name="a", client_software_version=text * (ROOM // len(text.encode())), version=3
        )
        yield f"ApiVersions, a version: {name}", request(body, 3)
    yield "ApiVersions, tags of the header", _header(ApiVersionsRequest, 3) + tags + b"\x02a\x02b\0"
    yield "ApiVersions, tags of the body", _header(ApiVersionsRequest, 3) + b"\0\x02a\x02b" + tags
    yield "ApiVersions, unknown version", _header(ApiVersionsRequest, 99)[:-2] + bytes(ROOM)
    yield "ApiVersions, a client id", struct.pack(">hhih", 18, 0, 7, 32_767) + b"c" * 32_767
    yield "SaslHandshake, a mechanism", request(SaslHandshakeRequest(mechanism="P" * 32_767, version=1), 1)
    yield "SaslHandshake, bytes behind it", request(SaslHandshakeRequest(mechanism="PLAIN", version=1), 1) + bytes(ROOM)
    yield "no request", b"\xff" * ROOM
    yield "bytes of 0", bytes(ROOM)


def requests_in_the_place_of_a_token() -> Iterator[tuple[str, bytes]]:
    """After a handshake: SaslAuthenticate with other fields filled."""
    tags = _tags(ROOM)
    head = _header(SaslAuthenticateRequest, 2)
    yield "SaslAuthenticate, tags of the header", head + tags + b"\x01\0"
    yield "SaslAuthenticate, tags of the body", head + b"\0\x01" + tags
    yield "SaslAuthenticate, a count of tags", head + b"\0\x01\xff\xff\xff\x7f" + bytes(ROOM)
    yield "SaslAuthenticate, a length", head + b"\0\xff\xff\xff\x7f" + bytes(ROOM)
    yield "SaslAuthenticate, bytes behind it", authenticate(b"x", 0) + bytes(ROOM)


def other_requests(most: int | None) -> Iterator[tuple[str, bytes]]:
    """One of each API and array, with as many elements as there is room for, or `most`."""
    for api in SERVER_APIS.values():
        for path in arrays(REQUESTS[api.key], api.max_version):
            frame = largest_frame(api.key, api.max_version, path, ROOM, most)[4:]
            yield f"{api.name}, {'.'.join(path)}", frame
