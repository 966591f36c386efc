"""The settings that all servers share, as configs of a server's own node, and no longer as defaults of brokers."""

from typing import Any

import pytest

from kafka_reassign_rpc.api.config_changes import AlterConfigOp, OpType
from kafka_reassign_rpc.api.config_entries import DEFINITIONS
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.protocol.messages import DescribeConfigsRequest
from tests.api.ask import ask
from tests.api.config_names import OURS, RATE
from tests.api.model_node import ModelNode
from tests.api.test_configs import BROKER, change, replace
from tests.vendor_requests import order, told

INTERVAL, PAUSED, THROTTLE = "failure.interval.ms", "self.healing.paused", "self.healing.throttle"
OWN, DEFAULTS = ("brokers", "1000"), ("brokers", "<default>")


async def described(node: ModelNode, name: str = "1000", keys: list[str] | None = None) -> dict[str, Any]:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=BROKER, resource_name=name, configuration_keys=keys
    )
    request = DescribeConfigsRequest(version=4, resources=[resource], include_synonyms=True, include_documentation=True)
    [found] = (await ask(node, request, 4)).results
    assert found.error_code == 0, found.error_message
    return {one.name: one for one in found.configs}


async def altered(node: ModelNode, name: str, configs: dict[str, str | None], *, only: bool = False) -> tuple[int, str]:
    ops = [AlterConfigOp(key, OpType.DELETE if value is None else OpType.SET, value) for key, value in configs.items()]
    [result] = (await ask(node, change((BROKER, name, ops), only=only), 1)).responses
    return result.error_code, result.error_message or ""


def test_hm_1_a_server_may_have_a_default_for_the_settings_of_servers_but_for_those_that_commands_set() -> None:
    dynamic = {one.name for one in SETTINGS if one.dynamic and not one.of_kafka}
    of_commands = {PAUSED, "partition.reassignments.enabled", "cordoned.brokers", "reassignment.windows"}
    assert SERVER_SETTINGS.keys() - of_commands == dynamic


async def test_hm_1_a_server_shows_every_setting_as_a_config_of_its_own_node_with_source_synonyms_and_meaning() -> None:
    node = ModelNode()
    node.static_configs[INTERVAL] = "5"
    node.configs.entities[OWN] = {INTERVAL: "7", RATE: "3"}
    node.configs.entities[DEFAULTS] = {INTERVAL: "6", PAUSED: "TRUE"}
    found = await described(node)
    assert set(OURS) < found.keys()
    assert list(found) == sorted(found)
    assert not any(found[name].is_sensitive or found[name].read_only for name in OURS)
    assert {name: found[name].documentation for name in OURS} == {
        name: SERVER_SETTINGS[name].documentation for name in OURS
    }
    interval = found[INTERVAL]
    assert (interval.value, interval.config_source, interval.config_type) == ("7", 2, 5)
    assert [(one.name, one.value, one.source) for one in interval.synonyms] == [
        (INTERVAL, "7", 2),
        (INTERVAL, "6", 3),
        (INTERVAL, "5", 4),
        (INTERVAL, "-1", 5),
    ]
    assert (found[PAUSED].value, found[PAUSED].config_source) == ("true", 3)
    assert (found[THROTTLE].value, found[THROTTLE].config_source) == ("-1", 5)
    assert found[RATE].value == "3"
    assert (await described(node, keys=[INTERVAL])).keys() == {INTERVAL}
    old = await described(node, "")
    assert {name: (one.value, one.is_sensitive, one.config_source) for name, one in old.items()} == {
        INTERVAL: ("6", False, 3),
        PAUSED: ("true", False, 3),
    }


async def test_hm_1_a_node_that_is_no_server_knows_no_settings_and_shows_unknown_names_as_stock_brokers_do() -> None:
    node = ModelNode()
    node.settings = None
    node.configs.entities[DEFAULTS] = {INTERVAL: "6"}
    assert not (await described(node)).keys() & (set(OURS) - {INTERVAL})
    for name in ("1000", ""):
        shown = (await described(node, name))[INTERVAL]
        assert (shown.value, shown.is_sensitive) == (None, True)
    assert await altered(node, "", {PAUSED: "maybe"}) == (0, ""), "for a broker it is a config of some plug-in"


