"""The catalogue of the settings that all servers of a cluster share and that change without a restart: the fields of
`ReassignmentSettings` declare them.

`/admin/reassignment_settings` holds them; DescribeConfigs shows them as configs of the server's own node.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.settings.setting_kinds import ServerSetting, declared

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
