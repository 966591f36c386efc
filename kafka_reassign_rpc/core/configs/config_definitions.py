"""Kafka 3.9's topic and broker configs: names, types, defaults, and the checks of values.

`config_definitions.json` comes from LogConfig and KafkaConfig of 3.9.1. Tools print error texts, so they are those of
ConfigDef, LogConfig and DynamicBrokerConfig. Checks that load a class or ask the running broker (principal builders,
key stores) are missing.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Literal

import msgspec

from kafka_reassign_rpc.core import config_values
from kafka_reassign_rpc.core.settings.broker_settings import PROTOCOL_VERSION
from kafka_reassign_rpc.support.bounded_text import whole_number

ConfigType = Literal["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]

_INTEGERS = {"SHORT": 1 << 15, "INT": 1 << 31, "LONG": 1 << 63}
_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)")
_LATEST_PRODUCTION = "3.9-IV0"
_THROTTLED_REPLICA = re.compile(r"[0-9]+:[0-9]+")

Value = bool | int | float | str | list[str]


class ConfigValueError(ValueError):
    """Kafka's ConfigException: ConfigDef refuses the value or combination."""


class UnknownConfigError(ConfigValueError):
    """Kafka's InvalidConfigurationException: an unknown name, or values that contradict each other."""


class ConfigDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds are inclusive. `default` is the text that Kafka shows."""

    name: str
    type: ConfigType
    default: str | None
    min: int | float | None = None
    max: int | float | None = None
    besides: int | None = None
    """A value outside the bounds that is allowed too."""
    one_of: tuple[str, ...] | None = None
    ignore_case: bool = False
    versions: tuple[str, ...] | None = None
    """Kafka versions; a shorter spelling (`3.0`) is allowed."""
    non_empty: bool = False
    throttled_replicas: bool = False
    refusal: Callable[[str], str | None] | None = None
    """Why a text is wrong, where it has a grammar of its own."""
    synonym: str | None = None
    """The broker config that gives the topic's default."""
    synonyms: tuple[str, ...] = ()
    """Broker configs with the same meaning in other units, the strongest first."""
    dynamic: bool = False
    """Whether a running broker accepts a new value."""
    per_broker: bool = False
    """May not be set for the whole cluster."""
    listener_only: bool = False
    """May only be set with a listener's prefix."""
    listed: bool = True
    """Whether DescribeConfigs shows it while it is not set."""

    @property
    def sensitive(self) -> bool:
        return self.type == "PASSWORD"


class _Tables(msgspec.Struct):
    topic: list[ConfigDefinition]
    broker: list[ConfigDefinition]


def _load() -> _Tables:
    text = resources.files(__package__).joinpath("config_definitions.json").read_bytes()
    return msgspec.json.decode(text, type=_Tables)


_tables = _load()
TOPIC_CONFIGS: Mapping[str, ConfigDefinition] = {d.name: d for d in _tables.topic}
"""In LogConfig's order: of several wrong values it names the first."""
BROKER_CONFIGS: Mapping[str, ConfigDefinition] = {d.name: d for d in _tables.broker}
_DYNAMIC_PASSWORDS = tuple(d.name for d in _tables.broker if d.sensitive and (d.dynamic or d.listener_only))
_CLUSTER_LEVEL_LISTENER_CONFIGS = {"max.connections", "max.connection.creation.rate", "num.network.threads"}
_MILLISECONDS = {"log.retention.minutes": 60_000, "log.retention.hours": 3_600_000}
_MILLISECONDS |= {"log.roll.hours": 3_600_000, "log.roll.jitter.hours": 3_600_000}


def broker_definition(name: str) -> ConfigDefinition | None:
    """Also of configs with a listener's prefix."""
    found = BROKER_CONFIGS.get(name)
    if found is None and (match := _LISTENER.fullmatch(name)):
        found = BROKER_CONFIGS.get(match[1])
    return found


