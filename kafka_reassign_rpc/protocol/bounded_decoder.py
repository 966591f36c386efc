"""Decoders that check every length, generated from a parsed schema: one function for each message and version.

kafka-python's own decoders trust every length that they read: they build an array of two thousand million elements
until the memory is gone, silently cut a string that is longer than the frame, and copy the rest of the frame for each
tagged field. The decoders made here build the same objects in one pass, and check before they allocate:

- a fixed-size field, against the bytes that are there (`struct` and indexing raise past the end);
- the length of a string or of bytes, against the bytes left;
- the count of an array, against the bytes left: count * (least size of an element) must fit into them;
- the count of all array elements of a message together, against `room` (what a server is willing to build);
  `NUMBERS_PER_ELEMENT` numbers of an array count as one element, and so do 16 bytes of tagged fields;
- the text of a request: `LONGEST_TEXT` at most, as in Kafka, also in the versions whose encoding allows more;
- the number of tagged fields of a structure: `MOST_TAGS` at most;
- a variable-length integer: five bytes at most;
- null where the version does not allow it, and lengths below -1, which mean nothing;
- each tagged field, against the size that it announces. Tags that the schema does not know are skipped, not kept;
- text: valid UTF-8.

So the size of a frame bounds memory and time, whatever the frame contains. Bytes behind a valid body are ignored, as in
Kafka (a newer peer may know more fields).

A decoder of slices does the same as a generator: it yields after every `SLICE` structures or texts, so that others can
run while a large message is decoded.
"""

import struct
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol

from kafka_reassign_rpc.protocol.decoder_writer import DecoderWriter
from kafka_reassign_rpc.protocol.frame_errors import BadText, RemoteProtocolError, Truncated
from kafka_reassign_rpc.protocol.messages import ApiMessage


class Decoder(Protocol):
    """Decodes one message body: (bytes, its offset, array elements allowed) -> (message, offset of its end)."""

    def __call__(self, data: bytes, pos: int, room: int, /) -> tuple[Any, int]: ...


class SlicedDecoder(Protocol):
    """A `Decoder` that yields between slices of its work, and returns what a `Decoder` returns."""

    def __call__(self, data: bytes, pos: int, room: int, /) -> Generator[None, None, tuple[Any, int]]: ...


def decoder(message: type[ApiMessage], version: int) -> Decoder:
    """The checked decoder of `message` (an ApiMessage class) in `version`; each call generates a new one.

    The decoder raises a RemoteProtocolError for any mistake in the bytes.
    """
    return _checked(f"{message.name} v{version}", _whole(message, version, sliced=False))


def sliced_decoder(message: type[ApiMessage], version: int) -> SlicedDecoder:
    """The same decoder as a generator, for large messages."""
    read, name = _whole(message, version, sliced=True), f"{message.name} v{version}"

    def decode(data: bytes, pos: int, room: int, /) -> Generator[None, None, tuple[Any, int]]:
        try:
            result: tuple[Any, int] = yield from read(data, pos, room)
        except _MISTAKES as error:
            raise _named(name, error) from None
        return result

    return decode


def _whole(message: type[ApiMessage], version: int, *, sliced: bool) -> Callable[[bytes, int, int], Any]:
    """The function that decodes a whole message."""
    writer = DecoderWriter(message, version, sliced=sliced)
    writer.line(1, "end = len(data)")
    if sliced:
        writer.line(1, "steps = 0")
    writer.structure(message._struct, message, "obj", 1)
    writer.line(1, "obj._header = None")
    if sliced:
        writer.line(1, "if False:")
        writer.line(2, "yield")
    writer.line(1, "return obj, pos")
    return writer.function(f"{message.name}_v{version}")


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
    fields = message._struct.untagged_fields(version)
    at = next(index for index, field in enumerate(fields) if field.name == array)
    head = DecoderWriter(message, version)
    head.line(1, "end = len(data)")
    head.start(message, "obj", 1)
    head.fields(fields[:at], "obj", 1)
    head.count(fields[at], "count", 1)
    head.line(1, "return (obj, max(count, 0)), pos")
    element = DecoderWriter(message, version)
    element.line(1, "end = len(data)")
    element.structure(fields[at].array_of, fields[at].data_class, "obj", 1)
    element.line(1, "return obj, pos")
    name = f"{message.name} v{version}"
    identifier = name.replace(" ", "_")
    return Parts(
        _checked(name, head.function(identifier)),
        _checked(f"{name} {array}", element.function(f"{identifier}_{array}")),
    )


_MISTAKES = (RemoteProtocolError, struct.error, IndexError, UnicodeDecodeError)


def _checked(name: str, read: Callable[[bytes, int, int], Any]) -> Decoder:
    """The generated function `read` with errors that name the message."""

    def decode(data: bytes, pos: int, room: int, /) -> tuple[Any, int]:
        try:
            result: tuple[Any, int] = read(data, pos, room)
        except _MISTAKES as error:
            raise _named(name, error) from None
        return result

    return decode


def _named(name: str, error: Exception) -> RemoteProtocolError:
    if isinstance(error, RemoteProtocolError):
        error.args = (f"{name}: {error}",)
        return error
    if isinstance(error, UnicodeDecodeError):
        return BadText(f"{name}: not UTF-8: {error.reason}")
    return Truncated(f"{name}: the frame ends inside a field")
