"""What the windows of a cluster mean at a time, which a duty reports.

If their text cannot be parsed, no waiting move starts, since a window keeps moves away; leases keep their last rate
from it.
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.settings.settings_in_force import CLOSED, WindowNow
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.windows import times
from kafka_reassign_rpc.core.windows.grammar import WINDOWS, Terms, parse_windows
from kafka_reassign_rpc.support.human_units import size, utc_time


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
    found = times.at(windows, now_ms)
    terms = windows.otherwise if found.window is None else found.window.terms
    return WindowNow(text, _meaning(found, terms), terms, found.until)


def _meaning(found: times.Found, terms: Terms) -> str:
    until = "" if found.until is None else f" until {utc_time(found.until)} UTC"
    where = "outside of windows" if found.window is None else f"in the window {found.window.text}"
    rate = "" if terms.rate is None else f", throttle leases and repairs have {size(terms.rate)}/s"
    return f"{where}{until}: {_what_starts(terms)}{rate}"


def _what_starts(terms: Terms) -> str:
    if not terms.starts:
        return "no waiting move starts but repairs"
    return f"no waiting move starts, nor do repairs ({terms.no_room})" if terms.no_room else "waiting moves start"
