"""Log lines within limits."""

import json
import logging
from copy import copy
from datetime import UTC, datetime
from types import TracebackType

from kafka_reassign_rpc.support.bounded_text import shortened
from kafka_reassign_rpc.support.cluster_name import CLUSTER, of_cluster

LONGEST_FIELD = 4_000
"""Characters of one value. A whole event, whose fields have limits of their own, is one value."""
LONGEST_LINE = 12_000
"""Characters of a line, and of the traceback below it."""

_Error = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class BoundedFormatter(logging.Formatter):
    """Cuts what is too long: anybody may have written a value. Names the cluster for which the task that logs works."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(_with_bounded_values(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (its name in logging)
        record.message = f"{of_cluster(CLUSTER.get())}{record.message}"
        return shortened(super().formatMessage(record), LONGEST_LINE)

    def formatException(self, ei: _Error) -> str:  # noqa: N802 (its name in logging)
        text = super().formatException(ei)
        half = LONGEST_LINE // 2
        return text if len(text) <= LONGEST_LINE else f"{text[:half]}\n… ({len(text)} characters)\n{text[-half:]}"


class JsonFormatter(BoundedFormatter):
    """One JSON object per line, in ASCII, within the same limits.

    ts          the time in UTC, as 2026-11-22T21:30:00.123Z
    level       DEBUG, INFO, WARNING, ERROR or CRITICAL
    logger      the part that logs
    message     as in a line of text
    exception   the traceback, if any
    """

    def format(self, record: logging.LogRecord) -> str:
        record = _with_bounded_values(record)
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
        shown = {
            "ts": f"{at}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": shortened(f"{of_cluster(CLUSTER.get())}{record.getMessage()}", LONGEST_LINE),
        }
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        return json.dumps(shown)


def _with_bounded_values(record: logging.LogRecord) -> logging.LogRecord:
    """Copies the record, since other handlers get the whole."""
    if isinstance(record.args, tuple):
        record = copy(record)
        record.args = tuple(map(_bounded, record.args or ()))
        record.exc_text = None
    return record


def _bounded(value: object) -> object:
    if isinstance(value, int | float):
        return value
    text = str(value)
    return value if len(text) <= LONGEST_FIELD else shortened(text, LONGEST_FIELD)


class LineLimit:
    """Lets the first lines of each interval through. `now`: seconds of a monotonic clock."""

    def __init__(self, lines: int = 10, seconds: float = 60.0) -> None:
        self.seconds = seconds
        self._lines = lines
        self._until = 0.0
        self._count = 0

    def admits(self, now: float) -> bool:
        """After the end of an interval, call `left_out` first."""
        if not self._count:
            self._until = now + self.seconds
        self._count += 1
        return self._count <= self._lines

    def left_out(self, now: float) -> int:
        """Returns how many lines the interval hid, and begins the next; 0 before its end."""
        if now < self._until or not self._count:
            return 0
        count, self._count = max(0, self._count - self._lines), 0
        return count
