"""Every way to give a topic configs holds them against Kafka's rules, with Kafka's error."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_reassign_rpc.api.config_changes import AlterConfigOp, OpType
from kafka_reassign_rpc.core.configs.config_layers import LiveBrokers
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic
from tests.api.test_configs import TOPIC, change, replace
from tests.api.test_topics import create
from tests.tables import for_each

INVALID_CONFIG = 40
LEADERS = "leader.replication.throttled.replicas"


def request(way: str, configs: Mapping[str, str], *, only: bool) -> tuple[Any, int]:
    if way == "create":
        return create(
            7, {"name": "new", "num_partitions": 1, "replication_factor": 1, "configs": configs}, only=only
        ), 7
    if way == "replace":
        return replace((TOPIC, "t", dict(configs)), only=only), 2
    ops = [AlterConfigOp(name, OpType.SET, value) for name, value in configs.items()]
    return change((TOPIC, "t", ops), only=only), 1


async def outcome(node: ModelNode, way: str, configs: Mapping[str, str], *, only: bool) -> tuple[int, str | None]:
    answer = await ask(node, *request(way, configs, only=only))
    (one,) = answer.topics if way == "create" else answer.responses
    return one.error_code, one.error_message


@for_each("only", [False, True])
@for_each("way", ["create", "set", "replace"])
@for_each(
    ("configs", "text"),
    [
        ({"remote.storage.enable": "true"}, "Tiered Storage functionality is disabled in the broker."),
        ({"remote.log.copy.disable": "true"}, "under Zookeeper's mode."),
        ({"remote.log.delete.on.disable": "true"}, "under Zookeeper's mode."),
        ({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"}, "conflict topic config setting"),
        ({"segment.bytes": "13"}, "Value must be at least 14"),
        ({"nope": "1"}, "Unknown topic config name: nope"),
        ({LEADERS: "0"}, "must be the literal '*'"),
    ],
)
async def test_hm_1_configs_that_brokers_cannot_live_with_are_refused_by_every_way(
    way: str, configs: dict[str, str], text: str, *, only: bool
) -> None:
    node = ModelNode(topic("t"))
    node.brokers = LiveBrokers(tiered_storage=False)
    code, message = await outcome(node, way, configs, only=only)
    assert code == INVALID_CONFIG
    assert text in str(message)
    assert node.configs.writes == 0


@pytest.mark.parametrize("way", ["create", "set", "replace"])
async def test_hm_1_remote_storage_is_refused_while_tiered_storage_is_unknown(way: str) -> None:
    node = ModelNode(topic("t"))
    code, message = await outcome(node, way, {"remote.storage.enable": "true"}, only=False)
    assert code == INVALID_CONFIG
    assert "not every broker has reported its remote.log.storage.system.enable" in str(message)
    node.brokers = LiveBrokers(tiered_storage=True)
    assert await outcome(node, way, {"remote.storage.enable": "true"}, only=False) == (0, None)


async def test_hm_1_an_odd_value_of_one_config_does_not_block_the_others() -> None:
    node = ModelNode(topic("t"))
    odd = {LEADERS: "0:1,1:2,", "segment.bytes": "1", "remote.storage.enable": "true", "of.another.version": "x"}
    node.configs.entities["topics", "t"] = odd
    assert await outcome(node, "set", {"retention.ms": "5"}, only=False) == (0, None)
    assert node.configs.entities["topics", "t"] == {**odd, "retention.ms": "5"}
    assert await outcome(node, "replace", {**odd, "retention.ms": "6"}, only=False) == (0, None)
    assert node.configs.entities["topics", "t"] == {**odd, "retention.ms": "6"}
    assert (await outcome(node, "set", {"segment.bytes": "2"}, only=False))[0] == INVALID_CONFIG


async def test_hm_1_what_a_broker_could_not_read_is_stored_in_a_form_that_it_can() -> None:
    node = ModelNode(topic("t"))
    assert await outcome(node, "set", {LEADERS: "0:1, 1:2,", "message.format.version": " 3.0"}, only=False) == (0, None)
    assert node.configs.entities["topics", "t"] == {LEADERS: "0:1,1:2", "message.format.version": "3.0"}
    await outcome(node, "create", {LEADERS: "0:1 ,,1:2"}, only=False)
    (created,) = [call for call in node.controller.calls if "new" in str(call)][-1:]
    assert "0:1,1:2" in str(created)
