"""The status line on a terminal, drawn in place with rich: what the job does now, and for how long it has been at work.

Importing rich takes time, so only a job that draws imports this module.
"""

import sys
from collections.abc import Callable
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from kafka_reassign_rpc.support.human_units import duration


class StatusDrawing:
    """Draws until `close`. `elapsed`: seconds for which the job has been at work."""

    def __init__(self, stream: TextIO, elapsed: Callable[[], float], text: str) -> None:
        self._elapsed = elapsed
        self._text = text
        self._spinner = Spinner("dots")
        # A thread of rich draws, four times a second. Lines on standard output go above the status line if both are on
        # this terminal.
        self._live = Live(
            get_renderable=self._line,
            console=Console(file=stream, markup=False, highlight=False, emoji=False),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def show(self, text: str) -> None:
        self._text = text

    def close(self) -> None:
        """The cursor shows again."""
        self._live.stop()

    def _line(self) -> Table:
        line = Table.grid(padding=(0, 1))
        text = Text(self._text, no_wrap=True, overflow="ellipsis")
        line.add_row(self._spinner, text, Text(duration(self._elapsed()), style="dim", no_wrap=True))
        return line
