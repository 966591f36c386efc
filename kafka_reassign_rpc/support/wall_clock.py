"""The time of day."""

import time


def now_ms() -> int:
    """Returns milliseconds since 1970."""
    return time.time_ns() // 1_000_000
