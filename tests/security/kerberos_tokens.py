"""What a stranger may send in the place of a Kerberos ticket, and a client with a ticket in the place of a layer.

None of it needs a KDC, but for what is made of a right token.
"""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from kafka_reassign_rpc.security.sasl.kerberos import LONGEST_TOKEN
from tests.security.worst_tokens import ROOM

KERBEROS = bytes.fromhex("06092a864886f712010202")
OTHER_MECHANISMS: Mapping[str, bytes] = {
    "SPNEGO": bytes.fromhex("06062b0601050502"),
    "IAKERB": bytes.fromhex("06062b0601050205"),
    "NTLM": bytes.fromhex("060a2b06010401823702020a"),
    "one that nobody has": bytes.fromhex("06032a0304"),
}
TICKET, ANSWER, ERROR = b"\x01\x00", b"\x02\x00", b"\x03\x00"
"""The kinds of Kerberos's tokens (RFC 4121)."""
LARGE = LONGEST_TOKEN - 64


def der(tag: int, body: bytes) -> bytes:
    if len(body) < 0x80:
        return bytes((tag, len(body))) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(size))) + size + body


def of_mechanism(mechanism: bytes, body: bytes) -> bytes:
    return der(0x60, mechanism + body)


def negotiated(token: bytes) -> bytes:
    """A first token of SPNEGO, which offers Kerberos and brings its token."""
    offer = der(0xA0, der(0x30, KERBEROS)) + der(0xA2, der(4, token))
    return of_mechanism(OTHER_MECHANISMS["SPNEGO"], der(0xA0, der(0x30, offer)))


def no_tickets() -> Iterator[tuple[str, bytes]]:
    """Tokens that no KDC has made."""
    yield "nothing", b""
    yield "zeros, as many as a frame takes", bytes(ROOM)
    yield "zeros, as many as are looked at", bytes(LARGE)
    yield "begins again and again", b"\x60" * LARGE
    yield "NTLM without a frame", b"NTLMSSP\0" + bytes(100)
    for name, mechanism in OTHER_MECHANISMS.items():
        yield f"{name}, large", of_mechanism(mechanism, bytes(LARGE))
    yield "SPNEGO around what is large", negotiated(bytes(LARGE - 64))
    lists = der(0xA0, der(0x30, der(0xA0, der(0x30, KERBEROS * (LARGE // len(KERBEROS) - 4)))))
    yield "SPNEGO with many mechanisms", of_mechanism(OTHER_MECHANISMS["SPNEGO"], lists)
    for name, kind in (("a ticket", TICKET), ("an answer", ANSWER), ("an error", ERROR), ("no kind", b"\x09\x09")):
        yield f"{name} of zeros", of_mechanism(KERBEROS, kind + bytes(LARGE))
        yield f"{name} without anything", of_mechanism(KERBEROS, kind)
    yield "nested without an end", of_mechanism(KERBEROS, TICKET + b"\x6e\x84\x00\x01\xf0\x00" + b"\x30\x80" * 60_000)
    yield "a length without bytes", of_mechanism(KERBEROS, TICKET + b"\x6e\x84\x7f\xff\xff\xff")
    yield "a length of many bytes", b"\x60\x88" + b"\xff" * 1000


def spoilt(token: bytes) -> Iterator[tuple[str, bytes]]:
    """Of a ticket that would be accepted."""
    yield "with more behind it", token + bytes(100_000)
    for size in (1, 2, 12, 20, len(token) // 2, len(token) - 1):
        yield f"the first {size} bytes", token[:size]
    for name, mechanism in OTHER_MECHANISMS.items():
        yield f"as one of {name}", of_mechanism(mechanism, token)
    yield "within SPNEGO", negotiated(token)
    random = Random(1)
    for place in random.sample(range(len(token) // 2, len(token)), 10):  # the ticket's and the client's ciphertext
        yield (
            f"another bit at {place}",
            token[:place] + bytes((token[place] ^ 1 << random.randrange(8),)) + token[place + 1 :],
        )


LAYERS: Mapping[str, Callable[[Any], bytes]] = {
    "nothing": lambda _: b"",
    "no wrapped message": lambda _: b"x" * 100,
    "zeros": lambda _: bytes(LARGE),
    "the first half": lambda context: context.wrap(b"\1\0\0\0", False).message[:20],
    "all but the last byte": lambda context: context.wrap(b"\1\0\0\0", False).message[:-1],
    "another bit": lambda context: context.wrap(b"\1\0\0\0", False).message[:-1] + b"\x7f",
    "a signature": lambda context: context.get_signature(b"\1\0\0\0"),
    "no bytes": lambda context: context.wrap(b"", False).message,
    "too few": lambda context: context.wrap(b"\1\0\0", False).message,
    "no quality": lambda context: context.wrap(b"\0\0\0\0", False).message,
    "all qualities": lambda context: context.wrap(b"\7\xff\xff\xff", False).message,
    "integrity": lambda context: context.wrap(b"\2\0\x10\0", False).message,
    "privacy, enciphered": lambda context: context.wrap(b"\4\0\x10\0", True).message,
    "a name that is too large": lambda context: context.wrap(b"\1\0\0\0" + b"a" * LONGEST_TOKEN, False).message,
}
"""The last message of a client whose ticket is right, by its context; none of them lets it in."""
