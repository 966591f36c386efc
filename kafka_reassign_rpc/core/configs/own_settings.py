"""The settings of servers (`core.settings.server_settings`) as configs: only a server's own node takes them, and no
broker, stock or simulated, knows them.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from kafka_reassign_rpc.core.configs.config_definitions import ConfigDefinition, ConfigValueError, parse, show
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, own_names
from kafka_reassign_rpc.core.settings.setting_kinds import ServerSetting
from kafka_reassign_rpc.core.settings.settings_in_force import IN_DEFAULTS
from kafka_reassign_rpc.support.bounded_text import shortened


def _definition(one: ServerSetting) -> ConfigDefinition:
    low, high = one.kind.bounds or (None, None)
    return ConfigDefinition(
        name=one.name,
        type=one.kind.type,
        default=one.default,
        min=low,
        max=high,
        one_of=one.kind.one_of,
        ignore_case=True,
        refusal=one.kind.refusal,
        dynamic=True,
    )


DEFINITIONS: Mapping[str, ConfigDefinition] = {name: _definition(one) for name, one in SERVER_SETTINGS.items()}

_PREFIXES = ("partition.reassignments.", "reassignment.", "failure.", "self.healing.", "cordoned.")
"""Names with these beginnings belong to servers; neither Kafka nor known plug-ins use them, except `cordoned.log.dirs`
of one broker (`core.brokers.cordon`). As a default of all brokers that name would cordon none.
"""
LONGEST_GUESSED = 100
"""Characters of an unknown name that are compared with known ones, and shown."""


def in_server_form(wanted: Mapping[str, str], current: Mapping[str, str]) -> dict[str, str]:
    """The configs of the server's own node, with changed settings as `show` writes them, so that every reader takes
    them.

    Raises ConfigValueError for an invalid setting that changes.
    """
    found = dict(wanted)
    for name in own_names(wanted):
        if wanted[name] != current.get(name):
            parse(DEFINITIONS[name], wanted[name])
            found[name] = show(DEFINITIONS[name], wanted[name])
    return found


def refuse_in_defaults(wanted: Mapping[str, str], current: Mapping[str, str], own_id: int) -> None:
    """Raises ConfigValueError if the brokers' defaults would get a setting of servers. Existing ones may stay or go."""
    names = [name for name in own_names(wanted) if wanted[name] != current.get(name)]
    if names:
        raise ConfigValueError(
            f"{', '.join(names)}: settings of kafka-reassign-rpc servers do not belong to {IN_DEFAULTS}, where stock"
            " tools take them for secrets. Set them with `kafka-reassign settings`, or on a server (kafka-configs.sh"
            f" --entity-type brokers --entity-name {own_id}). Here they can only be deleted."
        )


def refuse_mistyped(names: Iterable[str]) -> None:
    """Raises ConfigValueError for what looks like a setting of servers: Kafka would take it without effect."""
    known = sorted(SERVER_SETTINGS)
    for name in names:
        if name.startswith(_PREFIXES) and name not in SERVER_SETTINGS:
            near = get_close_matches(name[:LONGEST_GUESSED], known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise ConfigValueError(f"Unknown config {shortened(name, LONGEST_GUESSED)}: {hint}")
