"""Principals as brokers forward them (DefaultPrincipalData of DefaultKafkaPrincipalBuilder):

version (int16, 0), type, name (compact strings), whether a delegation token has authenticated it, tagged fields
"""

import struct

from kafka_reassign_rpc.protocol.decoder_source import LONGEST_TEXT, MISTAKES, skip_tags, varint
from kafka_reassign_rpc.protocol.frame_errors import BadLength, NullNotAllowed, RemoteProtocolError, UnsupportedVersion

_VERSION = struct.Struct(">h")


def decode_principal(data: bytes) -> str:
    """Returns `User:alice`. Raises a RemoteProtocolError."""
    try:
        (version,) = _VERSION.unpack_from(data)
        if version != 0:
            raise UnsupportedVersion(f"a principal of version {version}")
        kind, pos = _text(data, _VERSION.size)
        name, pos = _text(data, pos)
        data[pos]  # whether a token was used
        skip_tags(data, pos + 1)
    except RemoteProtocolError:
        raise
    except MISTAKES as error:
        raise BadLength(f"a principal cannot be decoded: {error}") from error
    return f"{kind}:{name}"


def _text(data: bytes, pos: int) -> tuple[str, int]:
    size, pos = varint(data, pos)
    if not size:
        raise NullNotAllowed("the type and the name of a principal must not be null")
    stop = pos + size - 1
    if size - 1 > LONGEST_TEXT or stop > len(data):
        raise BadLength(f"a text of {size - 1} bytes in a principal of {len(data)} bytes")
    return data[pos:stop].decode(), stop
