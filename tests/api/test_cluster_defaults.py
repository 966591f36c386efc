"""Changes of the cluster-wide broker configs as a node handles them: what it asks brokers, and what it writes."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_reassign_rpc.api.config_changes import MOST_CHARACTERS, AlterConfigOp, OpType, wanted_defaults
from kafka_reassign_rpc.api.config_ports import DefaultsChange
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, RequestTimedOut

from .ask import ask
from .model_node import ModelNode
from .test_configs import BROKER, change, replace

DEFAULTS = ("brokers", "<default>")


def incremental(configs: Mapping[str, str | None], *, only: bool = False) -> Any:
    kinds = {True: OpType.DELETE, False: OpType.SET}
    ops = [AlterConfigOp(name, kinds[value is None], value) for name, value in configs.items()]
    return change((BROKER, "", ops), only=only)


async def answer(node: ModelNode, request: Any, version: int = 1) -> tuple[int, str | None]:
    [result] = (await ask(node, request, version)).responses
    return result.error_code, result.error_message


@pytest.mark.parametrize("only", [False, True])
async def test_hm_1_what_a_broker_refuses_is_not_written_and_its_error_is_the_answer(only: bool) -> None:
    node = ModelNode()
    node.brokers_refuse = InvalidRequest("Invalid max.connections 0")
    assert await answer(node, incremental({"max.connections": "0"}, only=only)) == (42, "Invalid max.connections 0")
    node.brokers_refuse = RequestTimedOut("no broker is live")
    legacy = replace((BROKER, "", {"max.connections": "7"}), only=only)
    assert await answer(node, legacy, 2) == (7, "no broker is live")
    assert node.configs.entities == {}


async def test_hm_1_brokers_are_asked_about_what_would_be_set_by_both_apis_and_validate_only_asks_too() -> None:
    node = ModelNode()
    node.configs.entities[DEFAULTS] = {"log.roll.ms": "5", "num.io.threads": "8"}
    standing = dict(node.configs.entities[DEFAULTS])
    assert await answer(node, incremental({"num.io.threads": None, "log.roll.ms": "6"}, only=True)) == (0, None)
    assert node.configs.entities[DEFAULTS] == standing
    assert await answer(node, replace((BROKER, "", {"log.roll.ms": "7"})), 2) == (0, None)
    assert node.asked_about == [
        DefaultsChange(standing, {"log.roll.ms": "6"}),
        DefaultsChange(standing, {"log.roll.ms": "7"}),
    ]
    assert [one.steps for one in node.asked_about] == [
        {"num.io.threads": None, "log.roll.ms": "6"},
        {"num.io.threads": None, "log.roll.ms": "7"},
    ]
    assert node.configs.entities[DEFAULTS] == {"log.roll.ms": "7"}


async def test_hm_1_a_config_that_brokers_leave_out_blocks_no_other_and_is_judged_where_it_is_named() -> None:
    node = ModelNode()
    odd = {"log.roll.ms": "soon", "broker.id": "7", "sasl.jaas.config": "x"}
    node.configs.entities[DEFAULTS] = dict(odd)
    assert await answer(node, incremental({"log.retention.ms": "5"})) == (0, None)
    assert node.asked_about == [DefaultsChange({}, {"log.retention.ms": "5"})]
    assert node.configs.entities[DEFAULTS] == {**odd, "log.retention.ms": "5"}
    for named in odd:
        assert (await answer(node, incremental({named: odd[named]})))[0] == 42
        assert await answer(node, incremental({named: None})) == (0, None)
    assert node.configs.entities[DEFAULTS] == {"log.retention.ms": "5"}


async def test_hm_1_brokers_are_not_asked_about_settings_of_servers_which_only_leave_the_defaults() -> None:
    node = ModelNode()
    code, _ = await answer(node, incremental({"failure.interval.ms": "5"}))
    assert code == InvalidRequest.code
    assert node.asked_about == []
    assert await answer(node, incremental({}, only=True)) == (0, None)
    assert len(node.asked_about) == 1, "what is set already is judged as well"


async def test_hm_1_brokers_are_asked_again_when_others_have_changed_the_configs_in_between() -> None:
    node = ModelNode()
    others = [{"log.roll.ms": "1"}, {"log.roll.ms": "2"}]
    asked = node.accept_defaults

    async def meanwhile(change: DefaultsChange) -> None:
        await asked(change)
        if others:
            node.configs.entities[DEFAULTS] = others.pop(0)

    node.accept_defaults = meanwhile  # type: ignore[method-assign]
    assert await answer(node, incremental({"log.retention.ms": "5"})) == (0, None)
    assert [one.before for one in node.asked_about] == [{}, {"log.roll.ms": "1"}, {"log.roll.ms": "2"}]
    assert node.configs.entities[DEFAULTS] == {"log.roll.ms": "2", "log.retention.ms": "5"}


async def test_hm_1_passwords_for_all_brokers_and_texts_beyond_any_znode_are_refused() -> None:
    node = ModelNode()
    secret = incremental({"my.ssl.key.password": "x"})
    code, text = await answer(node, secret)
    assert (code, "Password config can be defined only at broker level" in str(text)) == (40, True)
    assert node.configs.entities == {}
    standing = {"my.plugin.one": "x" * (MOST_CHARACTERS // 2)}
    with pytest.raises(InvalidRequest, match="have at most"):
        wanted_defaults(standing, lambda now: {**now, "my.plugin.two": standing["my.plugin.one"]}, ["my.plugin.two"])


async def test_hm_1_configs_of_a_listener_that_hold_for_the_whole_cluster_are_taken() -> None:
    node = ModelNode()
    for name in ("max.connections", "max.connection.creation.rate", "num.network.threads"):
        assert await answer(node, incremental({f"listener.name.client.{name}": "5"})) == (0, None)
    assert (await answer(node, incremental({"listener.name.client.ssl.keystore.location": "x"})))[0] == 42
