"""The source of a checked decoder (`bounded_decoder`), written from a parsed schema, and the functions that generated
code calls.
"""

import struct
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Protocol
from uuid import UUID

from kafka.protocol.schemas.fields import codecs
from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.simple import SimpleField
from kafka.protocol.schemas.fields.struct import StructField

from kafka_reassign_rpc.protocol.frame_errors import (
    BadLength,
    BadTag,
    BadVarint,
    NullNotAllowed,
    RemoteProtocolError,
    TooManyElements,
)
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.support.slices import finished

UNLIMITED = 1 << 62
"""`room` for messages that may be large, such as answers to our own requests."""

NUMBERS_PER_ELEMENT = 8
"""Numbers of one array that count as one element: they take about as much time.

Fewer, such as the replicas of a partition, count as part of their element.
"""
LONGEST_TEXT = 0x7FFF
"""Bytes. Kafka's generated readers refuse a longer text in every version."""
MOST_TAGS = 64
"""Tagged fields of one structure, known or not. Kafka's messages have fewer than ten."""
NUMBERS_AT_ONCE = 10_000
"""Numbers of one array that are read at once."""
FEW_NUMBERS = 8
"""Arrays of up to so many have a layout that is parsed beforehand: most are the replicas of a partition."""

MISTAKES = (RemoteProtocolError, struct.error, IndexError, UnicodeDecodeError)
"""What a decoder raises where the bytes are no message."""
_VARINT_BYTES = 5
_ELEMENT_OF_TAGS = 4
"""As a shift: 16 bytes of tagged fields count as one element."""
_ZERO_UUID = bytes(16)


class Decoder(Protocol):
    """(bytes, offset of the body, array elements allowed) -> None every few elements, at last (message, offset of its
    end). So the steps of a small message, all at once, are as cheap as a call.
    """

    def __call__(self, data: bytes, pos: int, room: int, /) -> Iterator[tuple[Any, int] | None]: ...


def decoded(steps: Iterator[tuple[Any, int] | None]) -> tuple[Any, int]:
    """Does all steps at once."""
    *_, found = steps
    assert found is not None
    return found


def least_size(field: Any, version: int, flexible: bool) -> int:
    """The fewest bytes of a field, which bound the count of an array of such fields."""
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
    """(value, offset of its end)."""
    value = 0
    for index in range(_VARINT_BYTES):
        byte = data[pos + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, pos + index + 1
    raise BadVarint(f"a variable-length integer of more than {_VARINT_BYTES} bytes")


def skip_tags(data: bytes, pos: int) -> int:
    return finished(read_tags(None, data, pos, {}, 0))


def read_tags(
    obj: Any, data: bytes, pos: int, known: dict[int, tuple[str, Decoder, frozenset[str]]], room: int
) -> Generator[None, None, int]:
    """Returns the offset of their end."""
    end = len(data)
    count, pos = varint(data, pos)
    if count * 2 > end - pos:
        raise BadLength(f"{count} tagged fields in {end - pos} bytes")
    if count > MOST_TAGS:
        raise TooManyElements(f"{count} tagged fields in one place, {MOST_TAGS} are accepted")
    for _ in range(count):
        tag, pos = varint(data, pos)
        size, pos = varint(data, pos)
        stop = pos + size
        if stop > end:
            raise BadLength(f"tagged field {tag} of {size} bytes, {end - pos} are left")
        if tag in known:
            name, read, tags = known[tag]
            try:
                found = None
                for found in read(data[pos:stop], 0, room):
                    if found is None:
                        yield
                assert found is not None
                value, used = found
            except (struct.error, IndexError):
                raise BadTag(f"tagged field {tag} does not fit into its {size} bytes") from None
            if used != size:
                raise BadTag(f"tagged field {tag} takes {used} of its {size} bytes")
            setattr(obj, name, value)
            obj.tags = tags if obj.tags is None else obj.tags | tags
        pos = stop
        yield
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
    "min": min,
}


# ------------------------------------------------------------------------------------------------------ the generator


