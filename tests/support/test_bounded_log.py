"""Lines of the log have a bounded length, and a flood of one kind is counted."""

import io
import logging
from collections.abc import Iterator

import pytest

from kafka_reassign_rpc.support.bounded_log import LONGEST_FIELD, LONGEST_LINE, BoundedFormatter, LineLimit

LONG = "x" * 8_000_000


@pytest.fixture
def output() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(BoundedFormatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("tests.bounded_log")
    logger.addHandler(handler)
    logger.propagate = False
    yield stream
    logger.removeHandler(handler)
    logger.propagate = True


log = logging.getLogger("tests.bounded_log")


def test_sv_7_each_value_of_a_line_and_each_line_have_a_limit(output: io.StringIO) -> None:
    log.error("left out: %s of %d: %s", LONG, 7, ValueError(LONG))
    (line,) = output.getvalue().splitlines()
    assert line.startswith("ERROR left out: xxx")
    assert " of 7: x" in line
    assert len(line) < 2 * LONGEST_FIELD + 200

    log.error(LONG)
    assert len(output.getvalue().splitlines()[1]) < LONGEST_LINE + 100


def test_sv_7_a_traceback_has_a_limit_and_keeps_both_its_ends(output: io.StringIO) -> None:
    try:
        int(LONG[: 10**6] + " at the end")
    except ValueError as error:
        error.add_note(LONG + " at the end")
        log.exception("a defect")
    text = output.getvalue()
    assert len(text) < LONGEST_LINE + 200
    assert "Traceback (most recent call last)" in text
    assert text.endswith("at the end\n")


def test_sv_7_short_lines_stay_as_they_are(output: io.StringIO) -> None:
    log.error("%s %5.1f %r %d%%", "a", 1.25, "b", 3)
    log.error("100%")
    log.error("%(name)s", {"name": "c"})
    assert output.getvalue().splitlines() == ["ERROR a   1.2 'b' 3%", "ERROR 100%", "ERROR c"]


def test_sv_6_the_first_lines_of_an_interval_are_shown_and_the_others_counted() -> None:
    limit = LineLimit(lines=2, seconds=10)
    assert limit.left_out(100) == 0
    assert [limit.admits(100 + second) for second in range(5)] == [True, True, False, False, False]
    assert limit.left_out(109) == 0
    assert limit.left_out(110) == 3
    assert limit.left_out(121) == 0
    assert limit.admits(200)
    assert limit.left_out(211) == 0, "nothing was left out"
    assert [limit.admits(212) for _ in range(3)] == [True, True, False]
