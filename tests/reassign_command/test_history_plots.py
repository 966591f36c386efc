"""The plots of `kafka-reassign status`, by cases that were computed by hand."""

import io

import pytest

from kafka_reassign_rpc.client import PastFigures, Point
from kafka_reassign_rpc.reassign_command.action_context import Output
from kafka_reassign_rpc.reassign_command.history_plots import ASCII, BLOCKS, WIDTH, columns, lines, sparkline

AT = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC."""
HOUR, MINUTE = 3_600_000, 60_000


def point(ago_ms: int, in_flight: int = 0, rate: int | None = None, left: int | None = None) -> Point:
    return Point(AT - ago_ms, in_flight, 0, rate, left, 7, None)


def past(*points: Point, span_ms: int = HOUR) -> PastFigures:
    return PastFigures(AT, 10_000, span_ms, points)


def test_sv_11_each_figure_of_the_past_has_a_plot_with_its_name_its_time_and_its_least_and_greatest_value() -> None:
    hour = past(
        point(60 * MINUTE, 0, 0, 0),  # the first column of 36: each is 100 s
        point(59 * MINUTE, 8, 1000, 10**9),
        point(30 * MINUTE, 4, None, 10**12),  # the 19th
        point(MINUTE, 2, 3_000_000, 10**12),  # the last one
        point(0, 1, 2_000_000, 10**12),
    )
    day = past(point(0), span_ms=24 * HOUR)
    found = list(lines([hour, day]))
    gap, blank = " " * 17, " " * 36
    assert found == [
        "The last hour, 2025-12-31 23:00 to 2026-01-01 00:00 UTC",
        f"In flight         █{gap}▅{' ' * 16}▃  0 to 8",
        f"Waiting           ▁{gap}▁{' ' * 16}▁  always 0",
        f"Rate              ▂{gap} {' ' * 16}█  0 B/s to 3.0 MB/s",
        f"Left to copy      ▂{gap}█{' ' * 16}█  0 B to 1.0 TB",
        f"Under-replicated  █{gap}█{' ' * 16}█  always 7",
        f"Offline           {blank}  nothing known yet",
        "The last day, 2025-12-31 00:00 to 2026-01-01 00:00 UTC",
        f"In flight         {' ' * 35}▁  always 0",
        f"Waiting           {' ' * 35}▁  always 0",
        f"Rate              {blank}  nothing known yet",
        f"Left to copy      {blank}  nothing known yet",
        f"Under-replicated  {' ' * 35}█  always 7",
        f"Offline           {blank}  nothing known yet",
    ]
    assert next(lines([past(span_ms=3 * HOUR)])) == "The last 3 h 0 min, 2025-12-31 21:00 to 2026-01-01 00:00 UTC"


def test_sv_11_a_plot_of_the_largest_figures_fits_into_80_columns() -> None:
    most = Point(AT, 2**31 - 1, 2**31 - 1, 999_900_000_000_000_000, 999_900_000_000_000_000, 2**31 - 1, 2**31 - 1)
    least = Point(AT - HOUR, 1, 1, 999_800_000_000_000, 999_800_000_000_000, 1, 1)
    assert max(map(len, lines([past(least, most)]))) <= 80


@pytest.mark.parametrize(
    ("values", "blocks", "shown"),
    [
        ([0, 1, 7, 700], BLOCKS, "▁▂▂█"),
        ([0, 1, 7, 700], ASCII, "_..#"),
        ([None, 0, None], BLOCKS, " ▁ "),
        ([0, 0], BLOCKS, "▁▁"),
        ([7, 6, 5, 4, 3, 2, 1, 0], BLOCKS, "█▇▆▅▄▃▂▁"),
        ([], BLOCKS, ""),
    ],
)
def test_sv_11_the_lowest_block_is_0_and_the_highest_the_greatest_value(
    values: list[int | None], blocks: str, shown: str
) -> None:
    assert sparkline(values, blocks) == shown


def test_sv_11_points_outside_of_the_span_make_no_column() -> None:
    early, late = point(HOUR + 1, 5), point(-200_000, 5)
    assert columns(past(early, late), lambda one: one.in_flight, WIDTH) == [None] * WIDTH


@pytest.mark.parametrize(("encoding", "can"), [("utf-8", True), ("ascii", False), ("latin-1", False)])
def test_sv_11_a_stream_whose_encoding_has_no_blocks_says_so(encoding: str, can: bool) -> None:
    output = Output(io.TextIOWrapper(io.BytesIO(), encoding=encoding), as_json=False)
    assert output.can_write(BLOCKS) is can
    assert output.can_write(ASCII)
