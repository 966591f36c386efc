"""Random changes of the cluster-wide broker configs: names and values of every kind, alone and in combinations."""

import random

from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS, ConfigDefinition, is_throttle

_NUMBERS = ("-9", "-2", "-1", "0", "1", "2", "3", "4", "5", "7", "8", "9", "16", "17", "21", "1000", "604800001", "1e3")
_WORDS = ("", "true", "no.such.Class", "delete", "compact,delete", "LogAppendTime", "zstd", " 5 ", "NaN", "0.5")
_OTHERS = (
    "my.plugin.size",
    "zookeeper.connect",
    "broker.id",
    "log.retention.hours",
    "listeners",
    "ssl.keystore.location",
    "listener.name.plaintext.max.connections",
    "listener.name.plaintext.max.connection.creation.rate",
    "listener.name.plaintext.num.network.threads",
    "listener.name.plaintext.ssl.keystore.location",
    "listener.name.other.max.connections",
    "listener.name.other.num.network.threads",
)
_DYNAMIC = sorted(name for name, one in BROKER_CONFIGS.items() if (one.dynamic or is_throttle(name)))
_TOGETHER = (
    ("log.local.retention.ms", "log.retention.ms"),
    ("log.local.retention.bytes", "log.retention.bytes"),
    ("log.cleaner.threads", "log.cleaner.dedupe.buffer.size"),
    ("max.connections.per.ip", "max.connections.per.ip.overrides"),
    ("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
)
_OF_NAME = {
    "max.connections.per.ip.overrides": ("", "127.0.0.1:100", "10.0.0.9", "a b:1", "host:x", "10.0.0.1:5,10.0.0.2:-1"),
    "metric.reporters": ("", "no.such.Class", "org.apache.kafka.common.metrics.JmxReporter", "java.lang.String"),
    "log.cleaner.dedupe.buffer.size": ("0", "1048576", "1048577", "2097154", "134217728", "-5"),
}

Change = dict[str, str | None]
"""New values; None deletes a config."""


def random_change(rng: random.Random) -> Change:
    count = rng.choice((1, 1, 1, 2, 4))
    names = {rng.choice(_DYNAMIC if rng.random() < 0.9 else _OTHERS) for _ in range(count)}
    if rng.random() < 0.4:
        names |= {*rng.choice(_TOGETHER)}
    return {name: None if rng.random() < 0.05 else _value(rng, name) for name in sorted(names)}


def _value(rng: random.Random, name: str) -> str:
    definition = BROKER_CONFIGS.get(name)
    given = _OF_NAME.get(name)
    if given is not None and rng.random() < 0.9:
        return rng.choice(given)
    if definition is None or rng.random() < 0.1:
        return rng.choice((*_NUMBERS, *_WORDS))
    return _fitting(rng, definition)


def _fitting(rng: random.Random, definition: ConfigDefinition) -> str:
    """Mostly a value of its type, near its bounds."""
    if definition.type == "BOOLEAN":
        return rng.choice(("true", "FALSE", "yes"))
    if definition.type in {"INT", "LONG", "SHORT", "DOUBLE"}:
        near = [
            str(bound + off) for bound in (definition.min, definition.max) if bound is not None for off in (-1, 0, 1)
        ]
        own = [] if definition.default is None else [definition.default]
        return rng.choice((*_NUMBERS, *near, *own, *own))
    return rng.choice((*_WORDS, *(definition.one_of or ())))
