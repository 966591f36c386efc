"""Numbers and texts of others, read and shown within limits."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.support.bounded_text import SHOWN, abridged, printable, shortened, shown, whole_number
from tests.tables import for_each


@for_each(
    ("text", "number"),
    [
        *(("0", 0), ("007", 7), ("-5", -5), ("-", None), ("", None), ("--5", None), ("+5", None), ("5-", None)),
        *(("²", None), ("٣", None), ("1_0", None), (" 1", None), ("9" * 19, None), ("9" * 5_000, None), ("10", 10)),
    ],
)
def test_236_5_a_whole_number_has_ascii_digits_and_bounds(text: str, number: int | None) -> None:
    assert whole_number(text, -10, 10) == number


@given(st.text(max_size=30) | st.integers().map(str), st.integers(-(2**63), 0), st.integers(0, 2**63 - 1))
def test_236_5_no_text_raises_as_a_number(text: str, low: int, high: int) -> None:
    found = whole_number(text, low, high)
    assert found is None or low <= found <= high


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


def test_236_5_any_value_is_shown_in_one_short_line() -> None:
    values = [nested(900), ["x"] * 10**6, {str(n): n for n in range(10**5)}, "\n\x1b\ud800" * 10**5, b"\x00" * 10**6]
    for value in (*values, 10**4200, None, True, 1.5, float("nan"), [[10**4200]], {"x" * 10**6: 1}):
        text = shown(value)
        assert len(text) < SHOWN + 40
        assert text.isprintable()


def test_236_5_a_short_value_is_shown_whole() -> None:
    value = json.loads('{"a":[1,"x",null,{"b":[]}]}')
    assert shown(value) == "{'a': [1, 'x', None, {'b': …}]}"
    assert shown("t") == "'t'"
    assert shown(b"{") == "b'{'"
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "abc… (4 characters)"


@given(st.text(max_size=60), st.integers(1, 50))
def test_240_6_an_abridged_text_has_its_start_and_its_end_within_the_limit(text: str, limit: int) -> None:
    found = abridged(text, limit)
    if len(text) <= limit:
        assert found == text
    else:
        end = limit // 3
        assert (len(found), found[limit - end - 1]) == (limit, "…")
        assert text.startswith(found[: limit - end - 1])
        assert text.endswith(found[limit - end :])


@given(st.text())
def test_240_6_a_printable_text_is_one_line_that_no_terminal_obeys(text: str) -> None:
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


def test_240_6_only_what_cannot_be_printed_is_escaped() -> None:
    assert printable("it's \x1b[31m\n\u202eé") == "it's \\x1b[31m\\n\\u202eé"
