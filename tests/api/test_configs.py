"""Config definitions, values, and the three config APIs. Kafka 3.9.1's own classes have printed the expected texts."""

from typing import Any

import pytest

from kafka_reassign_rpc.api.config_changes import AlterConfigOp, OpType, incremental
from kafka_reassign_rpc.api.config_definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigValueError,
    show,
    validate_broker_configs,
    validate_topic_configs,
)
from kafka_reassign_rpc.api.config_entries import broker_entries, topic_entries
from kafka_reassign_rpc.core.kafka_errors import InvalidConfig
from kafka_reassign_rpc.protocol.messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic

THROTTLED = "leader.replication.throttled.replicas"
RATE = "leader.replication.throttled.rate"
THROTTLED_TEXT = (
    f"{THROTTLED} must be the literal '*' or a list of replicas in the following format: "
    "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
)
TOPIC, BROKER, LOGGER = 2, 4, 8


OURS = (
    "failure.alert.interval.ms",
    "failure.interval.ms",
    "partition.reassignments.enabled",
    "partition.reassignments.max.bytes.in.flight",
    "partition.reassignments.max.per.broker",
    "partition.reassignments.max.per.cluster",
    "partition.reassignments.replication.factor.change.allowed",
    "self.healing.cancel.on.return",
    "self.healing.max.failed.brokers",
    "self.healing.max.failed.percentage",
    "self.healing.max.moves",
    "self.healing.paused",
    "self.healing.throttle",
)


def test_sv_2_the_tables_have_all_of_kafka_3_9s_configs() -> None:
    assert len(TOPIC_CONFIGS) == 36
    assert len(BROKER_CONFIGS) == 331 + len(OURS)
    assert not any(BROKER_CONFIGS[name].listed for name in OURS), "shown only where they are set"
    for definition in (*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()):
        if definition.default is not None and definition.type != "PASSWORD":
            assert show(definition, definition.default) is not None
    for definition in TOPIC_CONFIGS.values():
        assert definition.synonym is None or definition.synonym in BROKER_CONFIGS
        validate_topic_configs({definition.name: definition.default or ""})


@pytest.mark.parametrize(
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
        validate_topic_configs(configs)
    assert str(caught.value) == text


@pytest.mark.parametrize(
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
    validate_topic_configs(configs)


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
        (
            {"self.healing.throttle": "0%"},
            False,
            "Invalid value 0% for configuration self.healing.throttle: Expected a whole number of bytes per second (-1:"
            " no limit) or a share of a broker's link from 1% to 100%",
        ),
    ],
)
def test_sv_2_a_bad_broker_config_is_refused(configs: dict[str, str], text: str, *, per_broker: bool) -> None:
    with pytest.raises(ConfigValueError) as caught:
        validate_broker_configs(configs, per_broker=per_broker)
    assert str(caught.value) == text


def test_sv_2_throttles_and_configs_of_plug_ins_may_be_set() -> None:
    configs = {RATE: "1000", "my.plugin.size": "x", "log.retention.ms": "5", "self.healing.throttle": "50%"}
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
    found = entry(topic_entries({"retention.ms": " 2 "}, *layers), "retention.ms")
    assert (found.value, found.source) == ("2", 1)
    assert [(s.name, s.value, s.source) for s in found.synonyms] == [
        ("retention.ms", "2", 1),
        ("log.retention.ms", "3", 2),
        ("log.retention.ms", "4", 3),
        ("log.retention.hours", "5", 4),
        ("log.retention.hours", "168", 5),
    ]
    inherited = entry(topic_entries({}, {}, *layers[1:]), "retention.ms")
    assert (inherited.value, inherited.source) == ("4", 3)
    static = entry(topic_entries({}, {}, {}, layers[2]), "retention.ms")
    assert (static.value, static.source, static.synonyms) == (str(5 * 3_600_000), 5, ())
    default = entry(topic_entries({}, {}, {}, {}), "min.insync.replicas")
    assert (default.value, default.source) == ("1", 5)
    assert [(s.name, s.value, s.source) for s in default.synonyms] == [("min.insync.replicas", "1", 5)]


def test_sv_2_a_config_of_unknown_type_is_not_shown() -> None:
    found = entry(topic_entries({"mystery": "secret"}, {}, {}, {}), "mystery")
    assert (found.value, found.sensitive) == (None, True)


