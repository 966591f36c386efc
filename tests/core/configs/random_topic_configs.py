# ruff: noqa: RUF001
"""Random configs of topics, and random brokers: names and values alone and in combinations, many of them at the edge of
what Kafka accepts."""

import random

from kafka_reassign_rpc.core.configs.config_definitions import TOPIC_CONFIGS, ConfigDefinition
from kafka_reassign_rpc.core.configs.config_layers import TIERED_STORAGE

_NUMBERS: tuple[int, ...] = (
    -3,
    -2,
    -1,
    0,
    1,
    3,
    4,
    13,
    14,
    9,
    10,
    17,
    18,
    22,
    23,
    1000,
    60_000,
    604_800_000,
    604_800_001,
    2**31 - 1,
    2**31,
)
_NUMBERS += (2**63 - 1, 2**63, -(2**31), -(2**63), -(2**63) - 1, -131_072, -131_073)
_ENTRIES: tuple[str, ...] = (
    "0:1",
    "1:2",
    "12:3",
    "*",
    "",
    "0:",
    ":1",
    "a:1",
    "0:1:2",
    "-1:2",
    "+1:2",
    "0 :1",
    "2147483647:1",
    "٣:1",
)
_ENTRIES += ("2147483648:1", "1:99999999999")
_SPACE = (" ", "\t", "\x0b", "\x01", "\u00a0", "\u2003", "\n")
_BOOLEANS = ("true", "false", "TRUE", "False", "yes", "1", "", "falſe", "truе")
_DOUBLES: tuple[str, ...] = (
    "0",
    "1",
    "0.5",
    "1.0000001",
    "-0.0",
    "-1e-9",
    ".5",
    "5.",
    "1e-400",
    "0x1p-1",
    "0x1p1",
    "0x.8p0",
    "0.5d",
    "1F",
)
_DOUBLES += ("NaN", "Infinity", "nan", "1e", "1_0", "0.00001", "1e-3", "٠.٥", "NaNf", "0x1")
_VERSIONS: tuple[str, ...] = (
    "3.0",
    "3.0.1",
    "3.0-IV1",
    "3.0-IV1.x",
    "3.9",
    "3.10",
    "4.0",
    "4.0-IV0",
    "4.0-IV1",
    "0.8.2",
    "0.8.2.1",
    "0.10",
)
_VERSIONS += ("0.10.0", "0.10.0-IV0", "2.8-IV1", "3", "3.0.", "", ".", "3.9-IV0", "3.9-IV9")
_WORDS = (
    "compact",
    "delete",
    "Compact",
    "producer",
    "zstd",
    "gzip",
    "none",
    "CreateTime",
    "LogAppendTime",
    "createtime",
    "",
)
_RETENTION = ("retention.ms", "local.retention.ms", "retention.bytes", "local.retention.bytes")
_REMOTE = ("remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable")
_CROSS = (*_RETENTION, *_REMOTE, "cleanup.policy", "min.compaction.lag.ms", "max.compaction.lag.ms")
_STATIC = {
    "log.retention.ms": ("-1", "-7", "1", "1000", "604800000"),
    "log.retention.minutes": ("1", "-2"),
    "log.retention.hours": ("1", "-2"),
    "log.retention.bytes": ("-1", "1000", "-5"),
    "log.local.retention.ms": ("-2", "1", "1000"),
    "log.local.retention.bytes": ("-2", "1"),
    "log.cleaner.min.compaction.lag.ms": ("0", "1000"),
    "log.cleaner.max.compaction.lag.ms": ("1000", "60000"),
    "log.cleanup.policy": ("compact", "delete", "compact,delete"),
    "log.index.size.max.bytes": ("4096",),
    "log.roll.hours": ("2",),
    "log.flush.scheduler.interval.ms": ("1234",),
    "log.message.timestamp.difference.max.ms": ("77",),
    "log.message.timestamp.before.max.ms": ("88", "9223372036854775807"),
    "log.message.format.version": ("2.8", "0.10.0"),
    "inter.broker.protocol.version": ("2.8", "3.9"),
    "min.insync.replicas": ("2",),
    "log.cleaner.min.cleanable.ratio": ("0.00001",),
}
_TIERED = {
    TIERED_STORAGE: "true",
    "remote.log.storage.manager.class.name": "x.Y",
    "remote.log.metadata.manager.listener.name": "PLAINTEXT",
}


def random_broker(draw: random.Random) -> dict[str, str]:
    """The static configs of a broker that starts."""
    names = draw.sample(sorted(_STATIC), draw.randrange(6)) if draw.random() < 0.7 else []
    found = {name: draw.choice(_STATIC[name]) for name in names}
    if draw.random() < 0.5:
        found |= _TIERED
    return found


def random_value(draw: random.Random, definition: ConfigDefinition) -> str:
    kind = definition.type
    if draw.random() < 0.03:
        kind = draw.choice(("BOOLEAN", "LONG", "DOUBLE", "LIST", "STRING"))
    if kind == "BOOLEAN":
        text = draw.choice(_BOOLEANS[:4] if draw.random() < 0.7 else _BOOLEANS)
    elif kind == "DOUBLE":
        text = draw.choice(_DOUBLES)
    elif kind == "LIST":
        known = _ENTRIES if definition.throttled_replicas else _WORDS
        text = _comma(draw).join(
            draw.choice(known[: draw.choice((2, 5, len(known)))]) for _ in range(draw.randrange(4))
        )
    elif kind == "STRING":
        text = draw.choice(_VERSIONS if definition.versions else (*_WORDS, *(definition.one_of or ())))
    else:
        text = str(draw.choice(_NUMBERS))
        if draw.random() < 0.1:
            text = draw.choice(
                (f"+{text}", f"00000000000000000000000{text}", f"{text}L", f"{text}.0", "", "٣٤", "１", "²")
            )
    if draw.random() < 0.15:
        text = f"{draw.choice(_SPACE)}{text}{draw.choice(_SPACE)}"
    return text


def _comma(draw: random.Random) -> str:
    return "," if draw.random() < 0.8 else f"{draw.choice(('', *_SPACE))},{draw.choice(('', *_SPACE))}"


def random_configs(draw: random.Random) -> dict[str, str]:
    """The configs of a topic: one, a few, or those that rules compare."""
    names = _CROSS if draw.random() < 0.5 else tuple(TOPIC_CONFIGS)
    found = {}
    for name in draw.sample(names, draw.choice((0, 1, 1, 2, 3, 5))):
        definition = TOPIC_CONFIGS[name]
        plain = name in _CROSS and draw.random() < 0.8
        found[name] = _plain(draw, name) if plain else random_value(draw, definition)
    if draw.random() < 0.03:
        found[draw.choice(("nope", "Retention.ms", "log.retention.ms", ""))] = "1"
    return found


def _plain(draw: random.Random, name: str) -> str:
    if name == "remote.storage.enable":
        return draw.choice(("true", "true", "true", "false"))
    if name in _REMOTE:
        return draw.choice(("true", "false", "false", "false"))
    if name == "cleanup.policy":
        return draw.choice(("delete", "delete", "compact", "compact,delete", ""))
    return str(draw.choice((-2, -1, 0, 1, 2, 999, 1000, 1001, 60_000, 604_800_000, 604_800_001)))
