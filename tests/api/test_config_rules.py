"""Config definitions, their values and their sources. Kafka 3.9.1's own classes have printed the expected texts."""

from typing import Any

import pytest

from kafka_reassign_rpc.api.config_changes import AlterConfigOp, OpType, incremental
from kafka_reassign_rpc.api.config_entries import broker_entries, topic_entries
from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigValueError,
    show,
    validate_broker_configs,
)
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, LiveBrokers
from kafka_reassign_rpc.core.configs.config_rules import validate_topic_configs
from kafka_reassign_rpc.core.kafka_errors import InvalidConfig
from tests.api.config_names import OURS, RATE, THROTTLED, THROTTLED_TEXT
from tests.tables import for_each


def test_sv_2_the_tables_have_all_of_kafka_3_9s_configs() -> None:
    assert len(TOPIC_CONFIGS) == 36
    assert len(BROKER_CONFIGS) == 331
    assert not BROKER_CONFIGS.keys() & set(OURS), "brokers do not know them"
    for definition in (*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()):
        if definition.default is not None and definition.type != "PASSWORD":
            assert show(definition, definition.default) is not None
    for definition in TOPIC_CONFIGS.values():
        assert definition.synonym is None or definition.synonym in BROKER_CONFIGS
        validate_topic_configs({definition.name: definition.default or ""}, LiveBrokers())


