"""Values of settings that are taken, and that hardly anybody wants: what follows is said to whoever sets one, and in
the log of the server."""

from collections.abc import Callable, Iterator, Mapping

from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL, MAX_BROKERS, MAX_PERCENTAGE, short_interval
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    MAX_BYTES_IN_FLIGHT,
    MAX_PER_BROKER,
    MAX_PER_CLUSTER,
)
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.settings.windows import OTHERWISE, WINDOWS, parse_windows

_NOTHING_STARTS = "no move that copies anything starts, no repair either: all wait until it is raised. -1 is no limit"
_NO_REPAIR = "no lost broker is ever repaired, since one is more than that"
_IF_0 = {
    MAX_PER_BROKER: _NOTHING_STARTS,
    MAX_PER_CLUSTER: _NOTHING_STARTS,
    MAX_BYTES_IN_FLIGHT: "moves that copy anything start one at a time, whatever their size. -1 is no limit",
    MAX_BROKERS: _NO_REPAIR,
    MAX_PERCENTAGE: _NO_REPAIR,
}


def consequence(name: str, value: str) -> str | None:
    """A clause with the setting; None: nothing is odd about this value, or it is none of this setting."""
    return _CHECKS[name](name, value) if name in _CHECKS else None


def consequences(values: Mapping[str, str]) -> Iterator[str]:
    for name, value in values.items():
        if (text := consequence(name, value)) is not None:
            yield text


def _of_0(name: str, value: str) -> str | None:
    return f"{name}=0: {_IF_0[name]}" if SERVER_SETTINGS[name].kind.read(value) == 0 else None


def _of_windows(name: str, value: str) -> str | None:
    try:
        found = parse_windows(value)
    except ValueError:
        return None
    terms = [] if found is None else [*((one.text, one.terms) for one in found.windows), (OTHERWISE, found.otherwise)]
    caps = [f"{one.no_room} of {text.removesuffix(one.no_room).strip()!r}" for text, one in terms if one.no_room]
    return f"{name}: by {', '.join(caps)} no move starts then, no repair either" if caps else None


_CHECKS: Mapping[str, Callable[[str, str], str | None]] = {
    **dict.fromkeys(_IF_0, _of_0),
    WINDOWS: _of_windows,
    INTERVAL: lambda _, value: short_interval(value),
}