def broker_synonyms(name: str) -> tuple[str, ...]:
    """DynamicBrokerConfig.brokerConfigSynonyms, the strongest first."""
    definition = BROKER_CONFIGS.get(name)
    if definition is not None:
        return definition.synonyms or (name,)
    match = _LISTENER.fullmatch(name)
    return (name, match[1]) if match else (name,)


def topic_default(definition: ConfigDefinition, broker: Mapping[str, str]) -> str | None:
    """KafkaConfig.extractLogConfigMap, from the broker configs in force."""
    if definition.synonym is None:
        return definition.default
    for name in broker_synonyms(definition.synonym):
        value = broker.get(name)
        if value is not None:
            return _as_topic_has_it(definition, name, value, broker)
    instead = _INSTEAD.get(definition.name)
    return definition.default if instead is None else broker.get(instead, definition.default)


_INSTEAD = dict.fromkeys(
    ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms"), "log.message.timestamp.difference.max.ms"
)
"""Broker configs that give a topic's default where its own synonym is not set."""
_IGNORED_FROM = "3.0-IV1"
"""Brokers with at least this inter.broker.protocol.version ignore the message format."""


def _as_topic_has_it(definition: ConfigDefinition, name: str, value: str, broker: Mapping[str, str]) -> str | None:
    scale = _MILLISECONDS.get(name)
    if scale is not None or definition.name == "retention.ms":
        return _scaled(value, scale or 1)
    instead = _INSTEAD.get(definition.name)
    if instead is not None and value.strip() == definition.default:
        return broker.get(instead, value)
    if definition.versions is not None:
        spoken = format_version(definition, broker.get(PROTOCOL_VERSION, _IGNORED_FROM))
        found = format_version(definition, value.strip())
        if spoken is None or spoken >= definition.versions.index(_IGNORED_FROM):
            return definition.default
        return value if found is None else definition.versions[found]
    return value


def _scaled(value: str, scale: int) -> str:
    amount = whole_number(value.strip(), -(2**63), 2**63 - 1)
    if amount is None:  # any client may have written it into a znode: it is shown as it is
        return value
    return str(amount * scale if amount >= 0 else -1)


# ---------------------------------------------------------------------------------------------------- values


def parse(definition: ConfigDefinition, text: str) -> Value:
    """Raises ConfigValueError with ConfigDef's text."""
    value = _parse_type(definition, text)
    _check(definition, value)
    return value


def show(definition: ConfigDefinition | None, text: str) -> str:
    """As Kafka shows it, unchanged if it does not parse."""
    if definition is None:
        return text
    try:
        value = _parse_type(definition, text)
    except ConfigValueError:
        return text
    return shown(value)


