"""Reads DER, the encoding of certificates and keys (X.690): tag, length and content of each element.

Every length is checked against the bytes that are there.
"""

from typing import NamedTuple

SEQUENCE = 0x30


class BadDer(ValueError): ...


class Element(NamedTuple):
    tag: int
    content: bytes

    @property
    def encoded(self) -> bytes:
        size = len(self.content)
        if size < 0x80:
            return bytes((self.tag, size)) + self.content
        length = size.to_bytes((size.bit_length() + 7) // 8, "big")
        return bytes((self.tag, 0x80 | len(length))) + length + self.content


def elements(data: bytes) -> list[Element]:
    """The elements that follow each other in `data`. Raises BadDer."""
    found = []
    at = 0
    while at < len(data):
        element, at = _element(data, at)
        found.append(element)
    return found


def single(data: bytes, tag: int) -> bytes:
    """The content of the only element, which must have this tag. Raises BadDer."""
    element, end = _element(data, 0)
    if element.tag != tag or end != len(data):
        raise BadDer("not the expected element")
    return element.content


def _element(data: bytes, at: int) -> tuple[Element, int]:
    if len(data) - at < 2:
        raise BadDer("an element is cut short")
    tag, size = data[at], data[at + 1]
    at += 2
    if size & 0x80:
        width = size & 0x7F
        if not 1 <= width <= 4 or len(data) - at < width:
            raise BadDer("a length is out of bounds")
        size = int.from_bytes(data[at : at + width], "big")
        at += width
    if size > len(data) - at:
        raise BadDer("an element is cut short")
    return Element(tag, data[at : at + size]), at + size
