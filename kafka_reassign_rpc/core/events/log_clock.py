"""When events were recorded if their server's clock jumps: none is older than those before it, or later than now."""

SKEW_MS = 600_000
"""A server's clock may be this far ahead of the reader's."""


class LogClock:
    def __init__(self) -> None:
        self._latest: int | None = None

    def recorded_at(self, at: int, now: int) -> int | None:
        """The earliest time, ms since 1970, at which the log's next event can have been recorded, None if unknown.
        `at`, its own time, does not count if it is far after `now`, the reader's.
        """
        if at <= now + SKEW_MS:
            self._latest = at if self._latest is None else max(self._latest, at)
        return self._latest
