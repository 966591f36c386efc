"""What windows mean at a time, in words for people."""

import pytest

from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_PER_CLUSTER
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.writers.facts import SettingsFound, TimeTold
from tests.core.build import learn, not_moving, view
from tests.status_page.views import server_of, term_of

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
        (
            f"{NIGHTS}; otherwise max.per.cluster=0 rate=5MB",
            12,
            "outside of windows until 1970-01-01 22:00:00 UTC: no waiting move starts, nor do repairs"
            " (max.per.cluster=0), throttle leases and repairs have 5.0 MB/s",
        ),
        (
            "daily 00:00-24:00 UTC max.per.broker=0",
            12,
            "in the window daily 00:00-24:00 UTC max.per.broker=0: no waiting move starts, nor do repairs"
            " (max.per.broker=0)",
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


@pytest.mark.parametrize(
    ("settings", "hour", "is_open"),
    [
        ({WINDOWS: NIGHTS}, 23, True),
        ({WINDOWS: NIGHTS}, 12, False),
        ({WINDOWS: f"{NIGHTS}; otherwise max.per.cluster=2"}, 12, True),
        ({WINDOWS: f"{NIGHTS}; otherwise max.per.cluster=0 rate=5MB"}, 12, False),
        ({WINDOWS: f"{NIGHTS} max.per.broker=0"}, 23, False),
        ({WINDOWS: NIGHTS, MAX_PER_CLUSTER: "0"}, 23, False),
    ],
)
def test_dh_5_the_status_says_that_a_window_is_open_only_where_a_move_may_start(
    settings: dict[str, str], hour: int, is_open: bool
) -> None:
    here = view(not_moving(1, 2)).cluster
    learn(here, SettingsFound(settings, "", {}))
    learn(here, TimeTold(hour * HOUR_MS))
    found = status_of(server_of(term_of(here)), at=1, version="1", full=True)
    assert found.window is not None
    assert found.window.open is is_open
