"""A field that is declared with a name shows by itself, as every screen shows it."""

from typing import Annotated

import msgspec

from kafka_reassign_rpc.core.status.documents import Note, StartWindow, about
from kafka_reassign_rpc.core.status.summary import notes_of


class Inner(msgspec.Struct):
    size: Annotated[int | None, about("a size", "room", "bytes")]
    hidden: Annotated[int, about("without a name")] = 7


class Outer(msgspec.Struct):
    since: Annotated[int | None, about("when", "oldest move since", "time")]
    inner: Inner | None
    wait: Annotated[int, about("how long", "wait", "ms")] = 90_000
    rate: Annotated[int, about("how fast", "speed", "rate")] = 5_000_000


def test_sv_11_fields_with_a_name_are_notes_in_their_order_and_what_is_not_known_is_none() -> None:
    known = [(one.name, one.text) for one in notes_of(Outer(0, Inner(2_000_000)))]
    assert known == [
        ("oldest move since", "1970-01-01 00:00:00 UTC"),
        ("room", "2.0 MB"),
        ("wait", "1 min 30 s"),
        ("speed", "5.0 MB/s"),
    ]
    assert [one.name for one in notes_of(Outer(None, None))] == ["wait", "speed"]


def test_sv_11_what_a_window_says_is_a_note() -> None:
    assert list(notes_of(StartWindow(True, "in a window", None))) == [Note("windows", "in a window")]
