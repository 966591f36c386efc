"""One frame to one message and back. A frame here begins behind the four bytes of length; the encoders put these in
front. Headers are read and written by hand, since they are the larger part of a small request.

    Request header  v0: key, version, correlation id. Only ControlledShutdown 0.
                    v1: also the client id, a nullable string with a two-byte length.
                    v2: also tagged fields. All flexible versions.
    Answer header   v0: correlation id.
                    v1: also tagged fields. All flexible versions but those of ApiVersions, whose reader does not yet
                    know which versions the server speaks.

Flexible versions (KIP-482) have lengths as varints of the length plus one; 0 stands for null. Messages that are packed
without message objects are encoded here.
"""

import struct
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec
from kafka.protocol.schemas.fields.codecs import EncodeBufferPool
from kafka.protocol.schemas.fields.codecs.encode_buffer import EncodeBuffer

from kafka_reassign_rpc.protocol.bounded_decoder import decoder, parts
from kafka_reassign_rpc.protocol.decoder_source import UNLIMITED, Decoder, decoded, skip_tags
from kafka_reassign_rpc.protocol.frame_errors import (
    UNSUPPORTED_VERSION,
    BadLength,
    BadText,
    LocalProtocolError,
    Truncated,
    UnknownApi,
    UnsupportedApiVersions,
    UnsupportedVersion,
)
from kafka_reassign_rpc.protocol.messages import REQUESTS, RESPONSES, ApiMessage, ApiVersionsResponse
from kafka_reassign_rpc.protocol.versions import SUPPORTED, ApiKey


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


MAX_ELEMENTS = 1_000_000
"""Array elements, at all depths together, of a request whose reader sets no limit.

An element costs some 100 bytes of objects but as few as three on the wire, so this bounds memory; the size of the frame
does not. `api.api_definition` has the limits of a server.
"""

KEPT_BUFFER_BYTES = 1024 * 1024
"""A larger buffer for encoding is not kept."""

ANY_REQUEST: Mapping[int, int] = MappingProxyType({})
"""`MAX_ELEMENTS` for each API key."""

_NO_CLIENT_ID = -(1 << 16)
"""The frame is too short for a client id; smaller than any int16."""

_REQUEST_HEAD = struct.Struct(">hhih")
_REQUEST_HEAD_0 = struct.Struct(">hhi")
_SIZED_REQUEST_HEAD = struct.Struct(">ihhih")
_ANSWER_HEAD = struct.Struct(">ii")
_CONTROLLED_SHUTDOWN_0 = struct.pack(">hh", ApiKey.CONTROLLED_SHUTDOWN, 0)
"""The only request whose header has no client id."""
_NO_TAGS = b"\0"
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")

ENCODING_MISTAKES = (struct.error, TypeError, ValueError, AttributeError)
"""kafka-python's encoders raise these for a message that does not fit its schema."""

AnyMessage = TypeVar("AnyMessage", bound="ApiMessage")
Body = ApiMessage | bytes | list[bytes]
"""A message, the bytes of an encoded one, or the pieces of these."""


class NoAnswer(msgspec.Struct, frozen=True, gc=False):
    """The request wants no answer, as Produce with acks=0. `closes`: its connection closes instead."""

    closes: bool


Reply = Body | NoAnswer
Encoder = Callable[[Any, EncodeBuffer], None]


class RequestHeader(msgspec.Struct, frozen=True, gc=False):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


class DecodedRequest(msgspec.Struct, frozen=True):
    """`body` is a message of the header's key and version."""

    header: RequestHeader
    body: Any


class _Buffers(EncodeBufferPool):  # type: ignore[misc]
    """Growing buffers of our own, one for each thread: a message's own `encode` may be using kafka-python's."""

    _local = threading.local()

    @classmethod
    def _release(cls, buf: EncodeBuffer) -> None:
        if len(buf.buf) > KEPT_BUFFER_BYTES:
            cls._local.buf = None


class _Reader(NamedTuple):
    decode: Decoder
    flexible: bool


