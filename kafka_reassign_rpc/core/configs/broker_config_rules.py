"""Which new cluster-wide configs a Kafka 3.9 broker accepts, as far as its configuration decides.

`judge_reconfiguration` is DynamicBrokerConfig.validate: the requirements of KafkaConfig, then `validateReconfiguration`
of each part whose configs change. It answers for simulated brokers; stock ones are asked.
"""

import math
import re
from collections.abc import Mapping

from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigValueError,
    Value,
    broker_synonyms,
    ignored_default,
    parse,
    validate_broker_configs,
)
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers

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
NETWORK_THREADS = "num.network.threads"
_THREADS = ("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads")
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
    _require_kafka_config(new)
    current = ConfigLayers(own, standing, static).effective()
    try:
        judge_standing(static, standing, own, listener)
    except ConfigValueError:  # the broker has not been able to apply what stands
        current = ConfigLayers(own, {}, static).effective()
    _judge_parts(current, new, listener, may_shrink=may_shrink)


def judge_standing(static: Props, standing: Props, own: Props, listener: str) -> None:
    """Raises ConfigValueError if a broker cannot apply the present cluster-wide configs."""
    current = ConfigLayers(own, standing, static).effective()
    _require_kafka_config(current)
    _judge_parts(ConfigLayers(own, {}, static).effective(), current, listener, keeps_threads=False)


def _require_kafka_config(props: Props) -> None:
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


def _judge_parts(
    current: Props, new: Props, listener: str, *, keeps_threads: bool = True, may_shrink: bool = False
) -> None:
    """`validateReconfiguration` of each part of the broker."""
    changed = {name for name in current.keys() | new.keys() if current.get(name) != new.get(name)}
    prefix = f"listener.name.{listener}."
    if REPORTERS in changed:
        for one in list_in(new, REPORTERS):
            _part(one in _REPORTERS, f"Validation of dynamic config update of Set({REPORTERS}) failed with class class"
                  " kafka.server.DynamicMetricsReporters")  # fmt: skip
    if changed & {*_OF_LISTENERS, *(prefix + name for name in _OF_LISTENERS)}:
        for name in _OF_LISTENERS:
            allowed = _of_listener(new, prefix, name)
            _part(allowed > 0, f"Invalid {name} {allowed}")
    network = NETWORK_THREADS
    if keeps_threads and changed & {network, prefix + network}:
        now, then = _of_listener(current, prefix, network), _of_listener(new, prefix, network)
        _may_become(network, now, then, may_shrink=may_shrink)
    if keeps_threads and changed & set(_THREADS):
        for name in _THREADS:
            _may_become(name, whole_in(current, name), whole_in(new, name), may_shrink=may_shrink)
    if changed & _OF_CLEANER and text_in(new, CLEANS).lower() == "true":
        now, threads = whole_in(current, CLEANER_THREADS), whole_in(new, CLEANER_THREADS)
        _part(threads >= 1, "Log cleaner threads should be at least 1")
        if keeps_threads:
            cannot = "Log cleaner threads cannot be"
            _part(threads >= now // 2, f"{cannot} reduced to less than half the current value {now}")
            _part(threads <= now * 2, f"{cannot} increased to more than double the current value {now}")
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


def _part(holds: bool, why: str) -> None:
    """Kafka reports a part's error as the value of a config named "Invalid dynamic configuration"."""
    if not holds:
        error = f"org.apache.kafka.common.config.ConfigException: {why}"
        raise ConfigValueError(f"Invalid value {error} for configuration Invalid dynamic configuration")


def _may_become(name: str, now: int, wanted: int, *, may_shrink: bool) -> None:
    """DynamicThreadPool."""
    if wanted == now:
        return
    failed = f"Dynamic thread count update validation failed for {name}={wanted}, value should"
    _part(wanted > 0, f"{failed} be at least 1")
    _part(may_shrink or wanted >= now // 2, f"{failed} be at least half the current value {now}")
    _part(wanted <= now * 2, f"{failed} not be greater than double the current value {now}")


def _keeps_locally(props: Props, name: str, whole: str, kept: int) -> None:
    """DynamicLogConfig."""
    local = whole_in(props, name)
    if kept < 0 or local == _AS_WHOLE:
        return
    wrong = f"Invalid value {local} for configuration {name}: Value must not be"
    _part(local != -1, f"{wrong} -1 as {whole} value is set as {kept}.")
    _part(local <= kept, f"{wrong} more than {whole} property value: {kept}")


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


def _of_listener(props: Props, prefix: str, name: str) -> int:
    own = props.get(prefix + name)
    return whole_in(props if own is None else {name: own}, name)


def divided(one: int, other: int) -> int:
    return int(one / other) if abs(one) < 2**52 else (abs(one) // abs(other)) * (1 if (one < 0) == (other < 0) else -1)