class DecoderWriter:
    """Names in the source are data, pos, end, room, and numbered locals."""

    def __init__(self, message: type[ApiMessage], version: int) -> None:
        self._message = message
        self._version = version
        self._flexible: bool = message.flexible_version_q(version)
        self._longest_text = LONGEST_TEXT if message.is_request() else UNLIMITED
        self._lines: list[str] = []
        self._globals = dict(_HELPERS)
        self._names = 0

    def function(self, name: str, named: Callable[[Exception], RemoteProtocolError] | None = None) -> Decoder:
        """`named` turns a mistake in the bytes into an error; None leaves that to the caller of the function."""
        lines = self._lines
        if named is not None:
            self._globals |= {"named": named, "MISTAKES": MISTAKES}
            tried = ["    " + line for line in lines]
            lines = ["    try:", *tried, "    except MISTAKES as error:", "        raise named(error) from None"]
        source = "\n".join(["def read(data, pos, room):", *lines])
        exec(compile(source, f"<decoder {name}>", "exec"), self._globals)  # noqa: S102 (made of schemas, not of input)
        read: Decoder = self._globals["read"]
        return read

    def line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def structure(self, field: StructField, cls: Any, into: str, depth: int) -> None:
        version = self._version
        self.start(cls, into, depth)
        self.fields(field.untagged_fields(version), into, depth)
        if self._flexible:
            tags = {
                inner.tag: (inner.name, self._tag_decoder(inner), frozenset((inner.name,)))
                for inner in field.fields.values()
                if inner.for_version_q(version) and inner.tagged_field_q(version)
            }
            since = self._local("at")
            self.line(depth, "if data[pos]:")
            self.line(depth + 1, f"{since} = pos")
            self.line(depth + 1, f"pos = yield from read_tags({into}, data, pos, {self._constant('tags', tags)}, room)")
            self.line(depth + 1, f"room -= pos - {since} >> {_ELEMENT_OF_TAGS}")
            self.line(depth + 1, "if room < 0:")
            self.line(depth + 2, "raise too_many()")
            self.line(depth, "else:")
            self.line(depth + 1, "pos += 1")

    def start(self, cls: Any, into: str, depth: int) -> None:
        self.line(depth, f"{into} = new({self._constant('cls', cls)})")
        self.line(depth, f"{into}._version = {self._version}")
        self.line(depth, f"{into}.tags = {into}.unknown_tags = None")

    def fields(self, fields: Iterable[Any], into: str, depth: int) -> None:
        run: list[Any] = []
        for inner in fields:
            if inner.is_batchable():
                run.append(inner)
                continue
            self._fixed(run, into, depth)
            run = []
            self._value(inner, f"{into}.{inner.name}", depth)
        self._fixed(run, into, depth)

    def _tag_decoder(self, field: Any) -> Decoder:
        writer = DecoderWriter(self._message, self._version)
        writer.line(1, "end = len(data)")
        writer._value(field, "value", 1)
        writer.line(1, "yield value, pos")
        return writer.function(f"tag {field.name}")

    def _fixed(self, run: list[Any], into: str, depth: int) -> None:
        """Neighbouring fields of fixed size, with one `unpack`."""
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
            most = self._longest_text
            self._sized(field, target, depth, "data[pos:stop].decode()", (">h", 2), most, nullable=nullable)
        elif codec is codecs.Bytes:
            self._sized(field, target, depth, "data[pos:stop]", (">i", 4), UNLIMITED, nullable=nullable)
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
        self,
        field: SimpleField,
        target: str,
        depth: int,
        value: str,
        inflexible: tuple[str, int],
        most: int,
        *,
        nullable: bool,
    ) -> None:
        """The compact length is one more, 0 for null."""
        size = self._local("n")
        self._read_length(size, depth, inflexible)
        self.line(depth, f"if {size} >= 0:")
        self.line(depth + 1, f"stop = pos + {size}")
        too_long = f" or {size} > {most}" if most < UNLIMITED and self._flexible else ""
        self.line(depth + 1, f"if stop > end{too_long}:")
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
        """-1 for null."""
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
        numbers = not isinstance(element, StructField) and element.is_batchable()
        self.line(inner, f"room -= {count} // {NUMBERS_PER_ELEMENT}" if numbers else f"room -= {count}")
        self.line(inner, "if room < 0:")
        self.line(inner + 1, "raise too_many()")
        if numbers:
            self._numbers(element._type, target, count, inner)
        else:
            items, item = self._local("items"), self._local("item")
            self.line(inner, f"{target} = {items} = []")
            at = self._local("at")
            self.line(inner, f"for {at} in range({count}):")
            if isinstance(element, StructField):
                self.structure(element, element.data_class, item, inner + 1)
            else:
                self._simple(element, item, inner + 1, nullable=False)
            self.line(inner + 1, f"{items}.append({item})")
            self.line(inner + 1, f"if not {at} & 15:")  # to yield takes as long as to read a short text
            self.line(inner + 2, "yield")
        self._null(field, target, depth, count, field.nullable_for_version_q(self._version))

    def _numbers(self, codec: Any, target: str, count: str, depth: int) -> None:
        few = self._constant("few", [struct.Struct(f">{n}{codec.fmt}").unpack_from for n in range(FEW_NUMBERS + 1)])
        self.line(depth, f"if {count} <= {FEW_NUMBERS}:")
        self.line(depth + 1, f"{target} = list({few}[{count}](data, pos))")
        self.line(depth + 1, f"pos += {count} * {codec.size}")
        self.line(depth, "else:")
        depth += 1
        items, some, left = self._local("items"), self._local("some"), self._local("left")
        self.line(depth, f"{target} = {items} = []")
        self.line(depth, f"{left} = {count}")
        self.line(depth, f"while {left} > 0:")
        self.line(depth + 1, f"{some} = min({left}, {NUMBERS_AT_ONCE})")
        self.line(depth + 1, f"{items} += unpack_from(f'>{{{some}}}{codec.fmt}', data, pos)")
        self.line(depth + 1, f"pos += {some} * {codec.size}")
        self.line(depth + 1, f"{left} -= {some}")
        self.line(depth + 1, f"if {some} == {NUMBERS_AT_ONCE}:")
        self.line(depth + 2, "yield")

    def _local(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _constant(self, prefix: str, value: Any) -> str:
        name = self._local(f"{prefix}_")
        self._globals[name] = value
        return name
