"""When a server takes over: the leader has written nothing for `lead_s`, although this server could have read it.

Silence counts only while own fetches succeed, one soon after the other: who is cut off, or was frozen itself, has seen
nothing. Servers wait a little longer by rank, so that two seldom claim at once; where they do, the later claim holds.
"""

LEAD_S = 4.0
"""A leader that has written nothing for so long is replaced: the default of `lead_s`."""
BEATS = 3
"""Heartbeats within `lead_s`."""
RANK_STEP = 0.1
"""Each rank waits for this part of `lead_s` longer."""
LONGEST_GAP = 0.5
"""After fetches that are further apart than this part of `lead_s` the silence is counted from the start."""


class SilenceDetector:
    """Times are seconds of any clock. `rank` 0 claims first."""

    def __init__(self, lead_s: float, rank: int = 0) -> None:
        self._lead_s = lead_s
        self._wait_s = lead_s * (1 + RANK_STEP * rank)
        self._since: float | None = None
        self._fetched = float("-inf")

    def fetched(self, now: float, *, heard: bool) -> None:
        """A fetch has succeeded. `heard`: with a record of the term that holds."""
        if heard or self._since is None or now - self._fetched > self._lead_s * LONGEST_GAP:
            self._since = now
        self._fetched = now

    def failed(self) -> None:
        """A fetch has failed: the leader may write, and this server not see it."""
        self._since = None

    def due_in_s(self, now: float) -> float:
        """0: claim now."""
        if self._since is None or now - self._fetched > self._lead_s * LONGEST_GAP:
            return self._wait_s
        return max(0.0, self._since + self._wait_s - now)
