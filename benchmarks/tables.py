"""Tables of results as plain text."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from statistics import median
from typing import NamedTuple


class Table(NamedTuple):
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


_shown: ContextVar[list[Table] | None] = ContextVar("shown", default=None)


@contextmanager
def recorded() -> Iterator[list[Table]]:
    """Collects every table that is shown in the block."""
    tables: list[Table] = []
    token = _shown.set(tables)
    try:
        yield tables
    finally:
        _shown.reset(token)


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """A table with the first column aligned to the left and the others to the right."""
    if (tables := _shown.get()) is not None:
        tables.append(Table(title, tuple(head), tuple(tuple(row) for row in rows)))
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    ruler = "  ".join("-" * width for width in widths)
    return "\n".join([f"\n{title}", line(head), ruler, *map(line, rows), *notes])


def duration(seconds: float | None, otherwise: str = "-") -> str:
    if seconds is None:
        return otherwise
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.001 else f"{seconds * 1_000_000:.0f} us"


def ratio(theirs: float | None, ours: float | None, at_least: float | None = None) -> str:
    """Stock Kafka's time over ours. `at_least` is the limit that stock Kafka exceeded, if any."""
    if ours is None:
        return "-"
    if theirs is None:
        return "-" if at_least is None else f">{at_least / ours:.0f}x"
    return f"{theirs / ours:.1f}x"


def middle(values: Sequence[float]) -> float | None:
    """The median; None for no values."""
    return median(values) if values else None
