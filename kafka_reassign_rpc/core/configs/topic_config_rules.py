"""Which configs a topic may have: LogConfig.validate of Kafka 3.9 in ZooKeeper mode, and what every broker can use.

A broker that cannot read the configs of all topics at its start ends: what is wrongly accepted here takes down the
whole cluster at the next restarts. So Kafka's rules apply over the values in force on each registered broker, if the
request touches one of their configs, and these:

a config that some broker does not know         is refused: it would fail each later change of the topic
a message format that some broker does not know is refused: the broker would end at its next start
numbers of throttled replicas                   have 32 bits: Kafka accepts any digits, and its brokers end at them
an index without room for an entry              is refused: no broker could begin a partition or a segment

Values are stored as brokers print them: Kafka's validator accepts `0:1, 1:2` and `0:1,,1:2`, but
TopicConfigHandler.parseThrottledPartitions, which reads them when a broker starts, does not.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.configs.config_definitions import (
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigValueError,
    UnknownConfigError,
    Value,
    format_version,
    invalid,
    parse,
    shown,
    topic_default,
)
from kafka_reassign_rpc.core.configs.config_layers import MESSAGE_FORMAT, TIERED_STORAGE, Configs, LiveBrokers
from kafka_reassign_rpc.core.java_values import trim
from kafka_reassign_rpc.support.bounded_text import whole_number

REMOTE_STORAGE = "remote.storage.enable"
COPY_DISABLE = "remote.log.copy.disable"
DELETE_ON_DISABLE = "remote.log.delete.on.disable"
MIN_COMPACTION_LAG, MAX_COMPACTION_LAG = "min.compaction.lag.ms", "max.compaction.lag.ms"
CLEANUP_POLICY = "cleanup.policy"
INDEX_BYTES = "segment.index.bytes"
LEAST_INDEX = 12
"""Bytes of an entry of the time index (AbstractIndex.createAndAssignMmap)."""
_UNLIMITED, _AS_RETENTION = -1, -2
_NO_BROKER: tuple[Configs, ...] = ({},)

Values = Mapping[str, Value]


class _Rule(NamedTuple):
    """`check` gets the values in force and LiveBrokers.tiered_storage; it raises ConfigValueError."""

    names: frozenset[str]
    check: Callable[[Values, bool | None], None]


def validate_topic_configs(
    configs: Configs, brokers: LiveBrokers, touched: Collection[str] | None = None
) -> dict[str, str]:
    """Checks a topic's own configs together, and returns them as they are to be stored.

    `touched`: what the request sets or deletes, None: all. Raises UnknownConfigError, ConfigValueError.
    """
    changed = configs.keys() if touched is None else set(touched)
    _check_names([name for name in configs if name in changed], brokers)
    names = [name for name in TOPIC_CONFIGS if name in changed and name in configs]
    parsed = {name: parse(TOPIC_CONFIGS[name], configs[name]) for name in names}
    rules = [rule for rule in _RULES if not rule.names.isdisjoint(changed)]
    if rules:
        for of_broker in brokers.configs or _NO_BROKER:
            values = _in_force(configs, of_broker)
            for rule in rules:
                if rule.names <= values.keys():
                    rule.check(values, brokers.tiered_storage)
    for name, value in parsed.items():
        _check_readable(TOPIC_CONFIGS[name], value, brokers)
    stored = {name: _as_stored(TOPIC_CONFIGS[name], value, configs[name]) for name, value in parsed.items()}
    return {**configs, **stored}


def _check_names(names: Collection[str], brokers: LiveBrokers) -> None:
    for name in names:
        if name not in TOPIC_CONFIGS:
            raise UnknownConfigError(f"Unknown topic config name: {name}")
        if name in brokers.lacking:
            raise UnknownConfigError(f"Unknown topic config name: {name} (to broker {brokers.lacking[name]})")


def _check_readable(definition: ConfigDefinition, value: Value, brokers: LiveBrokers) -> None:
    """Refuses what Kafka's validators accept and a broker cannot read."""
    if definition.throttled_replicas and isinstance(value, list):
        for item in value:
            if any(whole_number(number, 0, INT32) is None for number in item.split(":") if ":" in item):
                raise invalid(definition, value, f"Numbers must be no more than {INT32}")
    elif definition.name == INDEX_BYTES and isinstance(value, int) and value < LEAST_INDEX:
        raise invalid(definition, value, f"An index has no room for an entry in less than {LEAST_INDEX} bytes")
    elif definition.name == MESSAGE_FORMAT and brokers.newest_format is not None:
        place = format_version(definition, str(value))
        if place is not None and place > brokers.newest_format:
            newest = (definition.versions or ())[brokers.newest_format]
            raise invalid(definition, value, f"Not every broker is known to know a version after {newest}")


