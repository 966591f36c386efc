"""When events were recorded if the clock of their server jumps.

A log has its events in order, whatever their times say: no event is older than those before it, or later than now.
"""

SKEW_MS = 600_000
"""A server's clock may be so far ahead of the reader's."""


class LogClock:
    """The clock of one log, which never goes back. Call `recorded_at` for each event, in the order of the log."""

    def __init__(self) -> None:
        self._latest: int | None = None

    def recorded_at(self, at: int, now: int) -> int | None:
        """The earliest time at which an event can have been recorded, ms since 1970; None: unknown.

        at    the event's own time. One far after `now`, the reader's time, does not count
        """
        if at <= now + SKEW_MS:
            self._latest = at if self._latest is None else max(self._latest, at)
        return self._latest
