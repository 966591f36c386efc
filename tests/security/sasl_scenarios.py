"""What clients may send to a listener with SASL, message by message, and what they see of it: on any server."""

import asyncio
import contextlib
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    ListGroupsRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kafka_reassign_rpc.security.sasl.scram import ScramCredential
from tests.security.sasl_steps import CREDENTIALS, plain, request, scram_credential, scram_proof
from tests.security.test_sasl_authenticator import HANDSHAKE, HANDSHAKE_0, METADATA, ORDERS, RIGHT, VERSIONS, WRONG
from tests.stock.live import Transcript

DELAY_MS = 1500
"""connection.failed.authentication.delay.ms of both servers."""
LATE_S = 0.9 * DELAY_MS / 1000
SESSION_MS = 2500
RECEIVE_SIZE = 2000
SASL, REAUTH = "SASL", "REAUTH"
"""Listeners: sessions have no end; they end after SESSION_MS."""


class Token(bytes):
    """A bare token."""


class Size(int):
    """The size of a frame that never comes."""


Pause = float
Step = bytes | Size | Pause | Callable[[bytes], bytes]
"""A frame; the size of one; seconds; or a frame made of the last token of the server."""


def handshake(mechanism: str, version: int = 1) -> bytes:
    return request(SaslHandshakeRequest(mechanism=mechanism, version=version), version)


def authenticate(token: bytes, version: int = 2) -> bytes:
    return request(SaslAuthenticateRequest(auth_bytes=token, version=version), version)


FIRST = b"n,,n=alice,r=abcdefgh"
NOBODY = b"n,,n=nobody,r=abcdefgh"
BOB = authenticate(plain("bob", "bob-secret"))


def wrong_proof(first: bytes) -> bytes:
    return f"c=biws,{first.decode().split(',')[0]},p={'A' * 43}=".encode()


SCRAM = "SCRAM-SHA-256"
SCRAM_USERS: Mapping[str, ScramCredential] = {user: CREDENTIALS[SCRAM][user] for user in ("alice", "bob")} | {
    "tab\tbed": scram_credential(SCRAM, "tab-secret"),
    "comma,=": scram_credential(SCRAM, "comma-secret"),
    "ünal": scram_credential(SCRAM, "ünal-secret"),
    "salty": scram_credential(SCRAM, "salty-secret", salt=b"s"),
    "unsalted": scram_credential(SCRAM, "unsalted-secret", salt=b""),
}
"""Who has a credential on both servers."""


def scram(
    first: str, password: str, *, signed: str = "", last: Callable[[str], str] | None = None, added: str = ""
) -> Sequence[Step]:
    """A login. `signed`: the first message as the client signs it, where that is not what it sends; `last`: what it
    sends and signs before its proof, made of the nonce; `added`: what it sends there and does not sign."""
    bare = signed or first.split(",", 2)[2]

    def final(token: bytes) -> bytes:
        nonce = token.decode().partition(",")[0].removeprefix("r=")
        made = scram_proof(SCRAM, password, bare, token, last(nonce) if last else "")
        return authenticate(made.replace(b",p=", added.encode() + b",p="))

    return [handshake(SCRAM), authenticate(first.encode()), final, METADATA]


