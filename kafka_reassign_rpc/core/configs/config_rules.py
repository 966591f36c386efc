"""Which configs a topic may have, and which cluster-wide ones a Kafka 3.9 broker can apply and accepts.

Cluster-wide, as far as a broker's configuration decides: the requirements of KafkaConfig, then
`validateReconfiguration` of each part whose configs change. Whether a broker accepts new values, only the broker itself
can say: it is asked. A simulated broker answers as DynamicBrokerConfig.validate: by what it can apply, and how far
numbers of threads may change at a time.

Of topics: LogConfig.validate of Kafka 3.9 in ZooKeeper mode, and what every broker can use. A broker that cannot read
the configs of all topics at its start ends: what is wrongly accepted here takes down the whole cluster at the next
restarts. So Kafka's rules apply over the values in force on each registered broker, if the request touches one of their
configs, and these:

a config that some broker does not know         is refused: it would fail each later change of the topic
a message format that some broker does not know is refused: the broker would end at its next start
numbers of throttled replicas                   have 32 bits: Kafka accepts any digits, and its brokers end at them
an index without room for an entry              is refused: no broker could begin a partition or a segment

Values are stored as brokers print them: Kafka's validator accepts `0:1, 1:2` and `0:1,,1:2`, but
TopicConfigHandler.parseThrottledPartitions, which reads them when a broker starts, does not.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import INT32, trim
from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigValueError,
    UnknownConfigError,
    Value,
    broker_synonyms,
    format_version,
    ignored_default,
    invalid,
    parse,
    shown,
    topic_default,
    validate_broker_configs,
)
from kafka_reassign_rpc.core.configs.config_layers import (
    MESSAGE_FORMAT,
    TIERED_STORAGE,
    ConfigLayers,
    Configs,
    LiveBrokers,
)
from kafka_reassign_rpc.support.bounded_text import whole_number

Props = Mapping[str, str]

CLEANER_THREADS, DEDUPE_BYTES = "log.cleaner.threads", "log.cleaner.dedupe.buffer.size"
LOAD_FACTOR, CLEANS = "log.cleaner.io.buffer.load.factor", "log.cleaner.enable"
IO_BUFFER, IO_RATE, BACKOFF = (
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.backoff.ms",
)
REPORTERS = "metric.reporters"
NOT_APPLIED = (
    "cannot apply the cluster-wide configs: none of them holds there, and every change of configs of brokers is refused"
    " there, also of throttles"
)
"""The consequence for brokers whose `judge_standing` raises."""
OVERRIDES = "max.connections.per.ip.overrides"

_OF_LOGS = {d.synonym for d in TOPIC_CONFIGS.values() if d.synonym} - {"log.message.format.version"}
_OF_CLEANER = {
    CLEANER_THREADS,
    DEDUPE_BYTES,
    LOAD_FACTOR,
    IO_BUFFER,
    "message.max.bytes",
    IO_RATE,
    BACKOFF,
}
_OF_LISTENERS = ("max.connections", "max.connection.creation.rate")
JMX_REPORTER = "org.apache.kafka.common.metrics.JmxReporter"
_REPORTERS = {JMX_REPORTER, "org.apache.kafka.tools.PushHttpMetricsReporter"}
"""Reporters on the class path of a broker without plug-ins."""
_MB = 1024 * 1024
_AS_WHOLE = -2
"""As local retention: the same as the whole retention."""
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]*")
_INT = re.compile(r"[+-]?[0-9]{1,20}")


def applied(defaults: Props) -> dict[str, str]:
    return {name: value for name, value in defaults.items() if ignored_default(name, value) is None}


def judge_standing(static: Props, standing: Props, own: Props, listener: str) -> None:
    """Raises ConfigValueError if a broker cannot apply the present cluster-wide configs."""
    current = ConfigLayers(own, standing, static).effective()
    require_kafka_config(current)
    judge_parts(ConfigLayers(own, {}, static).effective(), current, listener)


def require_kafka_config(props: Props) -> None:
    """KafkaConfig's constructor."""
    overrides = connection_overrides(props.get(OVERRIDES, ""))
    _require(_milliseconds(props, "log.roll.ms") >= 1, "log.roll.ms must be greater than or equal to 1")
    _require(_milliseconds(props, "log.roll.jitter.ms") >= 0, "log.roll.jitter.ms must be greater than or equal to 0")
    _require(
        _milliseconds(props, "log.retention.ms") != 0,
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    )
    threads = whole_in(props, CLEANER_THREADS)
    if threads == 0:
        raise ConfigValueError("/ by zero")
    _require(
        divided(whole_in(props, DEDUPE_BYTES), threads) > _MB,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    _require(
        whole_in(props, "max.connections.per.ip") != 0 or bool(overrides),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    )
    wrong = [host for host in overrides if not _HOST.fullmatch(host)]
    if wrong:
        raise ConfigValueError(f"{OVERRIDES} contains invalid addresses : {','.join(wrong)}")


def judge_parts(current: Props, new: Props, listener: str) -> None:
    """`validateReconfiguration` of each part of the broker, except how far numbers of threads may change at a time."""
    changed = {name for name in current.keys() | new.keys() if current.get(name) != new.get(name)}
    prefix = f"listener.name.{listener}."
    if REPORTERS in changed:
        for one in list_in(new, REPORTERS):
            part(one in _REPORTERS, f"Validation of dynamic config update of Set({REPORTERS}) failed with class class"
                  " kafka.server.DynamicMetricsReporters")  # fmt: skip
    if changed & {*_OF_LISTENERS, *(prefix + name for name in _OF_LISTENERS)}:
        for name in _OF_LISTENERS:
            allowed = of_listener(new, prefix, name)
            part(allowed > 0, f"Invalid {name} {allowed}")
    if changed & _OF_CLEANER and text_in(new, CLEANS).lower() == "true":
        part(whole_in(new, CLEANER_THREADS) >= 1, "Log cleaner threads should be at least 1")
    if changed & _OF_LOGS:
        retention = _milliseconds(new, "log.retention.ms")
        _keeps_locally(new, "log.local.retention.ms", "log.retention.ms", -1 if retention < 0 else retention)
        bytes_kept = whole_in(new, "log.retention.bytes")
        _keeps_locally(new, "log.local.retention.bytes", "log.retention.bytes", bytes_kept)


def connection_overrides(text: str) -> dict[str, int]:
    """KafkaConfig.getMap, Csv.parseCsvMap. Raises ConfigValueError."""
    found = {}
    for pair in re.split(r"\s*,\s*", text.strip()) if text.strip() else ():
        host, colon, count = pair.rpartition(":")
        if not colon:
            raise ConfigValueError(f"Error parsing configuration property '{OVERRIDES}': begin 0, end -1, length"
                                   f" {len(pair)}")  # fmt: skip
        count = count.strip()
        if not _INT.fullmatch(count) or not -(2**31) <= int(count) < 2**31:
            raise ConfigValueError(f'For input string: "{count}"')
        found[host.strip()] = int(count)
    return found


# ---------------------------------------------------------------------------------------------------- values


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ConfigValueError(f"requirement failed: {what}")


def part(holds: bool, why: str) -> None:
    """Kafka reports a part's error as the value of a config named "Invalid dynamic configuration"."""
    if not holds:
        error = f"org.apache.kafka.common.config.ConfigException: {why}"
        raise ConfigValueError(f"Invalid value {error} for configuration Invalid dynamic configuration")


def _keeps_locally(props: Props, name: str, whole: str, kept: int) -> None:
    """DynamicLogConfig."""
    local = whole_in(props, name)
    if kept < 0 or local == _AS_WHOLE:
        return
    wrong = f"Invalid value {local} for configuration {name}: Value must not be"
    part(local != -1, f"{wrong} -1 as {whole} value is set as {kept}.")
    part(local <= kept, f"{wrong} more than {whole} property value: {kept}")


def value_in(props: Props, name: str) -> Value | None:
    definition = BROKER_CONFIGS[name]
    text = props.get(name, definition.default)
    return None if text is None else parse(definition, text)


def text_in(props: Props, name: str) -> str:
    return str(props.get(name, BROKER_CONFIGS[name].default) or "").strip()


def list_in(props: Props, name: str) -> list[str]:
    value = value_in(props, name)
    return value if isinstance(value, list) else []


def number_in(props: Props, name: str) -> float:
    value = value_in(props, name)
    return value if isinstance(value, int | float) else math.nan


def whole_in(props: Props, name: str) -> int:
    value = value_in(props, name)
    return value if isinstance(value, int) else 0


def _milliseconds(props: Props, name: str) -> int:
    """Of a config or its synonyms in other units."""
    scale = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}
    for synonym in broker_synonyms(name):
        value = value_in(props, synonym)
        if isinstance(value, int):
            return value * scale[synonym.rpartition(".")[2]]
    return 0


