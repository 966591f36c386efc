"""The figures of the past as `kafka-reassign status` shows them: a line of blocks for each, from 0 on. Pure."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.client import PastFigures, Point, text_format
from kafka_reassign_rpc.support.human_units import duration

WIDTH = 36
"""Columns of a plot: with its name and its figures it fits into 80."""
BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-=+*%#"
"""The same heights where the terminal's encoding has no blocks."""

NAMES = {3_600_000: "hour", 86_400_000: "day"}
"""Of spans, by their ms."""

Value = Callable[[Point], int | None]


class Figure(NamedTuple):
    """`value` gives None where it is not known."""

    name: str
    value: Value
    text: Callable[[int], str]


def _rate(bytes_per_second: int) -> str:
    return f"{text_format.size(bytes_per_second)}/s"


FIGURES = (
    Figure("In flight", lambda point: point.in_flight, str),
    Figure("Waiting", lambda point: point.waiting, str),
    Figure("Rate", lambda point: point.rate, _rate),
    Figure("Left to copy", lambda point: point.bytes_left, text_format.size),
    Figure("Under-replicated", lambda point: point.under_replicated, str),
    Figure("Offline", lambda point: point.offline, str),
)


def lines(history: Sequence[PastFigures], blocks: str = BLOCKS) -> Iterator[str]:
    """The times are by the server's clock."""
    name_width = max(len(figure.name) for figure in FIGURES)
    for past in history:
        begin = past.at - past.span_ms
        name = NAMES.get(past.span_ms) or duration(past.span_ms / 1000)
        yield f"The last {name}, {_time(begin)} to {_time(past.at)} UTC"
        for figure in FIGURES:
            known = [value for point in past.points if (value := figure.value(point)) is not None]
            plot = sparkline(columns(past, figure.value, WIDTH), blocks)
            yield f"{figure.name:<{name_width}}  {plot}  {_range(known, figure.text)}"


def columns(past: PastFigures, value: Value, width: int) -> list[int | None]:
    """The greatest value in each of `width` equal parts of the span, the oldest first; None: nothing is known."""
    found: list[int | None] = [None] * width
    for point in past.points:
        at, here = (point.at - past.at + past.span_ms) * width // past.span_ms, value(point)
        if here is not None and 0 <= at <= width:
            column = min(at, width - 1)  # a point of this moment belongs to the last part
            found[column] = max(here, found[column] or 0)
    return found


def sparkline(values: Sequence[int | None], blocks: str) -> str:
    """A blank is a time without a value. The lowest block is 0, and nothing else is; the highest is the greatest
    value.
    """
    most = max((value for value in values if value is not None), default=0)
    return "".join(
        " " if value is None else blocks[ceil(value / most * (len(blocks) - 1)) if most else 0] for value in values
    )


def document(past: PastFigures) -> dict[str, Any]:
    """The form is that of the status page's API."""
    return {
        "at": past.at,
        "step_ms": past.step_ms,
        "span_ms": past.span_ms,
        "points": [msgspec.structs.asdict(point) for point in past.points],
    }


def _range(known: Sequence[int], text: Callable[[int], str]) -> str:
    if not known:
        return "nothing known yet"
    least, most = text(min(known)), text(max(known))
    return f"always {most}" if least == most else f"{least} to {most}"


def _time(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M}"
