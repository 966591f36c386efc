"""Frames of every API and version, well-formed and not. A seed says which; nothing else does."""

import struct
from random import Random
from typing import NamedTuple

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_request
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import REQUESTS, ProduceRequest
from tests.fuzz.damage import damaged
from tests.fuzz.messages import Request

KINDS = {"valid": 40, "damaged": 25, "truncated": 10, "many": 8, "long": 4, "tags": 3, "header": 6, "size": 4}
"""How often each kind is drawn.

    valid      well-formed, with any values; many of them name what exists
    damaged    a valid one with some bytes of its body changed, left out or added
    truncated  a valid one whose end is missing, with the right size in front
    many       well-formed, one array with very many elements
    long       well-formed, one text or byte array is very long
    tags       well-formed, with very many unknown tagged fields
    header     an API or a version that may not be served
    size       a size in front that is not that of the frame
"""
CLIENT_IDS = (None, "", "fuzz", "fuzz", "fuzz", "\r\nINFO forged", "x" * 30_000)
LONGEST_TEXT = 32_767
"""Of a text whose length takes two bytes."""
LEAST_FRAME = 8
_PRODUCE = struct.pack(">h", ProduceRequest.API_KEY)


class Frame(NamedTuple):
    """`data` with the size in front. A frame that is not `whole` gets no answer; of the others, see `wants_answer`."""

    key: int
    version: int
    kind: str
    data: bytes

    @property
    def whole(self) -> bool:
        return self.kind != "size"

    @property
    def wants_answer(self) -> bool:
        """Produce with acks=0 gets none: its connection goes on where it names no partition, and closes where it does
        (KafkaApis.handleProduceRequest). What cannot be decoded closes its connection."""
        if self.data[4:6] != _PRODUCE:
            return True
        try:
            request = decode_request(self.data[4:])
        except ProtocolError:
            return True
        return bool(request.body.acks)

    def __str__(self) -> str:
        return f"{SERVER_APIS[self.key].name} version {self.version}, {self.kind}, {len(self.data)} bytes"


def frame(rng: Random, largest: int) -> Frame:
    """Any frame. `largest`: bytes of the largest one, as far as they are a matter of choice."""
    key = rng.choice(list(SERVER_APIS))
    version = rng.randint(SERVER_APIS[key].min_version, SERVER_APIS[key].max_version)
    (kind,) = rng.choices(list(KINDS), list(KINDS.values()))
    return frame_of(rng, key, version, kind, largest)


def frame_of(rng: Random, key: int, version: int, kind: str, largest: int) -> Frame:
    """A frame of this kind; a valid one where this version has none of the kind."""
    request, client_id = Request(rng.getrandbits(64), key, version), rng.choice(CLIENT_IDS)
    size = int(2 ** rng.uniform(10, largest.bit_length()))
    large = None
    if kind == "many" and request.arrays:
        large = _many(request, rng.choice(request.arrays), client_id, key, version, min(size, largest))
    elif kind == "long" and request.texts:
        large = _long(request, rng.choice(request.texts), client_id, version, min(size, largest))
    elif kind == "tags" and _is_flexible(key, version):
        large = _tags(_encoded(request.message(tagged=False), client_id, version), min(size, largest))
    if large is not None:
        return Frame(key, version, kind, large)
    data = _encoded(request.message(), client_id, version)
    body = data[4:]
    if kind == "damaged":
        data = _sized(body[:LEAST_FRAME] + damaged(rng, body[LEAST_FRAME:]))
    elif kind == "truncated":
        data = _sized(body[: rng.randint(LEAST_FRAME, len(body))])
    elif kind == "size":
        sizes = (-(1 << 31), -1, 0, 7, len(body) - 1, len(body) + 1, 1 << 20, 1 << 24, (1 << 31) - 1)
        data = struct.pack(">i", rng.choice(sizes)) + body
    elif kind == "header":
        key_and_version = rng.choice(((rng.randint(-5, 100), version), (key, rng.randint(-3, 40))))
        data = _sized(struct.pack(">hh", *key_and_version) + body[4:])
    else:
        kind = "valid"
    return Frame(key, version, kind, data)


def variants(rng: Random, count: int) -> list[Frame]:
    """A small valid frame of any API and version, and damaged ones of it: much cheaper than as many different ones."""
    key = rng.choice(list(SERVER_APIS))
    version = rng.randint(SERVER_APIS[key].min_version, SERVER_APIS[key].max_version)
    valid = frame_of(rng, key, version, "valid", 0)
    head, body = valid.data[4 : 4 + LEAST_FRAME], valid.data[4 + LEAST_FRAME :]
    return [
        valid,
        *(Frame(key, version, "damaged", _sized(head + damaged(rng, body, most=2))) for _ in range(count - 1)),
    ]


def _sized(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def _encoded(message: object, client_id: str | None, version: int) -> bytes:
    return encode_request(message, version=version, correlation_id=1, client_id=client_id)  # type: ignore[arg-type]


def _is_flexible(key: int, version: int) -> bool:
    return bool(REQUESTS[key].flexible_version_q(version))


def _many(request: Request, array: str, client_id: str | None, key: int, version: int, size: int) -> bytes | None:
    """The frame with an array so long that it has about `size` bytes; None where its elements have none.

    It is not encoded as a whole, which takes seconds: the frames with one element and with two differ in the count and
    in the second element.
    """
    one, two = (_encoded(request.message(array=array, count=count), client_id, version)[4:] for count in (1, 2))
    width = len(two) - len(one)
    if not width:
        return None
    at = next(place for place, (first, second) in enumerate(zip(one, two, strict=False)) if first != second)
    count = max(1, size // width)
    if _is_flexible(key, version):
        head, number = one[:at], _varint(count + 1)
    else:
        head, number = one[: at - 3], struct.pack(">i", count)
    element, tail = two[at + 1 : at + 1 + width], one[at + 1 + width :]
    return _sized(head + number + element * count + tail)


def _long(request: Request, text: str, client_id: str | None, version: int, size: int) -> bytes:
    try:
        return _encoded(request.message(text=text, size=size), client_id, version)
    except (ProtocolError, struct.error, ValueError):
        return _encoded(request.message(text=text, size=min(size, LONGEST_TEXT)), client_id, version)


def _tags(data: bytes, size: int) -> bytes:
    """A flexible message ends with the number of its tagged fields."""
    count = max(1, size // 4)
    tags = b"".join(_varint(10_000 + number) + b"\x00" for number in range(count))
    return _sized(data[4:-1] + _varint(count) + tags)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