def decode_request(
    frame: bytes | bytearray | memoryview,
    served: Mapping[int, tuple[int, int]] = SUPPORTED,
    *,
    max_elements: Mapping[int, int] = ANY_REQUEST,
) -> DecodedRequest:
    """`served` has the accepted versions by API key, `max_elements` the most array elements. Raises a
    RemoteProtocolError.
    """
    data = frame if type(frame) is bytes else bytes(frame)
    header, pos, reader = _request_header(data, served)
    *_, found = reader.decode(data, pos, max_elements.get(header.api_key, MAX_ELEMENTS))
    assert found is not None
    return DecodedRequest(header, found[0])


def decode_request_in_slices(
    frame: bytes, served: Mapping[int, tuple[int, int]], max_elements: Mapping[int, int]
) -> Generator[None, None, DecodedRequest]:
    """`decode_request` that yields every few elements."""
    header, pos, reader = _request_header(frame, served)
    body = yield from _in_slices(reader.decode(frame, pos, max_elements.get(header.api_key, MAX_ELEMENTS)))
    return DecodedRequest(header, body)


def _in_slices(steps: Iterator[tuple[Any, int] | None]) -> Generator[None, None, Any]:
    found = None
    for found in steps:
        if found is None:
            yield
    assert found is not None
    return found[0]


def _request_header(data: bytes, served: Mapping[int, tuple[int, int]]) -> tuple[RequestHeader, int, _Reader]:
    """Returns also the offset of the body, and what reads it."""
    try:
        key, version, correlation_id, size = _REQUEST_HEAD.unpack_from(data)
    except struct.error:
        key, version, correlation_id, _ = msgspec.structs.astuple(peek_request_header(data))
        size = _NO_CLIENT_ID
    versions = served.get(key)
    if versions is None:
        raise UnknownApi(f"API {key} is not served")
    if not versions[0] <= version <= versions[1]:
        kind = UnsupportedApiVersions if key == ApiKey.API_VERSIONS else UnsupportedVersion
        raise kind(f"version {version} of API {key} is not served, {versions[0]} to {versions[1]} are")
    reader = _reader(key, version)
    client_id = None
    if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        pos = _REQUEST_HEAD_0.size
    else:
        pos = _REQUEST_HEAD.size
        if size > 0:
            stop = pos + size
            if stop > len(data):
                raise BadLength(f"a client id of {size} bytes, {len(data) - pos} are left")
            try:
                client_id = data[pos:stop].decode()
            except UnicodeDecodeError as error:
                raise BadText(f"client id is not UTF-8: {error.reason}") from None
            pos = stop
        elif size == 0:
            client_id = ""
        elif size == _NO_CLIENT_ID:
            raise Truncated("the frame ends inside its header")
        elif size < -1:
            raise BadLength(f"client id has length {size}")
        if reader.flexible:
            pos = pos + 1 if data[pos : pos + 1] == _NO_TAGS else _skip_header_tags(data, pos)
    return RequestHeader(key, version, correlation_id, client_id), pos, reader


def peek_request_header(frame: bytes) -> RequestHeader:
    """The part that every header has, for logs and for ApiVersions."""
    try:
        key, version, correlation_id = _REQUEST_HEAD_0.unpack_from(frame)
    except struct.error:
        raise Truncated(f"a request of {len(frame)} bytes has no room for its header") from None
    return RequestHeader(key, version, correlation_id, None)


def peek_client_id(frame: bytes) -> str | None:
    """For a request that cannot be decoded further. None if it is unreadable."""
    if len(frame) < _REQUEST_HEAD.size or frame[:4] == _CONTROLLED_SHUTDOWN_0:
        return None
    size = _REQUEST_HEAD.unpack_from(frame)[3]
    name = frame[_REQUEST_HEAD.size : _REQUEST_HEAD.size + max(0, size)]
    return name.decode("utf-8", "replace") if 0 <= size == len(name) else None


def encode_request(body: ApiMessage, *, version: int, correlation_id: int, client_id: str | None) -> bytes:
    cls = type(body)
    encode, flexible = _encoder(cls, version)
    key = body.API_KEY
    name = b"" if client_id is None else client_id.encode()
    with _Buffers.acquire() as out:
        if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
            _SIZED_REQUEST_HEAD.pack_into(out.buf, 0, 0, key, version, correlation_id, 0)
            out.pos = 4 + _REQUEST_HEAD_0.size
        else:
            out.ensure(_SIZED_REQUEST_HEAD.size + len(name) + 1)
            _SIZED_REQUEST_HEAD.pack_into(
                out.buf, 0, 0, key, version, correlation_id, -1 if client_id is None else len(name)
            )
            pos = _SIZED_REQUEST_HEAD.size
            out.buf[pos : pos + len(name)] = name
            out.pos = pos + len(name)
            if flexible:
                out.buf[out.pos] = 0
                out.pos += 1
        return _finish(body, version, encode, out)


