"""Which window holds at a time, when that changes, and what that means for moves, which a duty reports.

A window begins and ends once on each of its days, by the clocks of its zone: if these go back, a time that comes twice
counts when it comes first; if they go forward, a skipped time is the moment of the jump, and a window within the gap is
empty. If the text of the windows cannot be parsed, no waiting move starts, since a window keeps moves away; leases keep
their last rate from it.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from kafka_reassign_rpc.core.settings.settings_in_force import CLOSED, WindowNow
from kafka_reassign_rpc.core.settings.windows import DAY, WINDOWS, Terms, Window, Windows, parse_windows
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.support.human_units import size, utc_time

MINUTE_MS = 60_000
AHEAD_DAYS = 8
"""A week shows each window."""


class Found(NamedTuple):
    """`window`: None outside of all; `until`: ms since 1970, None: nothing changes within a week."""

    window: Window | None
    until: int | None


def at(windows: Windows, now_ms: int) -> Found:
    """Of windows that overlap the first one holds."""
    spans = [(window, list(_spans(window, now_ms))) for window in windows.windows]
    window = _holding(spans, now_ms)
    last = now_ms + AHEAD_DAYS * DAY * MINUTE_MS
    edges = sorted({edge for _, of in spans for span in of for edge in span if now_ms < edge <= last})
    return Found(window, next((edge for edge in edges if _holding(spans, edge) is not window), None))


Spans = list[tuple[Window, list[tuple[int, int]]]]


def _holding(spans: Spans, now_ms: int) -> Window | None:
    return next((window for window, of in spans if any(begin <= now_ms < end for begin, end in of)), None)


def _spans(window: Window, now_ms: int) -> Iterator[tuple[int, int]]:
    today = datetime.fromtimestamp(now_ms / 1000, window.zone).date()
    length = window.end - window.begin if window.end > window.begin else window.end + DAY - window.begin
    for days in range(-2, AHEAD_DAYS + 2):
        day = today + timedelta(days=days)
        if day.weekday() in window.days:
            begin, end = _moment(day, window.begin, window.zone), _moment(day, window.begin + length, window.zone)
            if begin < end:
                yield begin, end


def _moment(day: date, minute: int, zone: ZoneInfo) -> int:
    """`minute`: from midnight by the clock, maybe of the next day."""
    wall = datetime.combine(day, datetime.min.time()) + timedelta(minutes=minute)
    first = wall.replace(tzinfo=zone).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) != wall:  # the clocks leave it out
        before = wall.replace(tzinfo=zone).utcoffset()
        earliest = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
        minutes = range((first - earliest) // timedelta(minutes=1) + 1)
        jump = bisect_left(
            minutes, True, key=lambda one: (earliest + timedelta(minutes=one)).astimezone(zone).utcoffset() != before
        )
        first = earliest + timedelta(minutes=jump)
    return int(first.timestamp()) * 1000


def judge(cluster: Cluster, now_ms: int) -> WindowNow | None:
    """None without windows."""
    text = cluster.soft.in_force.windows
    try:
        windows = parse_windows(text)
    except ValueError as error:
        before = cluster.soft.window
        terms = replace(CLOSED, rate=None if before is None else before.terms.rate)
        return WindowNow(text, f"no waiting move starts, since {WINDOWS} cannot be read: {error}", terms, None)
    if windows is None:
        return None
    found = at(windows, now_ms)
    terms = windows.otherwise if found.window is None else found.window.terms
    return WindowNow(text, _meaning(found, terms), terms, found.until)


def _meaning(found: Found, terms: Terms) -> str:
    until = "" if found.until is None else f" until {utc_time(found.until)} UTC"
    where = "outside of windows" if found.window is None else f"in the window {found.window.text}"
    rate = "" if terms.rate is None else f", throttle leases and repairs have {size(terms.rate)}/s"
    return f"{where}{until}: {_what_starts(terms)}{rate}"


def _what_starts(terms: Terms) -> str:
    if not terms.starts:
        return "no waiting move starts but repairs"
    return f"no waiting move starts, nor do repairs ({terms.no_room})" if terms.no_room else "waiting moves start"
