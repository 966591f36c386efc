"""The fields of a document that show by themselves: a declaration with `shown` is all that a screen needs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from kafka_reassign_rpc.core.status.documents import Form, Note
from kafka_reassign_rpc.support.human_units import duration, size, utc_time

_TEXTS: Mapping[Form, Callable[[Any], str]] = {
    "text": str,
    "bytes": size,
    "rate": lambda rate: f"{size(rate)}/s",
    "ms": lambda ms: duration(ms / 1000),
    "time": lambda at: f"{utc_time(at)} UTC",
}


def notes_of(document: msgspec.Struct) -> Iterator[Note]:
    """Of the document and the documents in it, in the order of their fields; what is not known is left out."""
    for name, hint in get_type_hints(type(document), include_extras=True).items():
        value = getattr(document, name)
        if isinstance(value, msgspec.Struct):
            yield from notes_of(value)
        elif value is not None and get_origin(hint) is Annotated:
            for shown in (one.extra for one in get_args(hint)[1:] if isinstance(one, msgspec.Meta) and one.extra):
                yield Note(shown["name"], _TEXTS[shown["form"]](value))
