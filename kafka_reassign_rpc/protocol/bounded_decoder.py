"""Decoders that check every length, generated from a parsed schema: one function for each message and version.

kafka-python's own decoders trust every length that they read: they build an array of two thousand million elements
until the memory is gone, silently cut a string that is longer than the frame, and copy the rest of the frame for each
tagged field. The decoders made here build the same objects in one pass, and check before they allocate:

- a fixed-size field, against the bytes that are there (`struct` and indexing raise past the end);
- the length of a string or of bytes, against the bytes left;
- the count of an array, against the bytes left: count * (least size of an element) must fit into them;
- the count of all array elements of a message together, against `room` (what a server is willing to build);
- a variable-length integer: five bytes at most;
- null where the version does not allow it, and lengths below -1, which mean nothing;
- each tagged field, against the size that it announces. Tags that the schema does not know are skipped, not kept;
- text: valid UTF-8.

So the size of a frame bounds memory and time, whatever the frame contains. Bytes behind a valid body are ignored, as in
Kafka (a newer peer may know more fields).
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from kafka.protocol.schemas.fields import codecs
from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.simple import SimpleField
from kafka.protocol.schemas.fields.struct import StructField

from kafka_reassign_rpc.protocol.frame_errors import (
    BadLength,
    BadTag,
    BadText,
    BadVarint,
    NullNotAllowed,
    RemoteProtocolError,
    TooManyElements,
    Truncated,
)
from kafka_reassign_rpc.protocol.messages import ApiMessage

UNLIMITED = 1 << 62
"""`room` for messages that may be large, such as answers to our own requests."""

_VARINT_BYTES = 5
_ZERO_UUID = bytes(16)


class Decoder(Protocol):
    """Decodes one message body: (bytes, its offset, array elements allowed) -> (message, offset of its end)."""

    def __call__(self, data: bytes, pos: int, room: int, /) -> tuple[Any, int]: ...


def decoder(message: type[ApiMessage], version: int) -> Decoder:
    """The checked decoder of `message` (an ApiMessage class) in `version`; each call generates a new one.

    The decoder raises a RemoteProtocolError for any mistake in the bytes.
    """
    flexible = message.flexible_version_q(version)
    writer = _Writer(version, flexible)
    writer.line(1, "end = len(data)")
    writer.structure(message._struct, message, "obj", 1)
    writer.line(1, "obj._header = None")
    writer.line(1, "return obj, pos")
    return _checked(f"{message.name} v{version}", writer)


class Parts(NamedTuple):
    """Two decoders for a message of which only parts are built: `head` returns (message, count), then `element` is
    called `count` times.

    `head` fills in the fields before the array. The bytes behind the array are not read.
    """

    head: Decoder
    element: Decoder


def parts(message: type[ApiMessage], version: int, array: str) -> Parts:
    """The checked decoders of `message` in `version` that decode one element of its field `array` at a time.

    For large answers: the caller can look at an element and forget it. A null array has no elements.
    """
    flexible = message.flexible_version_q(version)
    fields = message._struct.untagged_fields(version)
    at = next(index for index, field in enumerate(fields) if field.name == array)
    head = _Writer(version, flexible)
    head.line(1, "end = len(data)")
    head.start(message, "obj", 1)
    head.fields(fields[:at], "obj", 1)
    head.count(fields[at], "count", 1)
    head.line(1, "return (obj, max(count, 0)), pos")
    element = _Writer(version, flexible)
    element.line(1, "end = len(data)")
    element.structure(fields[at].array_of, fields[at].data_class, "obj", 1)
    element.line(1, "return obj, pos")
    name = f"{message.name} v{version}"
    return Parts(_checked(name, head), _checked(f"{name} {array}", element))


def _checked(name: str, writer: "_Writer") -> Decoder:
    """The function that `writer` has written, with errors that name the message."""
    read = writer.function(name.replace(" ", "_"))

    def decode(data: bytes, pos: int, room: int, /) -> tuple[Any, int]:
        try:
            result: tuple[Any, int] = read(data, pos, room)
        except RemoteProtocolError as error:
            error.args = (f"{name}: {error}",)
            raise
        except (struct.error, IndexError):
            raise Truncated(f"{name}: the frame ends inside a field") from None
        except UnicodeDecodeError as error:
            raise BadText(f"{name}: not UTF-8: {error.reason}") from None
        return result

    return decode


def least_size(field: Any, version: int, flexible: bool) -> int:
    """The fewest bytes that `field` can take in `version`. It bounds the count of an array of such fields."""
    if isinstance(field, ArrayField):
        return 1 if flexible else 4
    if isinstance(field, StructField):
        if field.nullable_for_version_q(version):
            return 1
        return _least_size_of_fields(field, version, flexible)
    codec = field._type
    if isinstance(codec, codecs.String):
        return 1 if flexible else 2
    if codec is codecs.Bytes:
        return 1 if flexible else 4
    size: int = codec.size
    return size


def _least_size_of_fields(field: StructField, version: int, flexible: bool) -> int:
    return sum(least_size(inner, version, flexible) for inner in field.untagged_fields(version)) + (
        1 if flexible else 0
    )


# ------------------------------------------------------------------------------------------- called by generated code


def varint(data: bytes, pos: int) -> tuple[int, int]:
    """Reads an unsigned variable-length integer of at most five bytes: (value, offset of its end)."""
    value = 0
    for index in range(_VARINT_BYTES):
        byte = data[pos + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, pos + index + 1
    raise BadVarint(f"a variable-length integer of more than {_VARINT_BYTES} bytes")


def skip_tags(data: bytes, pos: int) -> int:
    """Skips a section of tagged fields of which none is known; returns the offset of its end."""
    return read_tags(None, data, pos, {}, 0)


def read_tags(obj: Any, data: bytes, pos: int, known: dict[int, tuple[str, Any, frozenset[str]]], room: int) -> int:
    """Reads a section of tagged fields into `obj`; returns the offset of its end."""
    end = len(data)
    count, pos = varint(data, pos)
    if count * 2 > end - pos:
        raise BadLength(f"{count} tagged fields in {end - pos} bytes")
    for _ in range(count):
        tag, pos = varint(data, pos)
        size, pos = varint(data, pos)
        stop = pos + size
        if stop > end:
            raise BadLength(f"tagged field {tag} of {size} bytes, {end - pos} are left")
        if tag in known:
            name, read, tags = known[tag]
            try:
                value, used = read(data[pos:stop], 0, room)
            except (struct.error, IndexError):
                raise BadTag(f"tagged field {tag} does not fit into its {size} bytes") from None
            if used != size:
                raise BadTag(f"tagged field {tag} takes {used} of its {size} bytes")
            setattr(obj, name, value)
            obj.tags = tags if obj.tags is None else obj.tags | tags
        pos = stop
    return pos


def bad_length(what: str, length: int, left: int) -> RemoteProtocolError:
    if length < 0:
        return BadLength(f"{what} has length {length}")
    return BadLength(f"{what} has length {length}, {left} bytes are left")


def null_not_allowed(what: str) -> RemoteProtocolError:
    return NullNotAllowed(f"{what} must not be null")


def too_many() -> RemoteProtocolError:
    return TooManyElements("more array elements than are accepted in one message")


_HELPERS: dict[str, Any] = {
    "varint": varint,
    "read_tags": read_tags,
    "bad_length": bad_length,
    "null_not_allowed": null_not_allowed,
    "too_many": too_many,
    "unpack_from": struct.unpack_from,
    "new": object.__new__,
    "UUID": UUID,
    "ZERO_UUID": _ZERO_UUID,
    "bits": codecs.BitField.from_32_bit_field,
}


# ------------------------------------------------------------------------------------------------------ the generator


class _Writer:
    """Writes the source of one decoder. Names in it: data, pos, end, room, and numbered locals."""

    def __init__(self, version: int, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._lines: list[str] = []
        self._globals = dict(_HELPERS)
        self._names = 0

    def function(self, name: str) -> Callable[[bytes, int, int], tuple[Any, int]]:
        source = "\n".join(["def read(data, pos, room):", *self._lines])
        exec(compile(source, f"<decoder {name}>", "exec"), self._globals)  # noqa: S102 (made of schemas, not of input)
        read: Callable[[bytes, int, int], tuple[Any, int]] = self._globals["read"]
        return read

    def line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def structure(self, field: StructField, cls: Any, into: str, depth: int) -> None:
        """Writes the code that reads a structure's fields into a new object of `cls`."""
        version = self._version
        self.start(cls, into, depth)
        self.fields(field.untagged_fields(version), into, depth)
        if self._flexible:
            tags = {
                inner.tag: (inner.name, self._tag_decoder(inner), frozenset((inner.name,)))
                for inner in field.fields.values()
                if inner.for_version_q(version) and inner.tagged_field_q(version)
            }
            self.line(depth, "if data[pos]:")
            self.line(depth + 1, f"pos = read_tags({into}, data, pos, {self._constant('tags', tags)}, room)")
            self.line(depth, "else:")
            self.line(depth + 1, "pos += 1")

    def start(self, cls: Any, into: str, depth: int) -> None:
        """Writes the code that makes a new object of `cls`, without fields."""
        self.line(depth, f"{into} = new({self._constant('cls', cls)})")
        self.line(depth, f"{into}._version = {self._version}")
        self.line(depth, f"{into}.tags = {into}.unknown_tags = None")

    def fields(self, fields: Iterable[Any], into: str, depth: int) -> None:
        """Writes the code that reads untagged fields."""
        run: list[Any] = []
        for inner in fields:
            if inner.is_batchable():
                run.append(inner)
                continue
            self._fixed(run, into, depth)
            run = []
            self._value(inner, f"{into}.{inner.name}", depth)
        self._fixed(run, into, depth)

    def _tag_decoder(self, field: Any) -> Callable[[bytes, int, int], tuple[Any, int]]:
        writer = _Writer(self._version, self._flexible)
        writer.line(1, "end = len(data)")
        writer._value(field, "value", 1)
        writer.line(1, "return value, pos")
        return writer.function(f"tag {field.name}")

    def _fixed(self, run: list[Any], into: str, depth: int) -> None:
        """Writes the code that reads neighbouring fields of fixed size with one `unpack`."""
        if not run:
            return
        layout = struct.Struct(">" + "".join(field._type.fmt for field in run))
        unpack = self._constant("unpack", layout.unpack_from)
        targets = ", ".join(f"{into}.{field.name}" for field in run)
        self.line(depth, f"{targets}{',' if len(run) == 1 else ''} = {unpack}(data, pos)")
        self.line(depth, f"pos += {layout.size}")

    def _value(self, field: Any, target: str, depth: int) -> None:
        if isinstance(field, ArrayField):
            self._array(field, target, depth)
        elif isinstance(field, StructField):
            self._nested(field, target, depth)
        else:
            self._simple(field, target, depth, nullable=field.nullable_for_version_q(self._version))

    def _nested(self, field: StructField, target: str, depth: int) -> None:
        if field.nullable_for_version_q(self._version):
            self.line(depth, "pos += 1")
            self.line(depth, "if data[pos - 1] > 127:")
            self.line(depth + 1, f"{target} = None")
            self.line(depth, "else:")
            depth += 1
        local = self._local("obj")
        self.structure(field, field.data_class, local, depth)
        self.line(depth, f"{target} = {local}")

    def _simple(self, field: SimpleField, target: str, depth: int, *, nullable: bool) -> None:
        codec = field._type
        if isinstance(codec, codecs.String):
            self._sized(field, target, depth, "data[pos:stop].decode()", inflexible=(">h", 2), nullable=nullable)
        elif codec is codecs.Bytes:
            self._sized(field, target, depth, "data[pos:stop]", inflexible=(">i", 4), nullable=nullable)
        elif codec is codecs.UUID:
            self.line(depth, "stop = pos + 16")
            self.line(depth, "if stop > end:")
            self.line(depth + 1, f"raise bad_length({field.name!r}, 16, end - pos)")
            self.line(depth, "raw = data[pos:stop]")
            self.line(depth, f"{target} = None if raw == ZERO_UUID else UUID(bytes=raw)")
            self.line(depth, "pos = stop")
        elif codec is codecs.BitField:
            self.line(depth, "raw, = unpack_from('>I', data, pos)")
            self.line(depth, f"{target} = None if raw == 0x80000000 else bits(raw)")
            self.line(depth, "pos += 4")
        else:
            self.line(
                depth, f"{target}, = {self._constant('unpack', struct.Struct(codec._be_fmt).unpack_from)}(data, pos)"
            )
            self.line(depth, f"pos += {codec.size}")

    def _sized(
        self, field: SimpleField, target: str, depth: int, value: str, *, inflexible: tuple[str, int], nullable: bool
    ) -> None:
        """Writes the code that reads a string or bytes: a length, then that many bytes. The compact length is one more,
        0 for null."""
        size = self._local("n")
        self._read_length(size, depth, inflexible)
        self.line(depth, f"if {size} >= 0:")
        self.line(depth + 1, f"stop = pos + {size}")
        self.line(depth + 1, "if stop > end:")
        self.line(depth + 2, f"raise bad_length({field.name!r}, {size}, end - pos)")
        self.line(depth + 1, f"{target} = {value}")
        self.line(depth + 1, "pos = stop")
        self._null(field, target, depth, size, nullable)

    def _read_length(self, into: str, depth: int, inflexible: tuple[str, int]) -> None:
        if self._flexible:
            self.line(depth, f"{into} = data[pos] - 1")
            self.line(depth, f"if {into} > 126:")
            self.line(depth + 1, f"{into}, pos = varint(data, pos)")
            self.line(depth + 1, f"{into} -= 1")
            self.line(depth, "else:")
            self.line(depth + 1, "pos += 1")
        else:
            layout, size = inflexible
            self.line(depth, f"{into}, = {self._constant('unpack', struct.Struct(layout).unpack_from)}(data, pos)")
            self.line(depth, f"pos += {size}")

    def _null(self, field: Any, target: str, depth: int, size: str, nullable: bool) -> None:
        self.line(depth, f"elif {size} == -1:")
        self.line(depth + 1, f"{target} = None" if nullable else f"raise null_not_allowed({field.name!r})")
        if not self._flexible:
            self.line(depth, "else:")
            self.line(depth + 1, f"raise bad_length({field.name!r}, {size}, 0)")

    def count(self, field: ArrayField, into: str, depth: int) -> None:
        """Writes the code that reads the count of an array (-1 for null) and checks it against the bytes left."""
        element = field.array_of
        if isinstance(element, StructField):
            least = _least_size_of_fields(element, self._version, self._flexible)
        else:
            least = least_size(element, self._version, self._flexible)
        self._read_length(into, depth, (">i", 4))
        self.line(depth, f"if {into} * {max(least, 1)} > end - pos:")
        self.line(depth + 1, f"raise bad_length({field.name!r}, {into}, end - pos)")

    def _array(self, field: ArrayField, target: str, depth: int) -> None:
        element = field.array_of
        count = self._local("n")
        self.count(field, count, depth)
        self.line(depth, f"if {count} >= 0:")
        inner = depth + 1
        self.line(inner, f"room -= {count}")
        self.line(inner, "if room < 0:")
        self.line(inner + 1, "raise too_many()")
        if not isinstance(element, StructField) and element.is_batchable():
            layout = element._type
            self.line(inner, f"{target} = list(unpack_from(f'>{{{count}}}{layout.fmt}', data, pos))")
            self.line(inner, f"pos += {count} * {layout.size}")
        else:
            items, item = self._local("items"), self._local("item")
            self.line(inner, f"{target} = {items} = []")
            self.line(inner, f"for _ in range({count}):")
            if isinstance(element, StructField):
                self.structure(element, element.data_class, item, inner + 1)
            else:
                self._simple(element, item, inner + 1, nullable=False)
            self.line(inner + 1, f"{items}.append({item})")
        self._null(field, target, depth, count, field.nullable_for_version_q(self._version))

    def _local(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _constant(self, prefix: str, value: Any) -> str:
        name = self._local(f"{prefix}_")
        self._globals[name] = value
        return name