ALICE = "alice-secret"
SCRAM_LOGINS: Mapping[str, Sequence[Step]] = {
    "login": scram("n,,n=alice,r=abcdefgh", ALICE),
    "tab": scram("n,,n=tab\tbed,r=abcdefgh", "tab-secret"),
    "escapes": scram("n,,n=comma=2C=3D,r=abcdefgh", "comma-secret"),
    "small_escapes": scram("n,,n=comma=2c=3d,r=abcdefgh", "comma-secret"),
    "short_salt": scram("n,,n=salty,r=abcdefgh", "salty-secret"),
    "no_salt": scram("n,,n=unsalted,r=abcdefgh", "unsalted-secret"),
    "not_ascii": scram("n,,n=ünal,r=abcdefgh", "ünal-secret"),
    "fullwidth": scram("n,,n=\uff41lice,r=abcdefgh", ALICE),
    "soft_hyphen": scram("n,,n=al\u00adice,r=abcdefgh", ALICE),
    "space_behind": scram("n,,n=alice ,r=abcdefgh", ALICE),
    "reserved": scram("n,,m=x,n=alice,r=abcdefgh", ALICE, signed="n=alice,r=abcdefgh"),
    "reserved_and_signed": scram("n,,m=x,n=alice,r=abcdefgh", ALICE),
    "reserved_empty": scram("n,,m=,n=alice,r=abcdefgh", ALICE),
    "extension": scram("n,,n=alice,r=abcdefgh,trace=1=2", ALICE),
    "extension_twice": scram("n,,n=alice,r=abcdefgh,t=1,t=2", ALICE, signed="n=alice,r=abcdefgh,t=2"),
    "extension_empty": scram("n,,n=alice,r=abcdefgh,t=", ALICE),
    "extension_odd": scram("n,,n=alice,r=abcdefgh,t1=x", ALICE),
    "no_token": scram("n,,n=alice,r=abcdefgh,tokenauth=false", ALICE),
    "token_in_capitals": scram("n,,n=alice,r=abcdefgh,tokenauth=TRUE", ALICE),
    "authzid": scram("n,a=alice,n=alice,r=abcdefgh", ALICE),
    "another_authzid": scram("n,a=bob,n=alice,r=abcdefgh", ALICE),
    "escaped_authzid": scram("n,a=comma=2C=3D,n=comma=2C=3D,r=abcdefgh", "comma-secret"),
    "channel_not_used": scram("y,,n=alice,r=abcdefgh", ALICE),
    "any_channel": scram("n,,n=alice,r=abcdefgh", ALICE, last=lambda nonce: f"c=AAAA,r={nonce}"),
    "no_channel": scram("n,,n=alice,r=abcdefgh", ALICE, last=lambda nonce: f"c=,r={nonce}"),
    "long_nonce_of_the_end": scram("n,,n=alice,r=abcdefgh", ALICE, last=lambda nonce: f"c=biws,r=x{nonce}"),
    "cut_nonce": scram("n,,n=alice,r=abcdefgh", ALICE, last=lambda nonce: f"c=biws,r={nonce[1:]}"),
    "last_extension": scram("n,,n=alice,r=abcdefgh", ALICE, added=",t=1"),
    "last_extension_signed": scram("n,,n=alice,r=abcdefgh", ALICE, last=lambda nonce: f"c=biws,r={nonce},t=1"),
    "last_proof_counts": scram("n,,n=alice,r=abcdefgh", ALICE, added=",p=AAAA"),
}
MORE: Mapping[str, tuple[str, Sequence[Step]]] = {
    "no_user": (SASL, [HANDSHAKE, authenticate(plain("nobody", "x"))]),
    "empty_user": (SASL, [HANDSHAKE, authenticate(plain("", "x"))]),
    "empty_password": (SASL, [HANDSHAKE, authenticate(plain("alice", ""))]),
    "two_parts": (SASL, [HANDSHAKE, authenticate(b"alice\0x")]),
    "five_parts": (SASL, [HANDSHAKE, authenticate(b"a\0b\0c\0d\0e")]),
    "no_utf8": (SASL, [HANDSHAKE, authenticate(b"\0\xff\xfe\0x")]),
    "authzid": (SASL, [HANDSHAKE, authenticate(plain("alice", "alice-secret", "alice")), METADATA]),
    "another_authzid": (SASL, [HANDSHAKE, authenticate(plain("alice", "alice-secret", "bob"))]),
    "authenticate_0": (SASL, [HANDSHAKE, authenticate(plain("alice", "alice-secret"), 0), METADATA]),
    "authenticate_0_wrong": (SASL, [HANDSHAKE, authenticate(plain("alice", "no"), 0)]),
    "served_then": (SASL, [VERSIONS, HANDSHAKE, RIGHT, VERSIONS, HANDSHAKE, RIGHT, METADATA]),
    "raw_served_then": (SASL, [HANDSHAKE_0, Token(plain("alice", "alice-secret")), METADATA]),
    "scram_no_user": (SASL, [handshake(SCRAM), authenticate(NOBODY)]),
    "scram_wrong_proof": (SASL, [handshake(SCRAM), authenticate(FIRST), lambda t: authenticate(wrong_proof(t))]),
    "scram_garbage": (SASL, [handshake(SCRAM), authenticate(b"\xff\0,,")]),
    "scram_token": (SASL, [handshake(SCRAM), authenticate(FIRST + b",tokenauth=true")]),
    "scram_other_nonce": (SASL, [handshake(SCRAM), authenticate(FIRST), authenticate(b"c=biws,r=x,p=AAAA")]),
    "scram_raw_no_user": (SASL, [handshake(SCRAM, 0), Token(NOBODY)]),
    "scram_raw_wrong_proof": (SASL, [handshake(SCRAM, 0), Token(FIRST), lambda t: Token(wrong_proof(t))]),
    "large_frame": (SASL, [Size(RECEIVE_SIZE + 1)]),
    "negative_frame": (SASL, [Size(-1)]),
    "large_frame_after_versions": (SASL, [VERSIONS, Size(RECEIVE_SIZE + 1)]),
    "large_frame_after_handshake": (SASL, [HANDSHAKE, Size(RECEIVE_SIZE + 1)]),
    "http": (SASL, [Size(int.from_bytes(b"GET ", "big"))]),
    "session": (REAUTH, [HANDSHAKE, RIGHT, METADATA]),
    "session_of_authenticate_0": (REAUTH, [HANDSHAKE, authenticate(plain("alice", "alice-secret"), 0), METADATA]),
    "session_over": (REAUTH, [HANDSHAKE, RIGHT, 3.0, METADATA]),
    "raw_session_over": (REAUTH, [HANDSHAKE_0, Token(plain("alice", "alice-secret")), 3.0, METADATA]),
    "again": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE, RIGHT, METADATA]),
    "again_after_the_end": (REAUTH, [HANDSHAKE, RIGHT, 3.0, HANDSHAKE, RIGHT, METADATA]),
    "again_raw": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE_0, Token(plain("alice", "alice-secret")), METADATA]),
    "again_too_soon": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE, RIGHT, HANDSHAKE, METADATA]),
    "again_twice": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE, RIGHT, 1.2, HANDSHAKE, RIGHT, METADATA]),
    "again_as_another": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE, BOB]),
    "again_raw_as_another": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE_0, Token(plain("bob", "bob-secret"))]),
    "again_wrong": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE, WRONG]),
    "again_scram_wrong": (
        REAUTH,
        [HANDSHAKE, RIGHT, handshake(SCRAM), authenticate(NOBODY)],
    ),
    "again_another_mechanism_then_request": (REAUTH, [HANDSHAKE, RIGHT, handshake(SCRAM), METADATA]),
    "again_unknown_mechanism": (REAUTH, [HANDSHAKE, RIGHT, handshake("CRAM-MD5")]),
    "again_then_request": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE, request(ListGroupsRequest(version=4), 4)]),
    "again_then_versions": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE, VERSIONS]),
    "again_then_large_frame": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE, Size(RECEIVE_SIZE + 1)]),
    "authenticate_without_handshake": (REAUTH, [HANDSHAKE, RIGHT, RIGHT, METADATA]),
    "cut_handshake_again": (REAUTH, [HANDSHAKE, RIGHT, HANDSHAKE[:-2]]),
}
_RAW = ("raw", "raw_wrong_password", "raw_gets_a_request", "raw_empty")
SCENARIOS: Mapping[str, tuple[str, Sequence[Step]]] = (
    {
        name: (SASL, [Token(frame) if name in _RAW and at else frame for at, frame in enumerate(frames)])
        for name, frames, _ in ORDERS
        if name != "cut_produce_after_handshake"  # how Kafka ends on a Produce without a body was not recorded
    }
    | dict(MORE)
    | {f"scram_{name}": (SASL, steps) for name, steps in SCRAM_LOGINS.items()}
)