def _as_stored(definition: ConfigDefinition, value: Value, text: str) -> str:
    if definition.throttled_replicas and isinstance(value, list):
        return ",".join(item for item in map(trim, value) if item)
    return trim(text) if isinstance(value, float) else shown(value)


def _in_force(configs: Configs, of_broker: Configs) -> dict[str, Value]:
    """Without invalid values: this request does not touch them."""
    found: dict[str, Value] = {}
    for name in _JUDGED:
        definition = TOPIC_CONFIGS[name]
        text = configs.get(name, topic_default(definition, of_broker))
        with suppress(ConfigValueError):
            if text is not None:
                found[name] = parse(definition, text)
    return found


# ---------------------------------------------------------------------------------------------------- across values


def _compaction_lag(values: Values, _tiered: bool | None) -> None:
    """LogConfig.validateValues."""
    shortest, longest = _number(values, MIN_COMPACTION_LAG), _number(values, MAX_COMPACTION_LAG)
    if shortest > longest:
        raise UnknownConfigError(
            f"conflict topic config setting {MIN_COMPACTION_LAG} ({shortest}) > {MAX_COMPACTION_LAG} ({longest})"
        )


def _nothing_of_kraft(values: Values, _tiered: bool | None) -> None:
    """validateNoInvalidRemoteStorageConfigsInZK."""
    if values[DELETE_ON_DISABLE] or values[COPY_DISABLE]:
        raise UnknownConfigError(
            f"It is invalid to set `{DELETE_ON_DISABLE}` or `{COPY_DISABLE}` under Zookeeper's mode."
        )


def _only_with_tiered_storage(values: Values, tiered: bool | None) -> None:
    """validateRemoteStorageOnlyIfSystemEnabled.

    While such a topic exists, a broker without tiered storage does not start, even without a replica of it.
    """
    if not values[REMOTE_STORAGE] or tiered:
        return
    if tiered is None:
        raise ConfigValueError(
            f"Tiered Storage functionality is not known to be enabled: not every broker has reported its"
            f" {TIERED_STORAGE}."
            " Topic cannot be configured with remote log storage."
        )
    raise ConfigValueError(
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
    )


def _not_compacted(values: Values, _tiered: bool | None) -> None:
    """validateNoRemoteStorageForCompactedTopic."""
    policies = values[CLEANUP_POLICY]
    if values[REMOTE_STORAGE] and isinstance(policies, list) and "compact" in policies:
        raise ConfigValueError("Remote log storage is unsupported for the compacted topics")


def _retention(total: str, local: str) -> _Rule:
    """validateRemoteStorageRetentionSize and validateRemoteStorageRetentionTime."""

    def check(values: Values, _tiered: bool | None) -> None:
        whole, part = _number(values, total), _number(values, local)
        if not values[REMOTE_STORAGE] or whole <= _UNLIMITED or part == _AS_RETENTION:
            return
        if part == _UNLIMITED:
            raise invalid(TOPIC_CONFIGS[local], part, f"Value must not be -1 as {total} value is set as {whole}.")
        if part > whole:
            text = f"Value must not be more than {total} property value: {whole}"
            raise invalid(TOPIC_CONFIGS[local], part, text)

    return _Rule(frozenset({REMOTE_STORAGE, total, local}), check)


def _number(values: Values, name: str) -> int:
    value = values[name]
    return value if isinstance(value, int) else 0


_RULES = (
    _Rule(frozenset({MIN_COMPACTION_LAG, MAX_COMPACTION_LAG}), _compaction_lag),
    _Rule(frozenset({DELETE_ON_DISABLE, COPY_DISABLE}), _nothing_of_kraft),
    _Rule(frozenset({REMOTE_STORAGE}), _only_with_tiered_storage),
    _Rule(frozenset({REMOTE_STORAGE, CLEANUP_POLICY}), _not_compacted),
    _retention("retention.bytes", "local.retention.bytes"),
    _retention("retention.ms", "local.retention.ms"),
)
"""The order of LogConfig.validateTopicLogConfigValues, without the rules that concern KRaft alone."""
_JUDGED = frozenset[str]().union(*(rule.names for rule in _RULES))
