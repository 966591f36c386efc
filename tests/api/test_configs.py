"""DescribeConfigs, IncrementalAlterConfigs and AlterConfigs. Kafka 3.9.1 has printed the expected texts."""

from typing import Any

import pytest

from kafka_reassign_rpc.api.config_changes import AlterConfigOp, OpType
from kafka_reassign_rpc.protocol.messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from tests.api.ask import ask
from tests.api.config_names import OURS, RATE
from tests.api.model_node import ModelNode, topic
from tests.tables import for_each

TOPIC, BROKER, LOGGER = 2, 4, 8


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


@for_each("version", range(5))
@for_each("count", [1, 30], ids=["at once", "in slices"])
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
        await ask(node, change((BROKER, "1000", [AlterConfigOp("failure.interval.ms", OpType.SET, value)])), 1)
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

    async def failing_alter(entity_type: str, name: str, wanted: Any, by: Any) -> None:
        await failing_get(entity_type, name)
        await alter(entity_type, name, wanted, by)

    node.configs.get = failing_get  # type: ignore[method-assign]
    node.configs.alter = failing_alter  # type: ignore[method-assign, assignment]
    described = await ask(node, describe(4, (TOPIC, "bad", None), (TOPIC, "t", None)), 4)
    assert [r.error_code for r in described.results] == [-1, 0]
    ops = [AlterConfigOp("retention.ms", OpType.SET, "1")]
    changed = await ask(node, change((TOPIC, "bad", ops), (TOPIC, "t", ops)), 1)
    assert [r.error_code for r in changed.responses] == [-1, 0]
    assert "garbage in /config/topics/bad" in caplog.text
