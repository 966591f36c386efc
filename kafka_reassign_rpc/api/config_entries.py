"""Configs as DescribeConfigs and CreateTopics show them: the effective value, its source and its synonyms, by the rules
of Kafka 3.9's ConfigHelper, the strongest first: the topic's own value, the dynamic configs of this broker, the dynamic
defaults of the cluster, the static configuration of this broker, the default.

The settings of servers (`core.settings.server_settings`) are configs of a server's own node alone; no broker, stock or
simulated, knows them.
"""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigValueError,
    broker_definition,
    broker_synonyms,
    parse,
    show,
    topic_default,
)
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, Configs
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


TOPIC_CONFIG = 1
DYNAMIC_BROKER_CONFIG = 2
DYNAMIC_DEFAULT_BROKER_CONFIG = 3
STATIC_BROKER_CONFIG = 4
DEFAULT_CONFIG = 5

TYPE_IDS = {
    "BOOLEAN": 1,
    "STRING": 2,
    "INT": 3,
    "SHORT": 4,
    "LONG": 5,
    "DOUBLE": 6,
    "LIST": 7,
    "CLASS": 8,
    "PASSWORD": 9,
}


class Synonym(NamedTuple):
    """One place where the config is set. Earlier synonyms of an entry are stronger."""

    name: str
    value: str | None
    source: int


class ConfigEntry(NamedTuple):
    """`value` is None if the config has no value, or a secret one."""

    name: str
    value: str | None
    read_only: bool
    source: int
    sensitive: bool
    synonyms: tuple[Synonym, ...]
    type_id: int
    documentation: str | None = None


def topic_entries(configs: Configs, layers: ConfigLayers, keys: Collection[str] | None = None) -> list[ConfigEntry]:
    """`configs` are those that the topic sets itself; `layers` are a broker's."""
    broker = layers.effective()
    names = sorted(TOPIC_CONFIGS.keys() | configs.keys())
    return [_topic_entry(name, configs, broker, layers) for name in names if keys is None or name in keys]


def _topic_entry(name: str, configs: Configs, broker: Configs, layers: ConfigLayers) -> ConfigEntry:
    definition = TOPIC_CONFIGS.get(name)
    if definition is None:  # left by hand or by another version: its type is not known, so it may be a secret
        return ConfigEntry(name, None, False, TOPIC_CONFIG, True, (Synonym(name, None, TOPIC_CONFIG),), 0)
    own = configs.get(name)
    text = own if own is not None else topic_default(definition, broker)
    value = None if text is None else show(definition, text)
    synonyms = () if definition.synonym is None else _synonyms(definition.synonym, *layers)
    if own is not None:
        synonyms = (Synonym(name, value, TOPIC_CONFIG), *synonyms)
    source = synonyms[0].source if synonyms else DEFAULT_CONFIG
    return ConfigEntry(name, value, False, source, False, synonyms, TYPE_IDS[definition.type])


def broker_entries(layers: ConfigLayers, keys: Collection[str] | None = None) -> list[ConfigEntry]:
    effective = layers.effective()
    listed = {name for name, definition in BROKER_CONFIGS.items() if definition.listed}
    return [
        _broker_entry(name, effective, _synonyms(name, *layers))
        for name in sorted(listed | effective.keys())
        if keys is None or name in keys
    ]


def setting_entries(layers: ConfigLayers, keys: Collection[str] | None = None) -> list[ConfigEntry]:
    """All settings of the servers, or those in `keys`. `layers`, which may hold other configs too, are what all servers
    share, what is set where settings were before, and what this server was started with.
    """
    found = []
    for name, definition in DEFINITIONS.items():
        if keys is not None and name not in keys:
            continue
        synonyms = tuple(
            Synonym(name, show(definition, layer[name]), source)
            for layer, source in (
                (layers.own, DYNAMIC_BROKER_CONFIG),
                (layers.defaults, DYNAMIC_DEFAULT_BROKER_CONFIG),
                (layers.static, STATIC_BROKER_CONFIG),
                ({name: definition.default or ""}, DEFAULT_CONFIG),
            )
            if name in layer
        )
        found.append(
            ConfigEntry(
                name,
                synonyms[0].value,
                read_only=False,
                source=synonyms[0].source,
                sensitive=False,
                synonyms=synonyms,
                type_id=TYPE_IDS[definition.type],
                documentation=SERVER_SETTINGS[name].documentation,
            )
        )
    return found


def cluster_entries(defaults: Configs, keys: Collection[str] | None = None) -> list[ConfigEntry]:
    """Those that are set, without defaults."""
    return [
        _broker_entry(
            name,
            defaults,
            tuple(s for s in _synonyms(name, {}, defaults, {}) if s.source == DYNAMIC_DEFAULT_BROKER_CONFIG),
        )
        for name in sorted(defaults)
        if keys is None or name in keys
    ]


def _broker_entry(name: str, effective: Configs, synonyms: tuple[Synonym, ...]) -> ConfigEntry:
    definition = broker_definition(name)
    sensitive = definition is None or definition.sensitive
    value = None if sensitive else _value(definition, effective.get(name))
    return ConfigEntry(
        name=name,
        value=value,
        read_only=not (name in BROKER_CONFIGS and BROKER_CONFIGS[name].dynamic),
        source=synonyms[0].source if synonyms else DEFAULT_CONFIG,
        sensitive=sensitive,
        synonyms=synonyms,
        type_id=0 if definition is None else TYPE_IDS[definition.type],
    )


def _value(definition: ConfigDefinition | None, text: str | None) -> str | None:
    if text is not None:
        return show(definition, text)
    return None if definition is None else definition.default


def _synonyms(name: str, own: Configs, defaults: Configs, static: Configs) -> tuple[Synonym, ...]:
    """The places where a broker config is set, from the first that has this very name on."""
    names = broker_synonyms(name)
    definition = broker_definition(name)
    sensitive = definition is None or definition.sensitive

    def layer(configs: Configs, source: int) -> Iterable[Synonym]:
        for synonym in names:
            value = configs.get(synonym)
            if value is not None:
                yield Synonym(synonym, None if sensitive else value, source)

    built_in = {n: BROKER_CONFIGS[n].default for n in names if n in BROKER_CONFIGS and BROKER_CONFIGS[n].listed}
    found = [
        *layer(own, DYNAMIC_BROKER_CONFIG),
        *layer(defaults, DYNAMIC_DEFAULT_BROKER_CONFIG),
        *layer(static, STATIC_BROKER_CONFIG),
        *layer({n: v for n, v in built_in.items() if v is not None}, DEFAULT_CONFIG),
    ]
    for start, synonym in enumerate(found):
        if synonym.name == name:
            return tuple(found[start:])
    return ()
