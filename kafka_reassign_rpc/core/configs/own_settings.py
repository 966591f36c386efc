"""The settings of servers as configs: what a server's own node takes, what the brokers' defaults no longer take.

`core.server_settings` is their catalogue. Simulated brokers do not know them, as stock brokers do not. Pure functions.
"""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from kafka_reassign_rpc.core.configs.config_definitions import ConfigDefinition, ConfigValueError, parse, show
from kafka_reassign_rpc.core.server_settings import SERVER_SETTINGS, own_names
from kafka_reassign_rpc.core.settings_in_force import IN_DEFAULTS
from kafka_reassign_rpc.support.bounded_text import shortened

DEFINITIONS: Mapping[str, ConfigDefinition] = {
    one.name: ConfigDefinition(
        name=one.name,
        type=one.type,
        default=one.default,
        min=one.min,
        max=one.max,
        rate_or_share=one.rate_or_share,
        dynamic=True,
    )
    for one in SERVER_SETTINGS.values()
}

_PREFIXES = ("partition.reassignments.", "reassignment.", "failure.", "self.healing.")
"""Names of configs that begin so are of servers; Kafka and its known plug-ins have none."""
LONGEST_GUESSED = 100
"""Characters of an unknown name that are compared with known ones, and shown."""


def settled(wanted: Mapping[str, str], current: Mapping[str, str]) -> dict[str, str]:
    """Configs of the server's own node with its settings as `show` writes them: every reader takes that form.

    Raises ConfigValueError for a setting that changes to a value that its definition refuses.
    """
    found = dict(wanted)
    for name in own_names(wanted):
        if wanted[name] != current.get(name):
            parse(DEFINITIONS[name], wanted[name])
            found[name] = show(DEFINITIONS[name], wanted[name])
    return found


def refuse_in_defaults(wanted: Mapping[str, str], current: Mapping[str, str], own_id: int) -> None:
    """The brokers' defaults keep the settings of servers that stand there, or lose them, and get no others.

    Raises ConfigValueError.
    """
    names = [name for name in own_names(wanted) if wanted[name] != current.get(name)]
    if names:
        raise ConfigValueError(
            f"{', '.join(names)}: settings of kafka-reassign-rpc servers do not belong to {IN_DEFAULTS}, where stock"
            " tools take them for secrets. Set them on a server: kafka-configs.sh --entity-type brokers"
            f" --entity-name {own_id}, or kafka-reassign settings --set. Here they can only be deleted."
        )


def refuse_mistyped(names: Iterable[str], known: Collection[str] = tuple(sorted(SERVER_SETTINGS))) -> None:
    """Refuse names that look like settings of servers and are none. Kafka would take them, and they have no effect.

    Raises ConfigValueError.
    """
    for name in names:
        if name.startswith(_PREFIXES) and name not in known:
            near = get_close_matches(name[:LONGEST_GUESSED], known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise ConfigValueError(f"Unknown config {shortened(name, LONGEST_GUESSED)}: {hint}")
