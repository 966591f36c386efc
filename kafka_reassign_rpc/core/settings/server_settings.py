"""The catalogue of the settings that all servers of a cluster share and that change without a restart: the fields of
`ReassignmentSettings` declare them.

`/admin/reassignment_settings` holds them; DescribeConfigs shows them as configs of the server's own node.

What follows from values that are taken, and that hardly anybody wants, is said to whoever sets one, and in the log of
the server.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL, MAX_BROKERS, MAX_PERCENTAGE, short_interval
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    MAX_BYTES_IN_FLIGHT,
    MAX_PER_BROKER,
    MAX_PER_CLUSTER,
    ReassignmentSettings,
)
from kafka_reassign_rpc.core.settings.setting_kinds import ServerSetting, declared
from kafka_reassign_rpc.core.settings.windows import OTHERWISE, WINDOWS, parse_windows

S = TypeVar("S", bound=msgspec.Struct)

SERVER_SETTINGS: Mapping[str, ServerSetting] = {one.name: one for one in declared(ReassignmentSettings)}


def with_values(settings: S, values: Mapping[tuple[str, ...], Any]) -> S:
    """The settings with these values, by the fields that lead to them, in place of theirs."""
    found = {path[0]: value for path, value in values.items() if len(path) == 1}
    for field in {path[0] for path in values if len(path) > 1}:
        below = {path[1:]: value for path, value in values.items() if path[0] == field}
        found[field] = with_values(getattr(settings, field), below)
    return msgspec.structs.replace(settings, **found)


def is_of_healing(name: str) -> bool:
    return SERVER_SETTINGS[name].path[0] == "healing"


def own_names(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name in SERVER_SETTINGS)


def divided(configs: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The settings of servers, and Kafka's."""
    own = {name: value for name, value in configs.items() if name in SERVER_SETTINGS}
    return own, {name: value for name, value in configs.items() if name not in own}


def telling(own: Mapping[str, str], below: Mapping[str, str]) -> dict[str, str]:
    """Without empty values that are the default and override nothing in the layer below."""
    return {name: value for name, value in own.items() if value or SERVER_SETTINGS[name].default or name in below}


class MovedSettings(msgspec.Struct, frozen=True):
    """What leaves the brokers' defaults: `moved` now holds for the servers, which had other values of what is
    `dropped`.
    """

    moved: Mapping[str, str] = {}
    dropped: Mapping[str, str] = {}


def moved(settings: Mapping[str, str], defaults: Mapping[str, str]) -> MovedSettings:
    old, _ = divided(defaults)
    return MovedSettings(
        {name: value for name, value in old.items() if name not in settings},
        {name: value for name, value in old.items() if name in settings},
    )


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