def test_sv_2_a_brokers_passwords_are_not_shown_and_its_throttles_are() -> None:
    entries = broker_entries({RATE: "7", "ssl.key.password": "x"}, {}, {"broker.id": "5"})
    assert (entry(entries, "ssl.key.password").value, entry(entries, "ssl.key.password").sensitive) == (None, True)
    rate = entry(entries, RATE)
    assert (rate.value, rate.sensitive, rate.source, rate.read_only) == ("7", False, 2, True)
    own_id = entry(entries, "broker.id")
    assert (own_id.value, own_id.source, own_id.read_only) == ("5", 4, True)
    assert not entry(entries, "log.retention.ms").read_only
    assert "group.share.enable" not in {e.name for e in entries}, "internal"


# ------------------------------------------------------------------------------------------------ DescribeConfigs


def describe(version: int, *resources: tuple[int, str, Any], synonyms: bool = True) -> DescribeConfigsRequest:
    kind = DescribeConfigsRequest
    return kind(
        version=version,
        resources=[
            kind.DescribeConfigsResource(version=version, resource_type=t, resource_name=n, configuration_keys=k)
            for t, n, k in resources
        ],
        include_synonyms=synonyms,
    )


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("count", [1, 30], ids=["at once", "in slices"])
async def test_sv_2_describe_configs_in_every_version(version: int, count: int) -> None:
    node = ModelNode(topic("t"))
    node.configs.entities["topics", "t"] = {"retention.ms": "5"}
    answer = await ask(node, describe(version, *[(TOPIC, "t", None)] * count), version)
    assert len(answer.results) == count
    [retention] = [c for c in answer.results[-1].configs if c.name == "retention.ms"]
    assert (retention.value, retention.read_only, retention.is_sensitive) == ("5", False, False)
    if version >= 1:
        assert retention.config_source == 1
        assert [(s.name, s.value, s.source) for s in retention.synonyms] == [("retention.ms", "5", 1)]
    if version >= 3:
        assert retention.config_type == 5
    assert len(answer.results[0].configs) == 36


async def test_sv_2_describe_configs_of_brokers_and_of_the_cluster() -> None:
    node = ModelNode()
    node.configs.entities["brokers", "<default>"] = {"log.retention.ms": "9"}
    node.configs.entities["brokers", "1000"] = {RATE: "3"}
    answer = await ask(
        node, describe(4, (BROKER, "1000", [RATE, "log.retention.ms"]), (BROKER, "", []), (LOGGER, "1000", None)), 4
    )
    own, cluster, loggers = answer.results
    assert {c.name: (c.value, c.config_source) for c in own.configs} == {RATE: ("3", 2), "log.retention.ms": ("9", 3)}
    assert [(c.name, c.value, [(s.name, s.source) for s in c.synonyms]) for c in cluster.configs] == [
        ("log.retention.ms", "9", [("log.retention.ms", 3)])
    ]
    assert (loggers.error_code, list(loggers.configs)) == (0, [])


@pytest.mark.parametrize(
    ("resource", "code", "text"),
    [
        ((TOPIC, "nope", None), 3, None),
        ((TOPIC, "a/b", None), 17, None),
        ((BROKER, "2", None), 42, "Unexpected broker id, expected 1000 or empty string, but received 2"),
        ((BROKER, "x", None), 42, "Broker id must be an integer, but it is: x"),
        ((LOGGER, "", None), 42, "Broker id must not be empty"),
        ((LOGGER, "2", None), 42, "Unexpected broker id, expected 1000, but received 2"),
        ((77, "x", None), 42, None),
    ],
)
async def test_sv_2_describe_configs_of_what_is_not_here(resource: Any, code: int, text: str | None) -> None:
    [result] = (await ask(ModelNode(topic("t")), describe(4, resource), 4)).results
    assert result.error_code == code
    if text is not None:
        assert result.error_message == text


# ------------------------------------------------------------------------------------------------ changes


def change(*resources: tuple[int, str, list[AlterConfigOp]], version: int = 1, only: bool = False) -> Any:
    kind = IncrementalAlterConfigsRequest
    one = kind.AlterConfigsResource
    return kind(
        version=version,
        validate_only=only,
        resources=[
            one(
                version=version,
                resource_type=t,
                resource_name=n,
                configs=[
                    one.AlterableConfig(version=version, name=o.name, config_operation=o.type, value=o.value)
                    for o in ops
                ],
            )
            for t, n, ops in resources
        ],
    )


