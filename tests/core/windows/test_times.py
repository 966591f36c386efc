"""Which window holds at a time, and when that changes."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.queue.window_now import Found, at
from kafka_reassign_rpc.core.settings.windows import parse_windows
from tests.tables import for_each


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def found(windows: str, now_ms: int) -> Found:
    parsed = parse_windows(windows)
    assert parsed is not None
    return at(parsed, now_ms)


NIGHT = "mon-fri 22:00-06:00 Europe/Berlin"
GAP = "daily 02:30-05:00 Europe/Berlin"
IN_GAP = "sun 02:10-02:50 Europe/Berlin"


@for_each(
    ("windows", "now", "holds", "until"),
    [
        (NIGHT, "2026-11-27T20:59", False, "2026-11-27T21:00"),
        (NIGHT, "2026-11-27T21:00", True, "2026-11-28T05:00"),
        (NIGHT, "2026-11-28T04:59", True, "2026-11-28T05:00"),
        (NIGHT, "2026-11-28T05:00", False, "2026-11-30T21:00"),
        ("sat,sun 00:00-24:00 UTC", "2026-11-28T10:00", True, "2026-11-30T00:00"),
        ("daily 00:00-24:00 UTC", "2026-11-28T10:00", True, None),
        # clocks go forward on 2026-03-29 at 01:00 UTC: 02:00 to 03:00 are left out
        (GAP, "2026-03-29T00:59", False, "2026-03-29T01:00"),
        (GAP, "2026-03-29T01:00", True, "2026-03-29T03:00"),
        (IN_GAP, "2026-03-29T00:30", False, "2026-04-05T00:10"),
        (NIGHT.replace("fri", "sun"), "2026-03-28T21:00", True, "2026-03-29T04:00"),
        # clocks go back on 2026-10-25 at 01:00 UTC: 02:00 to 03:00 come twice
        (GAP, "2026-10-25T00:29", False, "2026-10-25T00:30"),
        (GAP, "2026-10-25T01:10", True, "2026-10-25T04:00"),
        (IN_GAP, "2026-10-25T00:10", True, "2026-10-25T00:50"),
        (IN_GAP, "2026-10-25T01:20", False, "2026-11-01T01:10"),
    ],
)
def test_dh_5_a_window_holds_by_the_clocks_of_its_zone_also_where_they_jump(
    windows: str, now: str, holds: bool, until: str | None
) -> None:
    window, change = found(windows, ms(now))
    assert (window is not None, change) == (holds, None if until is None else ms(until))


def test_dh_5_of_windows_that_overlap_the_first_holds() -> None:
    both = "daily 01:00-03:00 UTC max.per.cluster=1; daily 00:00-04:00 UTC"
    seen = []
    now, end = ms("2026-11-27T00:00"), ms("2026-11-27T05:00")
    while now < end:
        window, until = found(both, now)
        assert until is not None
        seen.append(("" if window is None else window.text[:17], datetime.fromtimestamp(until / 1000, UTC).hour))
        now = until
    assert seen == [
        ("daily 00:00-04:00", 1),
        ("daily 01:00-03:00", 3),
        ("daily 00:00-04:00", 4),
        ("", 0),
    ]


@given(
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.integers(0, 1439),
    st.integers(1, 1440),
    st.integers(ms("2026-01-01T00:00") // 60_000, ms("2027-12-31T00:00") // 60_000),
)
def test_dh_5_until_the_next_change_the_same_holds_and_then_another(
    zone: str, begin: int, end: int, minute: int
) -> None:
    if begin == end:
        return
    text = f"mon-wed,sat {begin // 60:02}:{begin % 60:02}-{end // 60:02}:{end % 60:02} {zone}"
    now = minute * 60_000
    window, until = found(text, now)
    assert until is not None
    assert now < until <= now + timedelta(days=8) // timedelta(milliseconds=1)
    assert found(text, until - 1).window == window
    assert found(text, until).window != window
