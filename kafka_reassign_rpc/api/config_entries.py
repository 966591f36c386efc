"""Configs as DescribeConfigs and CreateTopics show them: the effective value, its source and its synonyms, by the rules
of Kafka 3.9's ConfigHelper, the strongest first: the topic's own value, the dynamic configs of this broker, the dynamic
defaults of the cluster, the static configuration of this broker, the default.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDefinition,
    broker_definition,
    broker_synonyms,
    show,
    topic_default,
)
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, Configs
from kafka_reassign_rpc.core.configs.own_settings import DEFINITIONS
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS

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
