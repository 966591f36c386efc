"""Columns of text in a terminal."""

import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from kafka_reassign_rpc.support.text_table import table, wrapped


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("", 0), ("ab c", 4), ("\u4e2d\u6587", 4), ("\uff21", 2), ("\ud55c\uad6d", 4), ("e\u0301", 1), ("\u00e9", 1)],
    ids=["nothing", "ascii", "chinese", "full_width", "korean", "combining", "accent"],
)
def test_sv_11_a_wide_character_takes_two_columns_and_a_combining_one_none(text: str, wanted: int) -> None:
    assert table([(text, "|"), ("123456", "|")])[0] == f"{text}{' ' * (6 - wanted)}  |"


def test_sv_11_columns_of_a_table_are_below_each_other_whatever_the_width_of_characters() -> None:
    found = table([("RACK", "N"), ("\u4e2d\u6587\u4e2d", "1"), ("a", "2")])
    assert found == ["RACK    N", "\u4e2d\u6587\u4e2d  1", "a       2"]


def test_sv_11_a_table_that_is_wider_than_the_terminal_goes_on_in_further_lines_and_loses_nothing() -> None:
    rows = [("NAME", "RACK", "N"), *((f"t-{n}", "[b]a \u4e2drack:x: " * n, str(n)) for n in range(5))]
    natural = table(rows)
    assert table(rows, max(map(cell_len, natural))) == natural
    for width in (24, 40):
        found = table(rows, width)
        assert max(map(cell_len, found)) <= width
        assert sorted("".join(found).replace(" ", "")) == sorted("".join(map("".join, rows)).replace(" ", ""))


def test_sv_11_words_of_wide_characters_are_wrapped_at_their_columns() -> None:
    assert wrapped("to: \u4e2d\u6587\u4e2d\u6587 a", 7, first=" ", following="  ", breaks=True) == [
        " to: \u4e2d",
        "  \u6587\u4e2d",
        "  \u6587 a",
    ]
    assert wrapped("to: \u4e2d\u6587\u4e2d\u6587 a", 7, first=" ", following="  ") == [
        " to:",
        "  \u4e2d\u6587\u4e2d\u6587",
        "  a",
    ]


@example("aaaaa bbbbbbbbbb", True)  # the first line is full before the word that breaks
@example("aaaa aaaaaaaa", True)  # ... but for the blank, at which textwrap leaves it
@given(st.text("ab -", max_size=60), st.booleans())
def test_sv_11_ascii_is_wrapped_as_textwrap_does_it(text: str, breaks: bool) -> None:
    text = " ".join(["x", *text.split()])
    found = textwrap.wrap(
        text,
        9,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=breaks,
        break_on_hyphens=False,
    )
    assert wrapped(text, 9, first="  ", following="  ", breaks=breaks) == [line.rstrip() for line in found]


@given(st.text("a\u4e2d\u0301 ", max_size=60))
def test_sv_11_no_line_passes_its_columns_and_nothing_but_blanks_is_lost(text: str) -> None:
    found = wrapped(text, 8, first="", following="  ", breaks=True)
    assert max(map(cell_len, found)) <= 8
    assert "".join(found).replace(" ", "") == text.replace(" ", "")
