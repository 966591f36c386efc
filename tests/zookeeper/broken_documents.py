"""Documents as Kafka and this product write them into znodes, and ways to break them at every place."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

DEEP, DEEPER = 300, 20_000
HALF = '"\\ud800"'
"""JSON of half a character, which no text may have."""

BREAKERS: Mapping[str, bytes] = {
    **{
        f"the number {number[:12]}": number.encode()
        for number in (
            *("-1", "-2", "0", "-0", "2.5", "1e400", "-1e400", "1e5", "NaN", "Infinity", "2147483648", "-2147483649"),
            *("9223372036854775808", "18446744073709551616", "9" * 30, "9" * 4_300, "9" * 5_000, "-" + "9" * 5_000),
        )
    },
    **{f"the word {word}": word.encode() for word in ("null", "true", "false", "undefined", "")},
    **{
        f"the text {text[:14]}": text.encode()
        for text in (
            *('""', '"1"', '"-1"', '"²"', '"٣"', '"07"', '"a/b"', '".."', '"PLAINTEXT://h:²"', '"topics/"', '"/"'),
            *(HALF, f'"a{HALF[1:-1]}b"', '"\\u0000"', '"\\u001b[31m\\n"', f'"{"x" * 40_000}"', f'"{"9" * 5_000}"'),
            *(f'"PLAINTEXT://h:{"9" * 5_000}"', '"a:b:c://d"', '"' + "A" * 22 + '"', '"' + "é" * 5_000 + '"', '"open'),
        )
    },
    "bytes that are no UTF-8": b'"\xff\xfe"',
    "UTF-8 of half a character": b'"\xed\xa0\x80"',
    "a NUL": b'"a\x00b"',
    "a NUL outside of texts": b"\x00",
    "an empty list": b"[]",
    "an empty object": b"{}",
    "a list of many": b"[" + b"0," * 2_000 + b"0]",
    "one replica twice": b"[1,1]",
    "lists in lists": b"[[1]]",
    "an object of wrong names": b'{"07":[1],"-1":[1],"x":[1],"' + b"9" * 5_000 + b'":[1]}',
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deeper lists": b"[" * DEEPER + b"]" * DEEPER,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deeper objects": b'{"a":' * DEEPER + b"1" + b"}" * DEEPER,
    "an endless list": b"[[[[[[[",
}

Place = tuple[str | int, ...]


class Break(NamedTuple):
    """What is done at a place of a document. `how`: the value, the name of a field, or a second field of that name."""

    place: Place
    how: str
    by: bytes


def places(document: Any, at: Place = ()) -> Iterator[Place]:
    """Every place of a document, itself included."""
    yield at
    if isinstance(document, dict):
        for name, value in document.items():
            yield from places(value, (*at, name))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from places(value, (*at, index))


def breaks(document: Any) -> Iterator[Break]:
    """Every way to break a document at one place."""
    for place in places(document):
        for by in BREAKERS.values():
            yield Break(place, "value", by)
            if place and isinstance(place[-1], str):
                yield Break(place, "twice", by)
                if by.startswith(b'"'):
                    yield Break(place, "name", by)


def text_of(document: Any, *broken: Break, at: Place = ()) -> bytes:
    """The JSON of a document that is broken so."""
    for one in broken:
        if one.place == at and one.how == "value":
            return one.by
    if isinstance(document, dict):
        fields = [field for name in document for field in _fields(document, name, broken, at)]
        return b"{" + b",".join(fields) + b"}"
    if isinstance(document, list):
        return b"[" + b",".join(text_of(one, *broken, at=(*at, index)) for index, one in enumerate(document)) + b"]"
    return msgspec.json.encode(document)


def _fields(document: dict[str, Any], name: str, broken: tuple[Break, ...], at: Place) -> Iterator[bytes]:
    value = text_of(document[name], *broken, at=(*at, name))
    here = [one for one in broken if one.place == (*at, name)]
    names = [one.by for one in here if one.how == "name"]
    yield (names[0] if names else msgspec.json.encode(name)) + b":" + value
    for one in here:
        if one.how == "twice":
            yield msgspec.json.encode(name) + b":" + one.by