def request_prefix(
    cls: type[ApiMessage], *, version: int, correlation_id: int, client_id: str | None, body_size: int
) -> bytes:
    name = b"" if client_id is None else client_id.encode()
    tags = b"\0" if cls.flexible_version_q(version) else b""
    size = _REQUEST_HEAD.size + len(name) + len(tags) + body_size
    named = -1 if client_id is None else len(name)
    return _SIZED_REQUEST_HEAD.pack(size, cls.API_KEY, version, correlation_id, named) + name + tags


def encode_response(body: ApiMessage, *, version: int, correlation_id: int) -> bytes:
    cls = type(body)
    encode, flexible = _encoder(cls, version)
    with _Buffers.acquire() as out:
        _ANSWER_HEAD.pack_into(out.buf, 0, 0, correlation_id)
        out.pos = _ANSWER_HEAD.size
        if flexible and cls is not ApiVersionsResponse:
            out.buf[out.pos] = 0
            out.pos += 1
        return _finish(body, version, encode, out)


def response_prefix(key: int, version: int, correlation_id: int, body_size: int) -> bytes:
    if _has_tags_in_its_header(key, version):
        return _ANSWER_HEAD.pack(body_size + 5, correlation_id) + b"\0"
    return _ANSWER_HEAD.pack(body_size + 4, correlation_id)


@cache
def _has_tags_in_its_header(key: int, version: int) -> bool:
    return key != ApiKey.API_VERSIONS and bool(RESPONSES[key].flexible_version_q(version))


def encode_body(body: ApiMessage, *, version: int) -> bytes:
    """For an answer that is sent many times, or in pieces (response_prefix)."""
    cls = type(body)
    encode, _ = _encoder(cls, version)
    with _Buffers.acquire() as out:
        _run(body, version, encode, out)
        return bytes(memoryview(out.buf)[: out.pos])


def decode_response(
    cls: type[AnyMessage], frame: bytes | bytearray | memoryview, *, version: int
) -> tuple[int, AnyMessage]:
    """Returns the correlation id and the body of an answer to a request of `version`.

    An ApiVersions answer with error 35 comes in version 0.
    """
    data = frame if type(frame) is bytes else bytes(frame)
    correlation_id, pos = answer_header(cls, data, version=version)
    if cls is ApiVersionsResponse and data[pos : pos + 2] == _INT16.pack(UNSUPPORTED_VERSION):
        version = 0
    body, _ = decoded(_decoder(cls, version)(data, pos, UNLIMITED))
    return correlation_id, body


def decode_body(cls: type[AnyMessage], body: bytes, *, version: int) -> AnyMessage:
    """Raises a RemoteProtocolError."""
    message: AnyMessage
    message, _ = decoded(_decoder(cls, version)(body, 0, UNLIMITED))
    return message


def decode_body_in_slices(cls: type[AnyMessage], body: bytes, *, version: int) -> Generator[None, None, AnyMessage]:
    """`decode_body` that yields every few elements."""
    message: AnyMessage = yield from _in_slices(_decoder(cls, version)(body, 0, UNLIMITED))
    return message


def decode_body_in_parts(
    cls: type[AnyMessage], body: bytes, array: str, *, version: int
) -> tuple[AnyMessage, Iterator[Any]]:
    """Decodes a large body: the message up to its field `array`, and an iterator that decodes that array's elements.
    Both raise RemoteProtocolError. Bytes behind the array are not read.
    """
    read = parts(cls, version, array)
    (head, count), start = decoded(read.head(body, 0, UNLIMITED))

    def elements() -> Iterator[Any]:
        at = start
        for _ in range(count):
            element, at = decoded(read.element(body, at, UNLIMITED))
            yield element

    return head, elements()


