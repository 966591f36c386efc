"""Decoders that check every length, generated from a parsed schema: one generator for each message and version, so that
a large message is decoded in slices.

kafka-python's own decoders trust every length: they build an array of two thousand million elements until the memory is
gone, cut a string that is longer than the frame, and copy the rest of the frame for each tagged field. These check
before they allocate, so that the size of a frame bounds memory and time:

- fields, strings, bytes and arrays (count * least size of an element) must fit into the bytes left;
- all array elements of a message are at most `room`; `NUMBERS_PER_ELEMENT` numbers of an array count as one element,
  and so do 16 bytes of tagged fields;
- a request's text is UTF-8 of at most `LONGEST_TEXT`, as in Kafka, even where the encoding allows more;
- at most `MOST_TAGS` tagged fields of a structure, each of which fills its size; unknown ones are not kept;
- a variable-length integer has at most five bytes;
- null only where the version allows it, and no other length below 0.

Bytes behind a valid body are ignored, as in Kafka: a newer peer may know more fields.
"""

from functools import cache, partial
from typing import NamedTuple

from kafka_reassign_rpc.protocol.decoder_source import Decoder, DecoderWriter
from kafka_reassign_rpc.protocol.frame_errors import BadText, RemoteProtocolError, Truncated
from kafka_reassign_rpc.protocol.messages import ApiMessage


def decoder(message: type[ApiMessage], version: int) -> Decoder:
    """Each call generates a new function. It raises a RemoteProtocolError for any mistake in the bytes."""
    writer = DecoderWriter(message, version)
    writer.line(1, "end = len(data)")
    writer.structure(message._struct, message, "obj", 1)
    writer.line(1, "obj._header = None")
    writer.line(1, "yield obj, pos")
    return _checked(writer, f"{message.name} v{version}")


class Parts(NamedTuple):
    """`head` returns (message, count), with the fields before the array; then call `element` `count` times."""

    head: Decoder
    element: Decoder


@cache
def parts(message: type[ApiMessage], version: int, array: str) -> Parts:
    """Decoders that give one element of the field `array` at a time, so that the caller can forget it. A null array has
    none; bytes behind the array are not read.
    """
    fields = message._struct.untagged_fields(version)
    at = next(index for index, field in enumerate(fields) if field.name == array)
    head = DecoderWriter(message, version)
    head.line(1, "end = len(data)")
    head.start(message, "obj", 1)
    head.fields(fields[:at], "obj", 1)
    head.count(fields[at], "count", 1)
    head.line(1, "yield (obj, max(count, 0)), pos")
    element = DecoderWriter(message, version)
    element.line(1, "end = len(data)")
    element.structure(fields[at].array_of, fields[at].data_class, "obj", 1)
    element.line(1, "yield obj, pos")
    name = f"{message.name} v{version}"
    return Parts(_checked(head, name), _checked(element, f"{name} {array}"))


def _checked(writer: DecoderWriter, name: str) -> Decoder:
    return writer.function(name, partial(_named, name))


def _named(name: str, error: Exception) -> RemoteProtocolError:
    if isinstance(error, RemoteProtocolError):
        error.args = (f"{name}: {error}",)
        return error
    if isinstance(error, UnicodeDecodeError):
        return BadText(f"{name}: not UTF-8: {error.reason}")
    return Truncated(f"{name}: the frame ends inside a field")
