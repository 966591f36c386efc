"""The setting `reassignment.windows`: `mon-fri 22:00-06:00 Europe/Berlin max.per.cluster=20; otherwise …`."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from kafka_reassign_rpc.core.config_values import INT32, INT64
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.human_units import parse_size
from kafka_reassign_rpc.support.secrecy import told

WINDOWS = "reassignment.windows"
MOST_WINDOWS = 20
MOST_CHARACTERS = 2_000
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
OTHERWISE = "otherwise"
PER_BROKER, PER_CLUSTER, RATE = "max.per.broker", "max.per.cluster", "rate"
EXAMPLE = "mon-fri 22:00-06:00 Europe/Berlin"
DAY = 24 * 60
_TIMES = re.compile(r"([0-2]\d):([0-5]\d)-([0-2]\d):([0-5]\d)", re.ASCII)


class Terms(msgspec.Struct, frozen=True):
    """For moves that want to start; `rate`: of throttle leases, bytes/s. None changes nothing."""

    starts: bool = True
    per_broker: int | None = None
    per_cluster: int | None = None
    rate: int | None = None

    @property
    def no_room(self) -> str:
        """The cap that keeps every move away, as it is written, also repairs; "": none does."""
        caps = {PER_CLUSTER: self.per_cluster, PER_BROKER: self.per_broker}
        return next((f"{name}=0" for name, cap in caps.items() if cap == 0), "")


class Window(msgspec.Struct, frozen=True):
    """`days`: those on which it begins, 0: Monday. `begin`, `end`: minutes of the day by the clocks of the zone; an
    `end` that is not later is on the next day.
    """

    text: str
    days: frozenset[int]
    begin: int
    end: int
    zone: ZoneInfo
    terms: Terms


class Windows(msgspec.Struct, frozen=True):
    windows: tuple[Window, ...]
    otherwise: Terms


@lru_cache(maxsize=4)
def parse_windows(text: str) -> Windows | None:
    """None: no windows. Raises ValueError with what to do about it."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"use at most {MOST_CHARACTERS} characters")
    parts = [words for part in text.split(";") if (words := part.split())]
    if len(parts) > MOST_WINDOWS:
        raise ValueError(f"name at most {MOST_WINDOWS} windows")
    if not parts:
        return None
    rest = parts.pop() if parts[-1][0] == OTHERWISE else None
    if rest is not None and len(rest) == 1:
        raise ValueError(f"say after {OTHERWISE!r} what holds then, such as {PER_CLUSTER}=2, or leave it out")
    if not parts:
        raise ValueError(f"name a window before {OTHERWISE!r}, such as {EXAMPLE}")
    return Windows(tuple(map(_window, parts)), Terms(starts=False) if rest is None else _terms(rest[1:]))


def refusal(text: str) -> str | None:
    """Why no client may set this text; None: it may."""
    try:
        parse_windows(text)
    except ValueError as error:
        return str(error)
    return None


def _window(words: list[str]) -> Window:
    text = " ".join(words)
    if words[0] == OTHERWISE:
        raise ValueError(f"put {OTHERWISE!r} last, and once")
    if len(words) < 3 or (times := _TIMES.fullmatch(words[1])) is None:
        raise ValueError(f"write days, times and time zone, such as {EXAMPLE}, in place of {told(text)}")
    hours = [int(group) for group in times.groups()]
    begin, end = 60 * hours[0] + hours[1], 60 * hours[2] + hours[3]
    if begin >= DAY or end > DAY:
        raise ValueError(f"{words[1]}: times are from 00:00 to 24:00")
    if begin == end:
        raise ValueError(f"{words[1]} has no length: a whole day is 00:00-24:00")
    return Window(text, _days(words[0]), begin, end, _zone(words[2]), _terms(words[3:]))


def _days(text: str) -> frozenset[int]:
    found: set[int] = set()
    if text == "daily":
        return frozenset(range(7))
    for item in text.split(","):
        first, dash, last = item.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            raise ValueError(f"days are mon-fri, sat,sun or daily, not {told(text)}")
        begin, end = DAYS.index(first), DAYS.index(last or first)
        found.update(day % 7 for day in range(begin, end + 1 + 7 * (end < begin)))
    return frozenset(found)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # an unknown name, one that is no path below, a folder
        raise ValueError(
            f"{told(name)} is no time zone of this host: use a name such as Europe/Berlin or UTC"
        ) from None


def _terms(words: list[str]) -> Terms:
    found: dict[str, int] = {}
    for word in words:
        name, _, value = word.partition("=")
        number = _TERMS[name](value) if name in _TERMS else None
        if number is None or name in found:
            raise ValueError(
                f"write {PER_BROKER}=N, {PER_CLUSTER}=N or {RATE}=40MB (bytes per second), each once, in place of"
                f" {told(word)}"
            )
        found[name] = number
    return Terms(per_broker=found.get(PER_BROKER), per_cluster=found.get(PER_CLUSTER), rate=found.get(RATE))


def _cap(value: str) -> int | None:
    return whole_number(value, 0, INT32)


def _rate(value: str) -> int | None:
    found = parse_size(value)
    return found if found is not None and 0 < found <= INT64 else None


_TERMS: Mapping[str, Callable[[str], int | None]] = {PER_BROKER: _cap, PER_CLUSTER: _cap, RATE: _rate}