def of_listener(props: Props, prefix: str, name: str) -> int:
    own = props.get(prefix + name)
    return whole_in(props if own is None else {name: own}, name)


def divided(one: int, other: int) -> int:
    return int(one / other) if abs(one) < 2**52 else (abs(one) // abs(other)) * (1 if (one < 0) == (other < 0) else -1)


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


NETWORK_THREADS = "num.network.threads"
_THREADS = ("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads")


def judge_reconfiguration(
    static: Props, standing: Props, own: Props, wanted: Props, listener: str, *, may_shrink: bool = False
) -> None:
    """Checks `wanted` in place of the cluster-wide configs `standing`. Raises ConfigValueError.

    static, own   what the broker was started with, and its own dynamic configs
    listener      name of its listener, in lower case
    may_shrink    thread counts may fall at will: a simulated broker has no threads
    """
    if may_shrink:
        standing = {name: value for name, value in standing.items() if name not in (*_THREADS, NETWORK_THREADS)}
    validate_broker_configs(wanted, per_broker=False)
    new = ConfigLayers(own, wanted, static).effective()
    require_kafka_config(new)
    current = ConfigLayers(own, standing, static).effective()
    try:
        judge_standing(static, standing, own, listener)
    except ConfigValueError:  # the broker has not been able to apply the present configs
        current = ConfigLayers(own, {}, static).effective()
    judge_parts(current, new, listener)
    prefix = f"listener.name.{listener}."
    now, then = (of_listener(props, prefix, NETWORK_THREADS) for props in (current, new))
    _may_become(NETWORK_THREADS, now, then, may_shrink=may_shrink)
    for name in _THREADS:
        _may_become(name, whole_in(current, name), whole_in(new, name), may_shrink=may_shrink)
    if text_in(new, CLEANS).lower() == "true":
        now, then = whole_in(current, CLEANER_THREADS), whole_in(new, CLEANER_THREADS)
        cannot = "Log cleaner threads cannot be"
        part(then >= now // 2, f"{cannot} reduced to less than half the current value {now}")
        part(then <= now * 2, f"{cannot} increased to more than double the current value {now}")


def _may_become(name: str, now: int, wanted: int, *, may_shrink: bool) -> None:
    """DynamicThreadPool."""
    if wanted == now:
        return
    failed = f"Dynamic thread count update validation failed for {name}={wanted}, value should"
    part(wanted > 0, f"{failed} be at least 1")
    part(may_shrink or wanted >= now // 2, f"{failed} be at least half the current value {now}")
    part(wanted <= now * 2, f"{failed} not be greater than double the current value {now}")
