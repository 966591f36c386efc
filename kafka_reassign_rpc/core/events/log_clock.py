"""When events were recorded if the clock of their server jumps: no event of a log is older than those before it, or
later than now.
"""

SKEW_MS = 600_000
"""A server's clock may be so far ahead of the reader's."""


class LogClock:
    """The clock of one log, which never goes back. Call `recorded_at` for each event, in the order of the log."""

    def __init__(self) -> None:
        self._latest: int | None = None

    def recorded_at(self, at: int, now: int) -> int | None:
        """The earliest time at which an event can have been recorded, in ms since 1970, None if unknown. The event's
        own time `at` does not count if it is far after `now`, the reader's.
        """
        if at <= now + SKEW_MS:
            self._latest = at if self._latest is None else max(self._latest, at)
        return self._latest