def shown(value: Value) -> str:
    """ConfigDef.convertToString."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return config_values.double_text(value)
    return ",".join(value) if isinstance(value, list) else str(value)


def _parse_type(definition: ConfigDefinition, text: str) -> Value:
    kind, trimmed = definition.type, config_values.trim(text)
    if kind == "LIST":
        return config_values.items(trimmed)
    value: Value | None = trimmed
    if kind == "BOOLEAN":
        value = config_values.boolean(trimmed)
    elif kind == "DOUBLE":
        value = config_values.double(trimmed)
    elif kind in _INTEGERS:
        value = config_values.integer(trimmed, _INTEGERS[kind])
    if value is None:
        expected = "Expected value to be either true or false" if kind == "BOOLEAN" else f"Not a number of type {kind}"
        raise invalid(definition, text, expected)
    return value


def _check(definition: ConfigDefinition, value: Value) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(definition, value)
    elif definition.throttled_replicas and isinstance(value, list):
        _check_throttled_replicas(definition, value)
    elif definition.one_of is not None:
        for item in value if isinstance(value, list) else [str(value)]:
            _check_one_of(definition, item)
    elif definition.versions is not None:
        if format_version(definition, str(value)) is None:
            raise invalid(definition, value, f"Version {value} is not a valid version")
    elif definition.refusal is not None:
        if (reason := definition.refusal(shown(value))) is not None:
            raise invalid(definition, value, reason)
    elif definition.non_empty and not value:
        raise invalid(definition, "", "String must be non-empty")


def _check_throttled_replicas(definition: ConfigDefinition, value: list[str]) -> None:
    """ThrottledReplicaListValidator."""
    items = [config_values.trim(item) for item in value]
    if not all(not item or _THROTTLED_REPLICA.fullmatch(item) for item in items) and "".join(items) != "*":
        raise invalid(
            definition,
            value,
            f"{definition.name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )


def format_version(definition: ConfigDefinition, text: str) -> int | None:
    """The index in `definition.versions` of a trimmed text, or None."""
    return config_values.metadata_version(text, definition.versions or (), _LATEST_PRODUCTION)


def _check_number(definition: ConfigDefinition, value: int | float) -> None:
    too_low = definition.min is not None and value < definition.min
    too_high = definition.max is not None and value > definition.max
    if definition.besides is not None:
        if (too_low or too_high) and value != definition.besides:
            text = f"Value must be between {definition.min} and {definition.max} or equal to {definition.besides}"
            raise invalid(definition, value, text)
    elif too_low:
        raise invalid(definition, value, f"Value must be at least {definition.min}")
    elif too_high:
        raise invalid(definition, value, f"Value must be no more than {definition.max}")


def _check_one_of(definition: ConfigDefinition, item: str) -> None:
    allowed = definition.one_of or ()
    if item in allowed or (definition.ignore_case and item.lower() in {a.lower() for a in allowed}):
        return
    hint = "String must be one of (case insensitive): " if definition.ignore_case else "String must be one of: "
    raise invalid(definition, item, hint + ", ".join(allowed))


def invalid(definition: ConfigDefinition, value: object, reason: str) -> ConfigValueError:
    """ConfigException."""
    text = f"[{', '.join(value)}]" if isinstance(value, list) else value
    text = config_values.double_text(value) if isinstance(value, float) else text
    return ConfigValueError(f"Invalid value {text} for configuration {definition.name}: {reason}")


# ---------------------------------------------------------------------------------------------------- sets of configs


def validate_broker_configs(configs: Mapping[str, str], *, per_broker: bool) -> None:
    """DynamicBrokerConfig.validate of all dynamic configs of a broker, or of the cluster.

    Unknown names are allowed, since plug-ins bring their own.
    """
    _refuse(
        (name for name in configs if name in BROKER_CONFIGS and is_read_only(name)),
        "Cannot update these configs dynamically",
    )
    _refuse(
        (name for name in configs if name in BROKER_CONFIGS and BROKER_CONFIGS[name].listener_only),
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )
    for name, text in configs.items():
        definition = broker_definition(name)
        if definition is not None:
            parse(definition, text)
    if not per_broker:
        _refuse(
            (name for name in configs if is_per_broker(name)),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def is_read_only(name: str) -> bool:
    definition = BROKER_CONFIGS[name]
    return not definition.dynamic and not is_throttle(name)


THROTTLE_RATES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
"""A running broker accepts them, though KafkaConfig does not define them."""


def is_throttle(name: str) -> bool:
    return name in THROTTLE_RATES


def is_per_broker(name: str) -> bool:
    definition = BROKER_CONFIGS.get(name)
    if definition is not None:
        return definition.per_broker
    match = _LISTENER.fullmatch(name)
    return match is not None and match[1] not in _CLUSTER_LEVEL_LISTENER_CONFIGS


def is_password(name: str) -> bool:
    """DynamicBrokerConfig.isPasswordConfig: Kafka encrypts the value."""
    return name.endswith(_DYNAMIC_PASSWORDS)


def ignored_default(name: str, value: str) -> str | None:
    """DynamicBrokerConfig.fromPersistentProps: why brokers ignore this cluster-wide config, or None."""
    if is_password(name):
        return "Password config can be defined only at broker level"
    try:
        validate_broker_configs({name: value}, per_broker=False)
    except ConfigValueError as error:
        return str(error)
    return None


def _refuse(names: Iterable[str], reason: str) -> None:
    refused = list(names)
    if refused:
        raise ConfigValueError(f"{reason}: Set({', '.join(refused)})")