def decode_head(
    cls: type[AnyMessage], data: bytes, array: str, *, version: int, start: int = 0
) -> tuple[AnyMessage, int]:
    """Of the body that begins at `start`: the message up to its field `array`, and the offset at which that begins,
    with its count. Raises RemoteProtocolError.
    """
    (head, count), pos = decoded(parts(cls, version, array).head(data, start, UNLIMITED))
    return head, pos - (len(uvarint(count + 1)) if cls.flexible_version_q(version) else _INT32.size)


def answer_header(cls: type[ApiMessage], data: bytes, *, version: int) -> tuple[int, int]:
    """Returns the correlation id, and the offset of the body."""
    try:
        (correlation_id,) = _INT32.unpack_from(data)
    except struct.error:
        raise Truncated(f"an answer of {len(data)} bytes has no room for its header") from None
    pos = _INT32.size
    if cls is not ApiVersionsResponse and cls.flexible_version_q(version):
        pos = _skip_header_tags(data, pos)
    return correlation_id, pos


def _skip_header_tags(data: bytes, pos: int) -> int:
    try:
        return skip_tags(data, pos) if data[pos] else pos + 1
    except IndexError:
        raise Truncated("the frame ends inside its header") from None


@cache
def _reader(key: int, version: int) -> _Reader:
    """Callers pass only keys and versions of `served`, so the cache stays small whatever peers send."""
    message = REQUESTS.get(key)
    if message is None or not 0 <= version <= message.max_version:
        raise UnsupportedVersion(f"version {version} of API {key} cannot be read")
    return _Reader(_decoder(message, version), message.flexible_version_q(version))


@cache
def _decoder(cls: type[ApiMessage], version: int) -> Decoder:
    if not 0 <= version <= cls.max_version:
        raise LocalProtocolError(f"{cls.name} has versions 0 to {cls.max_version}, not {version}")
    return decoder(cls, version)


@cache
def _encoder(cls: type[ApiMessage], version: int) -> tuple[Encoder, bool]:
    """kafka-python's, and whether the version is flexible."""
    if not 0 <= version <= cls.max_version:
        raise LocalProtocolError(f"{cls.name} has versions 0 to {cls.max_version}, not {version}")
    flexible = cls.flexible_version_q(version)
    if cls.encode is not ApiMessage.encode:
        return _encode_by_its_own_method(version), flexible
    return cls._struct.compiled_encode_into(version, compact=flexible, tagged=flexible), flexible


def _encode_by_its_own_method(version: int) -> Encoder:
    """For the few classes of kafka-python that correct fields before they encode (MetadataRequest 0)."""

    def encode(body: ApiMessage, out: EncodeBuffer) -> None:
        data = body.encode(version=version)
        out.ensure(len(data))
        out.buf[out.pos : out.pos + len(data)] = data
        out.pos += len(data)

    return encode


def _finish(body: ApiMessage, version: int, encode: Encoder, out: EncodeBuffer) -> bytes:
    _run(body, version, encode, out)
    _INT32.pack_into(out.buf, 0, out.pos - 4)
    return bytes(memoryview(out.buf)[: out.pos])


def _run(body: ApiMessage, version: int, encode: Encoder, out: EncodeBuffer) -> None:
    try:
        encode(body, out)
    except ENCODING_MISTAKES as error:
        raise not_encodable(type(body), version, error) from error


def not_encodable(cls: type[ApiMessage], version: int, error: Exception) -> LocalProtocolError:
    return LocalProtocolError(f"{cls.__name__} v{version} cannot be encoded: {error}")


FIELD = "throttle_time_ms"
SIZE = 4
_NO_WAIT = bytes(SIZE)


def throttle_ms(key: int, version: int, body: Body) -> int:
    """Of an answer to this API; 0 where it does not say."""
    if isinstance(body, ApiMessage):
        return int(getattr(body, FIELD, 0))
    first = (body[0] if isinstance(body, list) else body)[:SIZE]
    if first == _NO_WAIT or not begins_with_throttle(key, version):
        return 0
    return int.from_bytes(first, "big", signed=True)


@cache
def begins_with_throttle(key: int, version: int) -> bool:
    """In ApiVersions and a few others the field stands elsewhere, but these are messages. A large answer to Produce
    does not say how long its client waits."""
    fields = RESPONSES[key]._struct.fields
    return next((name for name, field in fields.items() if field.for_version_q(version)), "") == FIELD