@for_each(
    ("configs", "text"),
    [
        ({"nope": "1"}, "Unknown topic config name: nope"),
        ({"min.insync.replicas": "0", "nope": "1"}, "Unknown topic config name: nope"),
        ({"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        ({"retention.ms": "-2"}, "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ({"flush.ms": ""}, "Invalid value  for configuration flush.ms: Not a number of type LONG"),
        (
            {"cleanup.policy": "compact,foo"},
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            {"compression.type": "x"},
            "Invalid value x for configuration compression.type: String must be one of: "
            "uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        (
            {"preallocate": "maybe"},
            "Invalid value maybe for configuration preallocate: Expected value to be either true or false",
        ),
        (
            {"min.cleanable.dirty.ratio": "2"},
            "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
        (
            {"min.cleanable.dirty.ratio": "x"},
            "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE",
        ),
        (
            {"max.message.bytes": "3000000000"},
            "Invalid value 3000000000 for configuration max.message.bytes: Not a number of type INT",
        ),
        (
            {"max.message.bytes": "1_0"},
            "Invalid value 1_0 for configuration max.message.bytes: Not a number of type INT",
        ),
        ({THROTTLED: "1:2,x"}, f"Invalid value [1:2, x] for configuration {THROTTLED}: {THROTTLED_TEXT}"),
        ({THROTTLED: "*,1:1"}, f"Invalid value [*, 1:1] for configuration {THROTTLED}: {THROTTLED_TEXT}"),
        (
            {"message.format.version": "9"},
            "Invalid value 9 for configuration message.format.version: Version 9 is not a valid version",
        ),
        (
            {"compression.gzip.level": "0"},
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
    ],
)
def test_sv_2_a_bad_topic_config_is_refused_with_kafkas_text(configs: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigValueError) as caught:
        validate_topic_configs(configs, LiveBrokers())
    assert str(caught.value) == text


@for_each(
    "configs",
    [
        {"retention.ms": "-1"},
        {"retention.ms": " 5 "},
        {"cleanup.policy": ""},
        {"cleanup.policy": "compact,delete"},
        {"preallocate": " TRUE "},
        {THROTTLED: "*"},
        {THROTTLED: ""},
        {THROTTLED: "1:2, 3:4"},
        {"compression.gzip.level": "-1"},
        {"message.format.version": "3.0"},
    ],
)
def test_sv_2_a_value_that_kafka_accepts_is_accepted(configs: dict[str, str]) -> None:
    validate_topic_configs(configs, LiveBrokers())


@pytest.mark.parametrize(
    ("configs", "per_broker", "text"),
    [
        ({"broker.id": "3"}, True, "Cannot update these configs dynamically: Set(broker.id)"),
        ({"log.dirs": "x"}, False, "Cannot update these configs dynamically: Set(log.dirs)"),
        (
            {"ssl.keystore.location": "x"},
            True,
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            "Set(ssl.keystore.location)",
        ),
        (
            {"listeners": "x"},
            False,
            "Cannot update these configs at default cluster level, broker id must be specified: Set(listeners)",
        ),
        (
            {"listener.name.x.ssl.keystore.location": "x"},
            False,
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "Set(listener.name.x.ssl.keystore.location)",
        ),
        ({RATE: "-1"}, True, f"Invalid value -1 for configuration {RATE}: Value must be at least 0"),
    ],
)
def test_sv_2_a_bad_broker_config_is_refused(configs: dict[str, str], text: str, *, per_broker: bool) -> None:
    with pytest.raises(ConfigValueError) as caught:
        validate_broker_configs(configs, per_broker=per_broker)
    assert str(caught.value) == text


def test_sv_2_throttles_and_configs_of_plug_ins_may_be_set() -> None:
    configs = {RATE: "1000", "my.plugin.size": "x", "log.retention.ms": "5"}
    validate_broker_configs(configs, per_broker=False)
    validate_broker_configs({**configs, "listener.name.x.ssl.keystore.location": "x"}, per_broker=True)


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ([AlterConfigOp("a", OpType.SET, "1")], {"a": "1", "cleanup.policy": "compact"}),
        (
            [
                AlterConfigOp("cleanup.policy", OpType.DELETE, None),
                AlterConfigOp("x", OpType.DELETE, None),
            ],
            {},
        ),
        (
            [AlterConfigOp("cleanup.policy", OpType.APPEND, "delete,compact")],
            {"cleanup.policy": "compact,delete"},
        ),
        ([AlterConfigOp("cleanup.policy", OpType.SUBTRACT, "compact,delete")], {"cleanup.policy": ""}),
        (
            [AlterConfigOp(THROTTLED, OpType.APPEND, "0:1")],
            {"cleanup.policy": "compact", THROTTLED: "0:1"},
        ),
    ],
)
def test_sv_2_incremental_changes(ops: list[AlterConfigOp], expected: dict[str, str]) -> None:
    assert incremental(ops, TOPIC_CONFIGS)({"cleanup.policy": "compact"}) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.ms", "Config value append is not allowed for config key: retention.ms"),
        ("nope", "Unknown config name: nope"),
    ],
)
def test_sv_2_only_lists_are_appended_to(name: str, text: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        incremental([AlterConfigOp(name, OpType.APPEND, "1")], TOPIC_CONFIGS)({})
    assert caught.value.message == text


# ---------------------------------------------------------------------------------------------- where values come from


def entry(entries: Any, name: str) -> Any:
    return next(e for e in entries if e.name == name)


def test_sv_2_a_topics_value_comes_from_the_strongest_place() -> None:
    layers = ({"log.retention.ms": "3"}, {"log.retention.ms": "4"}, {"log.retention.hours": "5"})
    found = entry(topic_entries({"retention.ms": " 2 "}, ConfigLayers(*layers)), "retention.ms")
    assert (found.value, found.source) == ("2", 1)
    assert [(s.name, s.value, s.source) for s in found.synonyms] == [
        ("retention.ms", "2", 1),
        ("log.retention.ms", "3", 2),
        ("log.retention.ms", "4", 3),
        ("log.retention.hours", "5", 4),
        ("log.retention.hours", "168", 5),
    ]
    inherited = entry(topic_entries({}, ConfigLayers({}, *layers[1:])), "retention.ms")
    assert (inherited.value, inherited.source) == ("4", 3)
    static = entry(topic_entries({}, ConfigLayers({}, {}, layers[2])), "retention.ms")
    assert (static.value, static.source, static.synonyms) == (str(5 * 3_600_000), 5, ())
    default = entry(topic_entries({}, ConfigLayers()), "min.insync.replicas")
    assert (default.value, default.source) == ("1", 5)
    assert [(s.name, s.value, s.source) for s in default.synonyms] == [("min.insync.replicas", "1", 5)]


def test_sv_2_a_config_of_unknown_type_is_not_shown() -> None:
    found = entry(topic_entries({"mystery": "secret"}, ConfigLayers()), "mystery")
    assert (found.value, found.sensitive) == (None, True)


def test_sv_2_a_brokers_passwords_are_not_shown_and_its_throttles_are() -> None:
    entries = broker_entries(ConfigLayers({RATE: "7", "ssl.key.password": "x"}, {}, {"broker.id": "5"}))
    assert (entry(entries, "ssl.key.password").value, entry(entries, "ssl.key.password").sensitive) == (None, True)
    rate = entry(entries, RATE)
    assert (rate.value, rate.sensitive, rate.source, rate.read_only) == ("7", False, 2, True)
    own_id = entry(entries, "broker.id")
    assert (own_id.value, own_id.source, own_id.read_only) == ("5", 4, True)
    assert not entry(entries, "log.retention.ms").read_only
    assert "group.share.enable" not in {e.name for e in entries}, "internal"
