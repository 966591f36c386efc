"""The screen of `watch` on a terminal: a line about all moves and a table of progress bars, drawn with rich.

Importing rich takes time, so only a command that draws on a terminal imports this module.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kafka_reassign_rpc.client import Progress, ProgressSnapshot, TopicPartition, text_format
from kafka_reassign_rpc.support.bounded_text import abridged

BAR_WIDTH = 24
LEAST_BAR_WIDTH = 8
"""On a narrow screen the bar gives way to the words: rate and remaining time are what people look for."""
LEAST_NAME = 12
_GAP = 2
_OTHER_LINES = 4
"""The line about all moves, the table's heading, the line about moves not shown, and the cursor's line."""

_PARTITION = "Partition"

Row = tuple[TopicPartition, Progress]


class WatchScreen:
    """Draws snapshots over one another. Call `close` at the end: it shows the cursor again."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, markup=False, highlight=False, emoji=False)
        self._live: Live | None = None

    def show(self, summary: str, snapshot: ProgressSnapshot) -> None:
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
        self._live.update(self._drawing(summary, snapshot), refresh=True)

    def print_line(self, line: str) -> None:
        """The line stays, above the drawing."""
        self._console.print(Text(line), soft_wrap=True)

    def close(self, *, erase: bool) -> None:
        """`erase` takes the last drawing away."""
        if self._live is not None:
            self._live.transient = erase
            self._live.stop()
            self._live = None

    def _drawing(self, summary: str, snapshot: ProgressSnapshot) -> Group:
        rows = rows_that_fit(snapshot, self._console.size.height)
        lines: list[Text | Table] = [_line(summary)]
        if rows:
            lines.append(_table(rows, self._console.size.width))
        if len(rows) < len(snapshot.moves):
            lines.append(_line(f"… and {len(snapshot.moves) - len(rows)} more"))
        return Group(*lines)


def rows_that_fit(snapshot: ProgressSnapshot, height: int) -> list[Row]:
    """Moves furthest from their end, in order of partition."""
    moves = sorted(snapshot.moves.items(), key=lambda item: (_share(item[1]), item[0]))
    return sorted(moves[: max(1, height - _OTHER_LINES)], key=lambda item: item[0])


def _share(progress: Progress) -> float:
    return -1.0 if progress.share is None else progress.share


def _table(rows: Sequence[Row], width: int) -> Table:
    names = names_that_fit(rows, width)
    bar = bar_width(names, rows, width)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    table.add_column(_PARTITION, no_wrap=True)
    table.add_column("Progress", width=bar, no_wrap=True)
    table.add_column("Copied")  # this column shrinks first where the screen is narrow
    for name, (_, progress) in zip(names, rows, strict=True):
        table.add_row(Text(name), _bar(progress, bar), _line(text_format.amounts(progress)))
    return table


def names_that_fit(rows: Sequence[Row], width: int) -> list[str]:
    """Cuts names in the middle where words and the shortest bar leave no room."""
    room = max(LEAST_NAME, width - _words(rows) - LEAST_BAR_WIDTH - 2 * _GAP - 1)
    return [abridged(str(partition), room) for partition, _ in rows]


def bar_width(names: Sequence[str], rows: Sequence[Row], width: int) -> int:
    longest = max(len(_PARTITION), *map(len, names))
    return min(BAR_WIDTH, max(LEAST_BAR_WIDTH, width - longest - _words(rows) - 2 * _GAP - 1))


def _words(rows: Sequence[Row]) -> int:
    """The reason of a stall may be long and is cut off, so it does not count."""
    return max(len(text_format.amounts(replace(progress, stalled=None, waits_for=None))) for _, progress in rows)


def _bar(progress: Progress, width: int) -> ProgressBar | Text:
    if progress.share is None:
        return Text("?" * width)
    return ProgressBar(total=1.0, completed=progress.share, width=width)


def _line(text: str) -> Text:
    """The width of the screen cuts it off."""
    return Text(text, no_wrap=True, overflow="ellipsis")
