"""How a setting of servers is declared: as the annotation of the field that has its value.

chunk: Annotated[int, ServerSetting(CHUNK, whole(1), "Moves of repairs in flight at a time.", "MOVES")] = 500
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, get_type_hints

import msgspec

from kafka_reassign_rpc.core.config_values import (
    BROKER_IDS,
    INT32,
    INT64,
    broker_ids,
    flag,
    listed,
    number,
    parse_brokers,
)


class Kind(msgspec.Struct, frozen=True):
    """type      Kafka's, which DescribeConfigs shows
    read      the value of a text; None: the text is invalid
    expected  what texts are valid, for people
    bounds    of a number, inclusive
    one_of    the words, if it is one of some, in any case
    refusal   why no client may set a text that could be read, or None
    """

    type: Literal["BOOLEAN", "INT", "LONG", "STRING", "LIST"]
    read: Callable[[str], Any]
    expected: str
    bounds: tuple[int, int] | None = None
    one_of: tuple[str, ...] | None = None
    refusal: Callable[[str], str | None] | None = None


class ServerSetting(msgspec.Struct, frozen=True):
    """name           the dotted name
    kind           what values it has
    documentation  sentences, with the unit and the meaning of special values such as -1
    metavar        what `--help` shows in place of the value; empty: no flag and no key of the file sets it
    if_invalid     the value that an invalid text counts as; None: a weaker or the default value holds
    path           the fields that lead to its value in `ReassignmentSettings`
    value          the default
    """

    name: str
    kind: Kind
    documentation: str
    metavar: str = ""
    if_invalid: Any = None
    path: tuple[str, ...] = ()
    value: Any = None

    @property
    def default(self) -> str:
        return shown(self.value)

    def of(self, settings: msgspec.Struct) -> Any:
        """Its value among these."""
        found: Any = settings
        for field in self.path:
            found = getattr(found, field)
        return found


def shown(value: Any) -> str:
    """A value as the text from which it is read."""
    if isinstance(value, bool):
        return str(value).lower()
    return listed(value) if isinstance(value, frozenset) else str(value)


def declared(struct: type[msgspec.Struct], above: tuple[str, ...] = ()) -> Iterator[ServerSetting]:
    """The settings whose values are fields of the struct, or of structs in it, in their order."""
    types = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        path = (*above, field.name)
        for one in getattr(types[field.name], "__metadata__", ()):
            yield msgspec.structs.replace(one, path=path, value=field.default)
        if isinstance(field.default, msgspec.Struct):
            yield from declared(type(field.default), path)


BOOLEAN = Kind("BOOLEAN", flag, "true or false")


def whole(low: int, high: int = INT32) -> Kind:
    return Kind(
        "INT" if high <= INT32 else "LONG",
        partial(number, low=low, high=high),
        f"a whole number from {low} to {high}",
        (low, high),
    )


def long(low: int, high: int = INT64) -> Kind:
    return whole(low, high)


def word(*choices: str) -> Kind:
    def read(text: str) -> str | None:
        found = text.strip().lower()
        return found if found in choices else None

    return Kind("STRING", read, " or ".join(choices), one_of=choices)


def text_of(read: Callable[[str], Any], expected: str) -> Kind:
    """Text in a grammar of its own."""
    reason = f"Expected {expected}"
    return Kind("STRING", read, expected, refusal=lambda text: reason if read(text) is None else None)


def _refused_brokers(text: str) -> str | None:
    """Stricter than what is read: no item is empty."""
    return None if not text or broker_ids(text.split(",")) is not None else f"Expected {BROKER_IDS}"


BROKERS = Kind("LIST", parse_brokers, BROKER_IDS, refusal=_refused_brokers)
