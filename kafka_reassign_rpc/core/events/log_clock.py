"""When events were recorded, where the clock of their server jumps. Pure.

A log has its events in the order in which they were recorded, whatever their times say. So an event is no older than
those before it in its log, and none was recorded later than now.
"""

SKEW_MS = 600_000
"""How far the clock of a server may be ahead of the reader's, and is believed."""


class LogClock:
    """The clock of one log: it never goes back. Call `recorded_at` for each event, in the order of the log."""

    def __init__(self) -> None:
        self._latest: int | None = None

    def recorded_at(self, at: int, now: int) -> int | None:
        """When an event was recorded at the earliest, ms since 1970: its own time, or that of an event before it.

        at    the event's own time
        now   by the reader's clock. A time far after it is not believed; without an event before it, the result is None
        """
        if at <= now + SKEW_MS:
            self._latest = at if self._latest is None else max(self._latest, at)
        return self._latest
