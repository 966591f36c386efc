"""The line of an event: what a server writes, and what anybody reads of it.

`server` and `epoch` are null where they are not known. Up to release 0.3.0 they were -1 then: such lines are in event
logs, and servers of that release send them.
"""

from typing import Any

import msgspec

Event = dict[str, Any]
"""The fields of a line by name."""
_SINCE_NULL = ("server", "epoch")


class LinePlace(msgspec.Struct, frozen=True):
    """A line without its event."""

    seq: int
    at: int
    server: int | None
    event: str


place_of = msgspec.json.Decoder(LinePlace).decode
_read = msgspec.json.Decoder(Event).decode


def line_of(place: tuple[int, int], server: int | None, epoch: int | None, event: bytes) -> bytes:
    """`place`: number and time (ms since 1970). `event`: its own fields, as a JSON object that has some."""
    by = b"null" if server is None else b"%d" % server
    under = b"null" if epoch is None else b"%d" % epoch
    return b'{"seq":%d,"at":%d,"server":%b,"epoch":%b,%b' % (*place, by, under, event[1:])


def read_line(line: str | bytes | msgspec.Raw) -> Event:
    """Raises msgspec.DecodeError, a ValueError."""
    event = _read(line)
    for name in _SINCE_NULL:
        if event.get(name) == -1:
            event[name] = None
    return event


SKEW_MS = 600_000
"""A server's clock may be this far ahead of the reader's."""


class LogClock:
    """When events were recorded if their server's clock jumps: none is older than one before it, or later than now."""

    def __init__(self) -> None:
        self._latest: int | None = None

    def recorded_at(self, at: int, now: int) -> int | None:
        """The earliest time, ms since 1970, at which the log's next event can have been recorded, None if unknown.
        `at`, its own time, does not count if it is far after `now`, the reader's.
        """
        if at <= now + SKEW_MS:
            self._latest = at if self._latest is None else max(self._latest, at)
        return self._latest
