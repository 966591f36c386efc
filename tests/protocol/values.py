"""Messages that Hypothesis generates from a parsed schema."""

from functools import cache
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from kafka.protocol.schemas.fields import codecs
from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.struct import StructField

from kafka_reassign_rpc.protocol.messages import REQUESTS, RESPONSES, Message
from kafka_reassign_rpc.protocol.versions import SUPPORTED

OURS = sorted(
    (cls for cls in (*REQUESTS.values(), *RESPONSES.values()) if issubclass(cls, Message)), key=lambda cls: cls.__name__
)
"""The classes whose schemas are ours."""


def all_versions(classes: Any) -> list[tuple[Any, int]]:
    """Each class with each version that the codec reads and writes."""
    return [
        (cls, version) for cls in classes for version in range(SUPPORTED[cls.API_KEY][0], SUPPORTED[cls.API_KEY][1] + 1)
    ]


def names(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else f"v{value}"


_INTEGERS = {codecs.Int8: (-(1 << 7), (1 << 7) - 1), codecs.Int16: (-(1 << 15), (1 << 15) - 1),
             codecs.Int32: (-(1 << 31), (1 << 31) - 1), codecs.Int64: (-(1 << 63), (1 << 63) - 1),
             codecs.UnsignedInt16: (0, (1 << 16) - 1)}  # fmt: skip


@cache
def messages(cls: Any, version: int) -> st.SearchStrategy[Any]:
    """Instances of `cls` with any value in each field of `version`. Kept: a strategy costs more than an example."""
    return _structures(cls._struct, cls, version)


def _structures(field: StructField, cls: Any, version: int) -> st.SearchStrategy[Any]:
    fields = {inner.name: _values(inner, version) for inner in field.fields.values() if inner.for_version_q(version)}
    return st.fixed_dictionaries(fields).map(lambda found: cls(version=version, **found))


def _values(field: Any, version: int) -> st.SearchStrategy[Any]:
    if isinstance(field, ArrayField):
        element = field.array_of
        if isinstance(element, StructField):
            found = st.lists(_structures(element, element.data_class, version), max_size=3)
        else:
            found = st.lists(_plain(element), max_size=4)
    elif isinstance(field, StructField):
        found = _structures(field, field.data_class, version)
    else:
        found = _plain(field)
    return st.none() | found if field.nullable_for_version_q(version) else found


def _plain(field: Any) -> st.SearchStrategy[Any]:
    codec = field._type
    if codec in _INTEGERS:
        return st.integers(*_INTEGERS[codec])
    if codec is codecs.Boolean:
        return st.booleans()
    if codec is codecs.Float64:
        return st.floats(allow_nan=False)
    if codec is codecs.UUID:
        return st.none() | st.uuids().filter(lambda found: found != UUID(int=0))  # all zeros reads as none
    if codec is codecs.BitField:
        return st.none() | st.sets(st.integers(0, 30), max_size=5)
    if codec is codecs.Bytes:
        return st.binary(max_size=200)
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.just("x" * 200)