async def test_hm_1_settings_are_changed_as_configs_of_the_node_and_only_judged_where_validate_only() -> None:
    node = ModelNode()
    wanted: dict[str, str | None] = {INTERVAL: "+0060000", PAUSED: "TRUE", THROTTLE: "50%"}
    assert await altered(node, "1000", wanted, only=True) == (0, "")
    assert node.configs.entities == {}
    assert await altered(node, "1000", wanted) == (0, "")
    assert node.configs.entities[OWN] == {INTERVAL: "60000", PAUSED: "true", THROTTLE: "50%"}, (
        "as every reader takes it"
    )
    assert await altered(node, "1000", {PAUSED: None}) == (0, "")
    [result] = (await ask(node, replace((BROKER, "1000", {INTERVAL: "8", RATE: "9"})), 2)).responses
    assert result.error_code == 0
    assert node.configs.entities == {OWN: {INTERVAL: "8", RATE: "9"}}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (INTERVAL, "soon", "Not a number of type LONG"),
        (INTERVAL, str(10**15), "Value must be no more than"),
        (THROTTLE, "0%", "Expected a whole number of bytes per second (-1: no limit) or a share"),
        ("partition.reassignments.enabled", "perhaps", "Expected value to be either true or false"),
        ("self.healing.max.failed.percentage", "101", "Value must be no more than 100"),
        ("failure.intervall.ms", "5", "did you mean failure.interval.ms?"),
    ],
)
async def test_hm_1_a_setting_of_nonsense_is_refused_and_one_that_is_set_already_blocks_no_other(
    name: str, value: str, text: str
) -> None:
    node = ModelNode()
    for only in (True, False):
        code, message = await altered(node, "1000", {name: value, PAUSED: "true"}, only=only)
        assert code == 42
        assert text in message
    assert node.configs.entities == {}
    node.configs.entities[OWN] = {name: value}  # by hand, or by another version
    assert await altered(node, "1000", {PAUSED: "true"}) == (0, "")
    assert node.configs.entities[OWN] == {name: value, PAUSED: "true"}


async def test_hm_1_the_brokers_defaults_take_no_setting_of_servers_and_say_where_it_goes() -> None:
    node = ModelNode()
    node.configs.entities[DEFAULTS] = {INTERVAL: "6", "log.cleaner.threads": "1"}
    before = dict(node.configs.entities[DEFAULTS])
    for configs in ({PAUSED: "true"}, {INTERVAL: "7"}):
        code, message = await altered(node, "", dict(configs))
        assert code == 42
        [name] = configs
        assert message.startswith(
            f"{name}: settings of kafka-reassign-rpc servers do not belong to the brokers' default"
        )
        assert "--entity-name 1000" in message
        assert "kafka-reassign settings" in message
        [result] = (await ask(node, replace((BROKER, "", {**before, **configs})), 2)).responses
        assert result.error_code == 42
        assert node.configs.entities[DEFAULTS] == before
    [result] = (await ask(node, replace((BROKER, "", {**before, "log.cleaner.threads": "2"})), 2)).responses
    assert result.error_code == 0, "the stock tool repeats what it does not change"
    assert await altered(node, "", {"log.cleaner.threads": "3"}) == (0, "")
    assert await altered(node, "", {INTERVAL: None}) == (0, ""), "deleting is the way out"
    assert node.configs.entities[DEFAULTS] == {"log.cleaner.threads": "3"}


async def test_hm_1_settings_move_out_of_the_brokers_defaults_and_none_changes_its_value() -> None:
    node = ModelNode()
    node.controller.active = False  # a standby does it too
    node.configs.entities[OWN] = {INTERVAL: "7"}
    node.configs.entities[DEFAULTS] = {INTERVAL: "6", PAUSED: "true", "log.cleaner.threads": "1"}
    answer = await ask(node, order("move_settings"), 0)
    assert told(answer) == {"moved": {PAUSED: "true"}, "dropped": {INTERVAL: "6"}}
    assert node.configs.entities == {OWN: {INTERVAL: "7", PAUSED: "true"}, DEFAULTS: {"log.cleaner.threads": "1"}}
    assert told(await ask(node, order("move_settings"), 0)) == {"moved": {}, "dropped": {}}


def test_hm_1_no_definition_of_a_setting_refuses_its_own_default() -> None:
    from kafka_reassign_rpc.core.configs.config_definitions import parse, show

    for definition in DEFINITIONS.values():
        assert definition.default is not None
        parse(definition, definition.default)
        assert show(definition, definition.default) == definition.default
