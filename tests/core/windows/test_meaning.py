"""What windows mean at a time, in words for people."""

import pytest

from kafka_reassign_rpc.core.windows.grammar import WINDOWS
from kafka_reassign_rpc.core.writers.facts import SettingsFound, TimeTold
from tests.core.build import learn, not_moving, view

HOUR_MS = 3_600_000
NIGHTS = "daily 22:00-06:00 UTC"


@pytest.mark.parametrize(
    ("windows", "hour", "meaning"),
    [
        (NIGHTS, 23, f"in the window {NIGHTS} until 1970-01-02 06:00:00 UTC: waiting moves start"),
        (NIGHTS, 12, "outside of windows until 1970-01-01 22:00:00 UTC: no waiting move starts but repairs"),
        (
            f"{NIGHTS} rate=5MB",
            23,
            f"in the window {NIGHTS} rate=5MB until 1970-01-02 06:00:00 UTC: "
            "waiting moves start, throttle leases and repairs have 5.0 MB/s",
        ),
        (
            f"{NIGHTS}; otherwise rate=1MB",
            12,
            "outside of windows until 1970-01-01 22:00:00 UTC: "
            "waiting moves start, throttle leases and repairs have 1.0 MB/s",
        ),
        ("daily 00:00-24:00 UTC", 12, "in the window daily 00:00-24:00 UTC: waiting moves start"),
    ],
)
def test_dh_5_what_windows_mean_is_said_with_until_when_and_what_starts(windows: str, hour: int, meaning: str) -> None:
    here = view(not_moving(1, 2)).cluster
    learn(here, SettingsFound({WINDOWS: windows}, "", {}))
    learn(here, TimeTold(hour * HOUR_MS))
    assert here.soft.window is not None
    assert here.soft.window.meaning == meaning
