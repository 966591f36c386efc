"""The status line of a long job: what it does now, on standard error."""

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from kafka_reassign_rpc.cli.status_drawing import StatusDrawing

REPEAT_EVERY_S = 5.0
"""The pause between two status lines in a pipe or a file."""

_drawn: "set[Status]" = set()


def clear_status_lines() -> None:
    """A job calls this when it ends, however it ends: the cursor shows again."""
    for status in list(_drawn):
        status.clear()


class Status:
    """On a terminal one line changes in place, with the time since the job began; elsewhere a line comes every few
    seconds.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._began = self._printed_at = clock()
        self._is_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._drawing: StatusDrawing | None = None

    def show(self, text: str) -> None:
        if self._is_terminal:
            self._draw(text)
        elif self._clock() - self._printed_at >= REPEAT_EVERY_S:
            self._printed_at = self._clock()
            self._print(text)

    def say(self, text: str) -> None:
        """The line stays."""
        self.clear()
        self._print(text)

    def clear(self) -> None:
        if self._drawing is not None:
            self._drawing.close()
            self._drawing = None
            _drawn.discard(self)

    def _print(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def _draw(self, text: str) -> None:
        if self._drawing is not None:
            self._drawing.show(text)
            return
        from kafka_reassign_rpc.cli.status_drawing import StatusDrawing

        self._drawing = StatusDrawing(self._stream, lambda: self._clock() - self._began, text)
        _drawn.add(self)
