"""Lines of the log have a bounded length, and a flood of one kind is counted."""

import io
import json
import logging
from collections.abc import Iterator
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kafka_reassign_rpc.support.bounded_log import (
    LONGEST_FIELD,
    LONGEST_LINE,
    BoundedFormatter,
    JsonFormatter,
    LineLimit,
)
from kafka_reassign_rpc.support.cluster_name import CLUSTER

LONG = "x" * 8_000_000


@pytest.fixture
def output() -> Iterator[io.StringIO]:
    yield from logging_with(BoundedFormatter("%(levelname)s %(message)s"))


@pytest.fixture
def json_output() -> Iterator[io.StringIO]:
    yield from logging_with(JsonFormatter())


def logging_with(formatter: logging.Formatter) -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
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


def test_kr_4_a_line_begins_with_the_cluster_for_which_its_task_works(
    output: io.StringIO, json_output: io.StringIO
) -> None:
    context = copy_context()
    context.run(CLUSTER.set, "east")
    context.run(log.error, "lost %d", 7)
    log.error("of all")
    assert output.getvalue() == "ERROR cluster east: lost 7\nERROR of all\n"
    shown = [json.loads(line)["message"] for line in json_output.getvalue().splitlines()]
    assert shown == ["cluster east: lost 7", "of all"]


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


def the_line(output: io.StringIO) -> dict[str, Any]:
    (line,) = output.getvalue().split("\n")[:-1]
    assert line.isascii()
    found = json.loads(line)
    assert isinstance(found, dict)
    return found


def test_sv_7_a_json_line_has_time_level_logger_and_message() -> None:
    """The record is made by hand: a logger's text is captured for reports, in which half a character has no place."""
    before = datetime.now(UTC)
    text = ('topic "%s" of %d', ("a\nb\u2028\x1b\ud800", 7))
    record = logging.LogRecord("tests.bounded_log", logging.WARNING, __file__, 1, *text, None)
    found = the_line(io.StringIO(JsonFormatter().format(record) + "\n"))
    at = datetime.fromisoformat(found.pop("ts"))
    assert before - timedelta(milliseconds=1) <= at <= datetime.now(UTC)
    message = 'topic "a\nb\u2028\x1b\ud800" of 7'
    assert found == {"level": "WARNING", "logger": "tests.bounded_log", "message": message}


def test_sv_7_values_message_and_exception_of_a_json_line_have_a_limit(json_output: io.StringIO) -> None:
    try:
        int("x")
    except ValueError as error:
        error.add_note(LONG + " at the end")
        log.exception("a defect of %s with %s", LONG, {"a": 1})
    found = the_line(json_output)
    assert len(found["message"]) < LONGEST_FIELD + 200
    assert len(found["exception"]) < LONGEST_LINE + 200
    assert found["exception"].startswith("Traceback (most recent call last)")
    assert found["exception"].endswith("at the end")
    assert found["level"] == "ERROR"


def test_sv_7_a_json_line_whose_message_itself_is_long_has_a_limit(json_output: io.StringIO) -> None:
    log.error("\x00" * 8_000_000)
    assert len(json_output.getvalue()) < 6 * LONGEST_LINE + 300
    assert len(the_line(json_output)["message"]) < LONGEST_LINE + 100
