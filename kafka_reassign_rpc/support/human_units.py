"""Sizes, durations and times as people write them."""

import re
from datetime import UTC, datetime
from decimal import Decimal

_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_BYTES = {
    **{name.lower(): 1000**power for power, name in enumerate(_DECIMAL)},
    **{name: 1024**power for power, name in enumerate(("kib", "mib", "gib", "tib", "pib"), 1)},
}
_MS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_NUMBER_WITH_UNIT = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,9})?) ?([A-Za-z]{1,3})", re.ASCII)
_PLAIN = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def size(count: float) -> str:
    """Shows bytes, such as 1.5 GB."""
    value, unit = float(count), 0
    while value >= 999.95 and unit < len(_DECIMAL) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} B" if unit == 0 else f"{value:.1f} {_DECIMAL[unit]}"


def utc_time(at: int) -> str:
    """Shows ms since 1970, such as 2026-11-24 15:42:08."""
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def iso_time(at: int) -> str:
    """Shows ms since 1970, such as 2026-11-24T15:42:08.007Z."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration(seconds: float) -> str:
    """Shows the two largest units, such as 3 min 20 s."""
    left = max(0, round(seconds))
    if left < 60:
        return f"{left} s"
    for limit, big, big_name, small, small_name in (
        (3600, 60, "min", 1, "s"),
        (86400, 3600, "h", 60, "min"),
    ):
        if left < limit:
            return f"{left // big} {big_name} {left % big // small} {small_name}"
    return f"{left // 86400} d {left % 86400 // 3600} h"


def parse_size(text: str) -> int | None:
    """The bytes of `50MB`, `500 mib`, `1.5GB` or a plain number; None if it is none, or no whole number of bytes."""
    return _parse(text, _BYTES)


def without_unit(rate: str) -> str:
    """Why so small a rate asks for its unit, or "": who types 5 hardly means bytes per second."""
    text = rate.strip()
    is_slip = re.fullmatch(r"0*[1-9][0-9]{0,2}", text, re.ASCII) is not None
    return f"{text} asks for a unit: {text}MB per second, or {text}B if that is meant" if is_slip else ""


def parse_duration_ms(text: str) -> int | None:
    """The milliseconds of `20s`, `1.5 min`, `500ms`, `2h`, `1d` or a plain number of them, or None."""
    return _parse(text, _MS)


def _parse(text: str, units: dict[str, int]) -> int | None:
    if _PLAIN.fullmatch(text):
        return int(text)
    found = _NUMBER_WITH_UNIT.fullmatch(text)
    unit = None if found is None else units.get(found.group(2).lower())
    if found is None or unit is None:
        return None
    value = Decimal(found.group(1)) * unit
    return int(value) if value == value.to_integral_value() else None