async def play(steps: Sequence[Step], address: tuple[str, int]) -> Transcript:
    """What a client sees at each step, until the connection is closed: the answer, whether it came late, and whether
    the connection closed behind it."""
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection(*address)
    transcript: Transcript = []
    token = b""
    try:
        for number, step in enumerate(steps):
            if isinstance(step, float):
                await asyncio.sleep(step)  # a session grows old
                continue
            sent: bytes | Size = step(token) if callable(step) else step
            writer.write(struct.pack(">i", sent) if isinstance(sent, Size) else struct.pack(">i", len(sent)) + sent)
            begun = loop.time()
            answer = await _frame(reader)
            late = loop.time() - begun > LATE_S
            seen: dict[str, Any] = {"late": late, "closed": answer is None}
            if answer is not None and not isinstance(sent, Size):
                seen["answer"], token = _shown(sent, answer)
            if late and answer is not None:
                seen["closed"] = await _frame(reader) is None
            transcript.append((str(number), seen))
            if seen["closed"]:
                break
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    return transcript


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    try:
        async with asyncio.timeout(30):
            size = int.from_bytes(await reader.readexactly(4), "big")
            return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _shown(sent: bytes, answer: bytes) -> tuple[dict[str, Any], bytes]:
    """What an answer says that is the same on all servers, and its token."""
    if isinstance(sent, Token):
        return {"token": bool(answer)}, answer
    key, version = struct.unpack_from(">hh", sent)
    if key == 18 and version > 4:
        version = 0
    body: Any = decode_response(RESPONSES[key], answer, version=version)[1]
    shown: dict[str, Any] = {"key": key}
    for name in ("error_code", "error_message", "session_lifetime_ms"):
        field = type(body)._struct.fields.get(name)
        if field is not None and field.for_version_q(version):
            shown[name] = getattr(body, name)
    if key == 17:
        shown["mechanisms"] = sorted(body.mechanisms)
    token = body.auth_bytes if key == 36 else b""
    return shown | ({"token": bool(token)} if key == 36 else {}), token