def replace(*resources: tuple[int, str, dict[str, str | None]], version: int = 2, only: bool = False) -> Any:
    kind = AlterConfigsRequest
    one = kind.AlterConfigsResource
    return kind(
        version=version,
        validate_only=only,
        resources=[
            one(
                version=version,
                resource_type=t,
                resource_name=n,
                configs=[one.AlterableConfig(version=version, name=k, value=v) for k, v in configs.items()],
            )
            for t, n, configs in resources
        ],
    )


@pytest.mark.parametrize("version", [0, 1])
async def test_m10_every_resource_is_answered(version: int) -> None:
    node = ModelNode(topic("t"))
    rate = [AlterConfigOp(RATE, OpType.SET, "5")]
    answer = await ask(
        node,
        change(
            (TOPIC, "t", [AlterConfigOp("retention.ms", OpType.SET, "5")]),
            (TOPIC, "nope", [AlterConfigOp("retention.ms", OpType.SET, "5")]),
            (TOPIC, "t2", []),
            (BROKER, "1000", rate),
            (BROKER, "", rate),
            (BROKER, "7", rate),
            (BROKER, "x", rate),
            (LOGGER, "1000", []),
            (BROKER, "9", rate),
            (BROKER, "9", rate),
            version=version,
        ),
        version,
    )
    assert [(r.resource_type, r.resource_name, r.error_code, r.error_message) for r in answer.responses] == [
        (TOPIC, "t", 0, None),
        (TOPIC, "nope", 3, "The topic 'nope' does not exist."),
        (TOPIC, "t2", 3, "The topic 't2' does not exist."),
        (BROKER, "1000", 0, None),
        (BROKER, "", 0, None),
        (BROKER, "7", 42, "Unexpected broker id, expected 1000, but received 7"),
        (BROKER, "x", 42, "Node id must be an integer, but it is: x"),
        (LOGGER, "1000", 42, "Unknown resource type 8"),
        (BROKER, "9", 42, "Each resource must appear at most once."),
        (BROKER, "9", 42, "Each resource must appear at most once."),
    ]
    assert node.configs.entities == {
        ("topics", "t"): {"retention.ms": "5"},
        ("brokers", "1000"): {RATE: "5"},
        ("brokers", "<default>"): {RATE: "5"},
    }


async def test_l05_clearing_a_throttle_that_is_not_set_writes_nothing() -> None:
    node = ModelNode()
    answer = await ask(node, change((BROKER, "1000", [AlterConfigOp(RATE, OpType.DELETE, "")])), 1)
    assert (answer.responses[0].error_code, node.configs.writes) == (0, 0)


@pytest.mark.parametrize(
    ("ops", "code", "text"),
    [
        ([AlterConfigOp("nope", OpType.SET, "1")], 40, "Unknown topic config name: nope"),
        (
            [AlterConfigOp("retention.ms", OpType.SET, "x")],
            40,
            "Invalid config value for resource ConfigResource(type=TOPIC, name='t'): "
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            [AlterConfigOp("retention.ms", OpType.SET, None)],
            42,
            "Null value not supported for : retention.ms",
        ),
        (
            [
                AlterConfigOp("a", OpType.DELETE, None),
                AlterConfigOp("a", OpType.SET, "1"),
            ],
            42,
            "Error due to duplicate config keys",
        ),
        (
            [AlterConfigOp("retention.ms", OpType.SUBTRACT, "1")],
            40,
            "Config value subtract is not allowed for config key: retention.ms",
        ),
        ([AlterConfigOp("retention.ms", 9, "1")], 42, "Unknown operations type 9"),
    ],
)
async def test_sv_2_a_change_that_is_not_allowed_changes_nothing(
    ops: list[AlterConfigOp], code: int, text: str
) -> None:
    node = ModelNode(topic("t"))
    [result] = (await ask(node, change((TOPIC, "t", ops)), 1)).responses
    assert (result.error_code, result.error_message) == (code, text)
    assert node.configs.entities == {}


