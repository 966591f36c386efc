"""Large messages: encoding one element by element, and taking one apart. Both yield after each element: a message of a
hundred thousand takes a tenth of a second to build, as long to encode, and a third of that to free.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.codecs import Int32, UnsignedVarInt32
from kafka.protocol.schemas.fields.codecs.encode_buffer import EncodeBuffer
from kafka.protocol.schemas.fields.codegen import CodegenContext
from kafka.protocol.schemas.fields.struct import StructField

from kafka_reassign_rpc.protocol.frame_codec import ENCODING_MISTAKES, Encoder, not_encodable
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.support.slices import FREED_AT_ONCE, emptied

PART_BYTES = 64 * 1024
"""About so long are the pieces of an encoded message."""


class InParts(NamedTuple):
    """A message, or a structure within one, without its large array, and the elements of that array.

    elements  structures, tuples of all fields of one in order, structures `InParts` again, or bytes of an encoded
              structure. They are requested one by one, and each is forgotten when it is encoded
    """

    message: Any
    array: str
    size: int
    elements: Iterable[Any]


def encode_in_slices(body: InParts, *, version: int) -> Generator[None, None, list[bytes]]:
    """Returns the bytes of the body, in pieces. Raises LocalProtocolError if an element does not fit its schema."""
    cls: type[ApiMessage] = type(body.message)
    writing = _Encoding(version, cls.flexible_version_q(version))
    try:
        yield from writing.structure(cls._struct, body)
    except ENCODING_MISTAKES as error:
        raise not_encodable(cls, version, error) from error
    return writing.finished()


def in_order(structure: Any, version: int) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Makes the tuple that can stand for a structure, from its fields by name."""
    names = [field.name for field in structure._struct.untagged_fields(version)]
    if len(names) == 1:
        return lambda fields: (fields[names[0]],)
    return itemgetter(*names)


class _Encoding:
    def __init__(self, version: int, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._out = EncodeBuffer(2 * PART_BYTES)
        self._parts: list[bytes] = []

    def structure(self, field: StructField, body: InParts) -> Iterator[None]:
        version, flexible, out = self._version, self._flexible, self._out
        for inner in field.untagged_fields(version):
            if inner.name == body.array:
                if flexible:
                    UnsignedVarInt32.encode_into(out, body.size + 1)
                else:
                    Int32.encode_into(out, body.size)
                yield from self._elements(inner.array_of, body)
            else:
                value = getattr(body.message, inner.name)
                inner.encode_into(value, out, version=version, compact=flexible, tagged=flexible)
        if flexible:
            field.tagged_fields(version).encode_into(body.message, out, version=version)

    def _elements(self, field: StructField, body: InParts) -> Iterator[None]:
        out = self._out
        of_object = field.compiled_encode_into(self._version, compact=self._flexible, tagged=self._flexible)
        of_tuple = _tuple_encoder(field, self._version, self._flexible)
        count = 0
        for element in body.elements:
            count += 1
            if isinstance(element, bytes):
                out.ensure(len(element))
                out.buf[out.pos : out.pos + len(element)] = element
                out.pos += len(element)
            elif isinstance(element, InParts):
                yield from self.structure(field, element)
            elif isinstance(element, tuple):
                of_tuple(element, out)
            else:
                of_object(element, out)
            if out.pos >= PART_BYTES:
                self._parts.append(bytes(memoryview(out.buf)[: out.pos]))
                out.pos = 0
            yield
        if count != body.size:
            raise ValueError(f"{count} elements, {body.size} are announced")

    def finished(self) -> list[bytes]:
        return [*self._parts, bytes(memoryview(self._out.buf)[: self._out.pos])]


_TUPLE_ENCODERS: dict[tuple[int, int], Encoder] = {}


def _tuple_encoder(field: StructField, version: int, flexible: bool) -> Encoder:
    """kafka-python makes one for arrays only."""
    known = _TUPLE_ENCODERS.get((id(field), version))  # fields live as long as the message classes
    if known is None:
        known = _TUPLE_ENCODERS[id(field), version] = _compiled_tuple_encoder(field, version, flexible)
    return known


def _compiled_tuple_encoder(field: StructField, version: int, flexible: bool) -> Encoder:
    context = CodegenContext()
    context.lines.append("def encode(item, out):")
    for line in ("buf = out.buf", "pos = out.pos", "_cap = len(buf)"):
        context.emit("    ", line)
    field.emit_encode_into(
        context, "item", "    ", version=version, compact=flexible, tagged=flexible, tuple_access=True
    )
    context.emit("    ", "out.pos = pos")
    exec(compile(context.source(), f"<encoder {field.name} v{version}>", "exec"), context.globs)  # noqa: S102 (schemas)
    encode: Encoder = context.globs["encode"]
    return encode


def take_apart(message: ApiMessage) -> Generator[None, None, None]:
    """Empties a message: to free a large one in one go takes as long as to decode it."""
    for items, nested in _arrays(message._struct, message):
        yield from _emptied(items, nested)


def _emptied(items: list[Any], element: Any) -> Iterator[None]:
    if not _has_arrays(element):
        yield from emptied(items)
        return
    while items:
        one = items.pop()
        for inner, nested in _arrays(element, one):
            if len(inner) > FREED_AT_ONCE or _has_arrays(nested):
                yield from _emptied(inner, nested)
        yield


def _has_arrays(element: Any) -> bool:
    return isinstance(element, StructField) and any(isinstance(field, ArrayField) for field in element.fields.values())


def _arrays(struct: StructField, value: Any) -> Iterator[tuple[list[Any], Any]]:
    """The arrays of a decoded structure, and what their elements are."""
    for field in struct.fields.values():
        if isinstance(field, ArrayField):
            items = getattr(value, field.name)
            if type(items) is list:
                yield items, field.array_of
