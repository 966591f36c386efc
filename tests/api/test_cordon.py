"""Brokers are cordoned by the setting of all servers, and by Kafka's name for it."""

import pytest

from kafka_reassign_rpc.api.config_changes import AlterConfigOp, OpType
from tests.api.ask import ask
from tests.api.model_node import ModelNode
from tests.api.test_configs import BROKER, change
from tests.tables import for_each

OWN = ("brokers", "1000")


async def _changed(node: ModelNode, broker: str, name: str, value: str | None, op: OpType) -> tuple[int, str]:
    request = change((BROKER, broker, [AlterConfigOp(name, op, value)]))
    [result] = (await ask(node, request, 1)).responses
    return result.error_code, result.error_message or ""


def _list(node: ModelNode) -> str | None:
    return node.configs.entities.get(OWN, {}).get("cordoned.brokers")


async def test_dh_2_two_operators_cordon_and_uncordon_without_losing_what_the_other_wants() -> None:
    node = ModelNode()
    for value in ("3,7", "7,5"):
        assert await _changed(node, "1000", "cordoned.brokers", value, OpType.APPEND) == (0, "")
    assert _list(node) == "3,7,5"
    assert await _changed(node, "1000", "cordoned.brokers", "3,9", OpType.SUBTRACT) == (0, "")
    assert _list(node) == "7,5"


@for_each("value", ["three", "-1", "03", "3,07", "3;7", "*", "2147483648", ",".join(map(str, range(5_001)))])
async def test_dh_2_what_is_no_list_of_brokers_is_refused(value: str) -> None:
    node = ModelNode()
    code, message = await _changed(node, "1000", "cordoned.brokers", value, OpType.SET)
    assert (code, _list(node)) == (42, None)
    assert message.startswith("Invalid value [")


async def test_dh_2_kafkas_name_for_one_broker_changes_the_list_and_nothing_at_the_broker() -> None:
    node = ModelNode()
    for broker in ("3", "7", "3"):
        assert await _changed(node, broker, "cordoned.log.dirs", "*", OpType.SET) == (0, "")
    assert _list(node) == "3,7"
    assert ("brokers", "3") not in node.configs.entities
    assert await _changed(node, "3", "cordoned.log.dirs", "", OpType.SET) == (0, "")
    assert await _changed(node, "9", "cordoned.log.dirs", None, OpType.DELETE) == (0, "")
    assert _list(node) == "7"
    assert await _changed(node, "7", "cordoned.log.dirs", None, OpType.DELETE) == (0, "")
    assert _list(node) is None


@pytest.mark.parametrize(("broker", "value"), [("3", "/data/1"), ("three", "*"), ("3,7", "*"), ("-1", "*")])
async def test_dh_2_single_log_dirs_and_odd_ids_are_refused(broker: str, value: str) -> None:
    node = ModelNode()
    code, _ = await _changed(node, broker, "cordoned.log.dirs", value, OpType.SET)
    assert (code, _list(node)) == (42, None)


@pytest.mark.parametrize("resource", ["", "1000"])
async def test_dh_2_kafkas_name_is_refused_where_it_would_cordon_no_broker(resource: str) -> None:
    """For all brokers, or for the server itself. Brokers would take it for a secret among their defaults."""
    node = ModelNode()
    code, message = await _changed(node, resource, "cordoned.log.dirs", "*", OpType.SET)
    assert (code, message) == (42, "Unknown config cordoned.log.dirs: did you mean cordoned.brokers?")
    assert node.configs.entities == {}


async def test_dh_2_other_configs_of_another_broker_go_to_that_broker() -> None:
    code, message = await _changed(ModelNode(), "3", "log.cleaner.threads", "2", OpType.SET)
    assert (code, message) == (42, "Unexpected broker id, expected 1000, but received 3")
