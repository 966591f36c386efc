"""Which cluster-wide configs a Kafka 3.9 broker can apply, as far as its configuration decides: the requirements of
KafkaConfig, then `validateReconfiguration` of each part whose configs change. Whether a broker accepts new values, only
the broker itself can say: it is asked.
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