@pytest.mark.parametrize("value", ["soon", "-2", "1.5", str(2**62)])
async def test_46_2_an_interval_of_nonsense_is_refused(value: str) -> None:
    node = ModelNode()
    [result] = (
        await ask(node, change((BROKER, "", [AlterConfigOp("failure.interval.ms", OpType.SET, value)])), 1)
    ).responses
    assert result.error_code == 42
    assert f"Invalid value {value} for configuration failure.interval.ms: " in result.error_message
    assert node.configs.entities == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "partition.reassignments.max.per.clutser",
            "Unknown config partition.reassignments.max.per.clutser: did you mean"
            " partition.reassignments.max.per.cluster?",
        ),
        ("failure.intervall.ms", "Unknown config failure.intervall.ms: did you mean failure.interval.ms?"),
        ("self.healing.x" + "y" * 30_000, f"known are {', '.join(OURS)}"),
    ],
)
async def test_sv_2_a_mistyped_config_of_this_server_is_refused_and_one_of_a_plug_in_is_not(
    name: str, text: str
) -> None:
    node = ModelNode()
    [result] = (await ask(node, change((BROKER, "", [AlterConfigOp(name, OpType.SET, "5")])), 1)).responses
    assert result.error_code == 42
    assert text in result.error_message
    assert len(result.error_message) < 1000
    assert node.configs.entities == {}
    [result] = (await ask(node, replace((BROKER, "", {name: "5"})), 2)).responses
    assert result.error_code == 42
    node.configs.entities["brokers", "<default>"] = {name: "5"}
    other = change((BROKER, "", [AlterConfigOp("my.plugin.size", OpType.SET, "5")]))
    assert (await ask(node, other, 1)).responses[0].error_code == 0, "one that was stored by other means stops nothing"
    gone = change((BROKER, "", [AlterConfigOp(name, OpType.DELETE, None)]))
    assert (await ask(node, gone, 1)).responses[0].error_code == 0
    assert node.configs.entities == {("brokers", "<default>"): {"my.plugin.size": "5"}}


async def test_sv_2_validate_only_judges_and_changes_nothing() -> None:
    node = ModelNode(topic("t"), knows=False)
    good = change((TOPIC, "t", [AlterConfigOp("retention.ms", OpType.SET, "1")]), only=True)
    bad = change((TOPIC, "t", [AlterConfigOp("retention.ms", OpType.SET, "x")]), only=True)
    assert (await ask(node, good, 1)).responses[0].error_code == 0
    assert (await ask(node, bad, 1)).responses[0].error_code == 40
    assert (await ask(node, replace((TOPIC, "t", {"x": "1"}), only=True), 2)).responses[0].error_code == 40
    assert node.configs.entities == {}


@pytest.mark.parametrize("version", range(3))
async def test_sv_2_legacy_alter_configs_replaces_everything(version: int) -> None:
    node = ModelNode(topic("t"))
    node.configs.entities["topics", "t"] = {"retention.ms": "1", "flush.ms": "2"}
    answer = await ask(
        node,
        replace(
            (TOPIC, "t", {"flush.ms": "3"}),
            (BROKER, "", {"log.retention.ms": "4"}),
            (BROKER, "1", {}),
            (LOGGER, "1000", {}),
            (TOPIC, "", {}),
            (TOPIC, "u", {"a": None}),
            version=version,
        ),
        version,
    )
    assert [r.error_code for r in answer.responses] == [0, 0, 42, 42, 42, 42]
    assert node.configs.entities == {
        ("topics", "t"): {"flush.ms": "3"},
        ("brokers", "<default>"): {"log.retention.ms": "4"},
    }


async def test_sv_2_a_resource_that_cannot_be_read_or_written_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    node = ModelNode(topic("t"), topic("bad"))
    get, alter = node.configs.get, node.configs.alter

    async def failing_get(entity_type: str, name: str) -> Any:
        if name == "bad":
            raise OSError("garbage in /config/topics/bad")
        return await get(entity_type, name)

    async def failing_alter(entity_type: str, name: str, wanted: Any) -> None:
        await failing_get(entity_type, name)
        await alter(entity_type, name, wanted)

    node.configs.get = failing_get  # type: ignore[method-assign]
    node.configs.alter = failing_alter  # type: ignore[method-assign, assignment]
    described = await ask(node, describe(4, (TOPIC, "bad", None), (TOPIC, "t", None)), 4)
    assert [r.error_code for r in described.results] == [-1, 0]
    ops = [AlterConfigOp("retention.ms", OpType.SET, "1")]
    changed = await ask(node, change((TOPIC, "bad", ops), (TOPIC, "t", ops)), 1)
    assert [r.error_code for r in changed.responses] == [-1, 0]
    assert "garbage in /config/topics/bad" in caplog.text
