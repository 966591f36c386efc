"""The frames that cost a server most: for each API and version, as many of the smallest elements as fit into a size.

Built from the schemas, so that a new API is covered without a change. Texts are distinct, since handlers merge equal
ones, and numbers are too.
"""

import struct
from collections.abc import Iterator
from typing import Any

from kafka.protocol.schemas.fields import codecs
from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.struct import StructField

from kafka_reassign_rpc.protocol.decoder_source import NUMBERS_PER_ELEMENT
from kafka_reassign_rpc.protocol.frame_codec import request_prefix, uvarint
from kafka_reassign_rpc.protocol.messages import REQUESTS, ApiMessage

_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._"
_PLACE = len(_DIGITS)


def arrays(message: type[ApiMessage], version: int) -> list[tuple[str, ...]]:
    """The paths of all arrays of a request in a version, nested ones included: each can be the one that is filled."""
    return list(_arrays(message._struct, version, ()))


def _arrays(struct_field: StructField, version: int, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for field in struct_field.untagged_fields(version):
        if isinstance(field, ArrayField):
            yield (*path, field.name)
            if isinstance(field.array_of, StructField):
                yield from _arrays(field.array_of, version, (*path, field.name))
        elif isinstance(field, StructField):
            yield from _arrays(field, version, (*path, field.name))


def most_accepted(key: int, version: int, path: tuple[str, ...], max_elements: int) -> int:
    """How many elements the array at `path` may have where all arrays together may have `max_elements`."""
    field: Any = REQUESTS[key]._struct
    for name in path:
        field = field.fields[name]
        if isinstance(field, ArrayField):
            field = field.array_of
    numbers = not isinstance(field, StructField) and field.is_batchable()
    return (max_elements - len(path)) * (NUMBERS_PER_ELEMENT if numbers else 1)


def largest_frame(key: int, version: int, path: tuple[str, ...], size: int, most: int | None = None) -> bytes:
    """A request of `size` bytes at most whose array at `path` has as many elements as fit, but at most `most`. Arrays
    on the way have one element; all others are empty, and null where only that is smaller. With its length."""
    message: Any = REQUESTS[key]
    encoding = _Encoding(version, message.flexible_version_q(version), most)
    prefix = len(request_prefix(message, version=version, correlation_id=1, client_id="x", body_size=0))
    body = encoding.structure(message._struct, path, size - prefix)
    return request_prefix(message, version=version, correlation_id=1, client_id="x", body_size=len(body)) + body


class _Encoding:
    def __init__(self, version: int, flexible: bool, most: int | None) -> None:
        self._version = version
        self._flexible = flexible
        self._most = most
        self.elements = 0
        self._texts = 0

    def structure(self, field: StructField, path: tuple[str, ...], room: int) -> bytes:
        """A structure whose array at `path` fills `room`; the smallest where the path is empty."""
        fields = field.untagged_fields(self._version)
        tags = b"\0" if self._flexible else b""
        before: list[bytes] = []
        after: list[bytes] = []
        filled: Any = None
        for inner in fields:
            if path and inner.name == path[0]:
                filled = inner
            else:
                (before if filled is None else after).append(self._smallest(inner))
        head, tail = b"".join(before), b"".join(after) + tags
        if filled is None:
            return head + tail
        left = room - len(head) - len(tail)
        if isinstance(filled, ArrayField):
            return head + self._array(filled, path[1:], left) + tail
        present = b"\1" if filled.nullable_for_version_q(self._version) else b""
        return head + present + self.structure(filled, path[1:], left - len(present)) + tail

    def _array(self, field: ArrayField, path: tuple[str, ...], room: int) -> bytes:
        element = field.array_of
        if path:
            return self._count(1) + self.structure(element, path, room - 5)
        parts: list[bytes] = []
        left = room - 5
        while self._most is None or len(parts) < self._most:
            one = self.structure(element, (), 0) if isinstance(element, StructField) else self._element(element)
            left -= len(one)
            if left < 0:
                break
            parts.append(one)
        return self._count(len(parts)) + b"".join(parts)

    def _count(self, count: int) -> bytes:
        return uvarint(count + 1) if self._flexible else struct.pack(">i", count)

    def _element(self, field: Any) -> bytes:
        if isinstance(field._type, codecs.String):
            return self._text()
        self._texts += 1
        return struct.pack(">q", self._texts)[-field._type.size :]

    def _smallest(self, field: Any) -> bytes:
        if field.name == "acks":
            return struct.pack(">h", -1)  # of a Produce that wants an answer
        if isinstance(field, ArrayField):
            return self._count(0)
        if isinstance(field, StructField):
            if field.nullable_for_version_q(self._version):
                return b"\xff"
            return self.structure(field, (), 0)
        codec = field._type
        if isinstance(codec, codecs.String):
            return self._text()
        if codec is codecs.Bytes:
            return self._count(0)
        if codec is codecs.UUID or codec is codecs.Int64:
            return bytes(codec.size)
        if codec is codecs.Int32 and field.name in {"partition_index", "partition_id", "partition"}:
            self._texts += 1
            return struct.pack(">i", self._texts)
        return bytes(codec.size)

    def _text(self) -> bytes:
        """The next text: one character as long as there are new ones, then two, …"""
        number, text = self._texts, bytearray()
        self._texts += 1
        while True:
            number, digit = divmod(number, _PLACE)
            text.append(_DIGITS[digit])
            if not number:
                break
            number -= 1
        return (uvarint(len(text) + 1) if self._flexible else struct.pack(">h", len(text))) + bytes(text)
