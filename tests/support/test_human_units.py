"""Sizes and durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.human_units import duration, parse_duration_ms, parse_size, size
from tests.tables import for_each


@for_each(
    ("text", "count"),
    [
        ("0", 0), ("-1", -1), ("50000000", 50_000_000), ("50MB", 50_000_000), ("50 mb", 50_000_000),
        ("500MiB", 500 * 2**20), ("1.5GB", 1_500_000_000), ("1KiB", 1024), ("7B", 7), ("2tib", 2 * 2**40),
        ("0.5kB", 500), ("1.0001kB", None), ("0.5B", None), ("50M", None), ("MB", None), ("", None), ("1e3", None),
        ("-1MB", None), ("5 0MB", None), ("²MB", None), ("50MB ", None),
        ("9" * 40, None), ("1.MB", None), ("20s", None),
    ],
)  # fmt: skip
def test_a_size_is_a_number_with_a_unit_or_a_plain_number_of_bytes(text: str, count: int | None) -> None:
    assert parse_size(text) == count


@for_each(
    ("text", "ms"),
    [
        ("20s", 20_000), ("20 s", 20_000), ("1.5min", 90_000), ("500ms", 500), ("2h", 7_200_000), ("1d", 86_400_000),
        ("18000", 18_000), ("-1", -1), ("0.5ms", None), ("20 seconds", None), ("20m", None), ("50MB", None),
    ],
)  # fmt: skip
def test_a_duration_is_a_number_with_a_unit_or_a_plain_number_of_milliseconds(text: str, ms: int | None) -> None:
    assert parse_duration_ms(text) == ms


@given(st.integers(0, 10**15))
def test_what_is_shown_can_be_read(count: int) -> None:
    read = parse_size(size(count))
    assert read is not None
    assert abs(read - count) <= count / 20


def test_durations_have_two_units() -> None:
    assert [duration(seconds) for seconds in (0.4, 59, 200, 7260, 90_000)] == [
        "0 s", "59 s", "3 min 20 s", "2 h 1 min", "1 d 1 h",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(98, "Address already in use"), "address already in use"),
        (PermissionError(13, "Permission denied", "/x/y"), "/x/y: permission denied"),
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "connection refused"),
        (OSError("Multiple exceptions: [Errno 111] Connect … ('::1', 1), [Errno 111] Connect …"), "connection refused"),
        (OSError("SSL failed"), "SSL failed"),
        (ValueError("no number"), "no number"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(error: Exception, text: str) -> None:
    assert error_text(error) == text
