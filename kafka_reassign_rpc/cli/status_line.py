"""The status line of a long job: what it does now, on standard error."""

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

REPEAT_EVERY_S = 5.0
"""The pause between two status lines in a pipe or a file."""

_drawn: "set[Status]" = set()


def clear_status_lines() -> None:
    """Take every status line away. A job calls this when it ends, however it ends: the cursor shows again."""
    for status in list(_drawn):
        status.clear()


class Status:
    """On a terminal one line that changes in place, drawn with rich; elsewhere a line of text every few seconds."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._printed_at = clock()
        self._is_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._live: Live | None = None
        self._spinner: Spinner

    def show(self, text: str) -> None:
        """Show what the job does now."""
        if self._is_terminal:
            self._draw(text)
        elif self._clock() - self._printed_at >= REPEAT_EVERY_S:
            self._printed_at = self._clock()
            self._print(text)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.clear()
        self._print(text)

    def clear(self) -> None:
        """Take the status line away."""
        if self._live is not None:
            self._live.stop()
            self._live = None
            _drawn.discard(self)

    def _print(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def _draw(self, text: str) -> None:
        # A job imports rich only where it draws: `--help` of any command has to be quick.
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        if self._live is None:
            self._spinner = Spinner("dots")
        line = Table.grid(padding=(0, 1))
        line.add_row(self._spinner, Text(text, no_wrap=True, overflow="ellipsis"))
        if self._live is not None:
            self._live.update(line)  # a thread of rich draws it, four times a second
            return
        # Lines on standard output go above the status line if both are on this terminal.
        self._live = Live(
            line,
            console=Console(file=self._stream, markup=False, highlight=False, emoji=False),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=False,
        )
        self._live.start(refresh=True)
        _drawn.add(self)
