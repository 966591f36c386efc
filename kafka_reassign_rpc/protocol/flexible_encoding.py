"""The encoding of flexible versions (KIP-482), for messages that are packed without message objects. Lengths are
varints of the length plus one; 0 stands for null.
"""

import struct
from collections.abc import Sequence


def uvarint(value: int) -> bytes:
    if value <= 0x7F:
        return value.to_bytes()
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def compact_string(text: str) -> bytes:
    data = text.encode()
    return uvarint(len(data) + 1) + data


def sized(data: bytes) -> bytes:
    """The value of a tagged field with its size."""
    return uvarint(len(data)) + data


def compact_ids(ids: Sequence[int]) -> bytes:
    return uvarint(len(ids) + 1) + struct.pack(f">{len(ids)}i", *ids)
