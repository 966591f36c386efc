"""Brokers with a policy for new topics or for configs: the server, which cannot run it, refuses, or is set not to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.core.events.catalogue import BROKER_SETTINGS_DIFFER
from kafka_reassign_rpc.core.settings.broker_settings import ALTER_CONFIG_POLICY, CREATE_TOPIC_POLICY
from kafka_reassign_rpc.protocol.messages import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    IncrementalAlterConfigsRequest,
)
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually

POLICY_VIOLATION = 44
SERVER, DEFAULT, TOPIC = (4, "1000"), (4, ""), (2, "t")


async def create(here: Cluster, name: str, *, validate_only: bool = False) -> tuple[int, str | None]:
    wanted = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=validate_only)
    ((code, message),) = [(one.error_code, one.error_message) for one in (await here.ask(request, 5)).topics]
    return code, message


async def change(here: Cluster, cls: Any, resource: tuple[int, str]) -> tuple[int, str | None]:
    is_topic = resource[0] == 2
    config: dict[str, Any] = {"name": "retention.ms" if is_topic else "log.retention.ms", "value": "1000"}
    if cls is IncrementalAlterConfigsRequest:
        config["config_operation"] = 0
    kind = cls.AlterConfigsResource
    one = kind(
        resource_type=resource[0],
        resource_name=resource[1],
        configs=[kind.AlterableConfig(**config)],
    )
    (result,) = (await here.ask(cls(resources=[one], validate_only=False), 1)).responses
    return result.error_code, result.error_message


async def grow(here: Cluster, name: str, count: int) -> int:
    one = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[one], timeout_ms=10_000, validate_only=False)
    (code,) = [result.error_code for result in (await here.ask(request, 1)).results]
    return int(code)


async def has_learnt(here: Cluster, text: str) -> bool:
    reasons = [one["reason"] for one in await here.events() if one["event"] == BROKER_SETTINGS_DIFFER]
    return reasons == [text]


def told(name: str, what: str, outcome: str) -> str:
    return f"{name}=com.example.Policy on broker 1: this server cannot run Java, so for {what} it {outcome}"


async def test_sv_4_topics_are_not_created_where_brokers_have_a_policy_for_them_and_may_grow_as_in_kafka(
    zk_connect: str, tmp_path: Path
) -> None:
    policy: Mapping[str, str] = {CREATE_TOPIC_POLICY: "com.example.Policy"}
    async with cluster(zk_connect, brokers=(1, 2), event_log=tmp_path) as here:
        assert await create(here, "t") == (0, None)
        await here.kill_broker(1)
        here.broker_configs = policy
        await here.start_broker(1)
        await eventually(lambda: has_learnt(here, told(CREATE_TOPIC_POLICY, "CreateTopics", "refuses them")))
        for validate_only in (False, True):
            code, message = await create(here, "u", validate_only=validate_only)
            assert code == POLICY_VIOLATION
            assert message is not None
            assert "create.topic.policy.class.name=com.example.Policy" in message
            assert "--broker-policies ignore" in message
        assert await grow(here, "t", 2) == 0, "no policy checks it in Kafka: ZkAdminManager.createPartitions"
        assert (await change(here, IncrementalAlterConfigsRequest, TOPIC))[0] == 0


@pytest.mark.parametrize("resource", [TOPIC, DEFAULT, SERVER])
@pytest.mark.parametrize("cls", [IncrementalAlterConfigsRequest, AlterConfigsRequest])
async def test_sv_4_configs_are_not_changed_where_brokers_have_a_policy_for_them(
    zk_connect: str, tmp_path: Path, cls: Any, resource: tuple[int, str]
) -> None:
    policy = {ALTER_CONFIG_POLICY: "com.example.Policy"}
    async with cluster(zk_connect, brokers=(1,), broker_configs=policy, event_log=tmp_path) as here:
        await eventually(lambda: has_learnt(here, told(ALTER_CONFIG_POLICY, "changes of configs", "refuses them")))
        assert await create(here, "t") == (0, None)
        code, message = await change(here, cls, resource)
        assert code == POLICY_VIOLATION
        assert message is not None
        assert "alter.config.policy.class.name=com.example.Policy" in message


async def test_sv_4_an_operator_may_have_policies_ignored_which_is_reported(zk_connect: str, tmp_path: Path) -> None:
    policy = {CREATE_TOPIC_POLICY: "com.example.Policy"}
    async with cluster(zk_connect, brokers=(1,), broker_configs=policy, event_log=tmp_path) as here:
        await here.stop_server()
        here.refuses_by_policy = False
        await here.start_server(1001)
        ignored = told(CREATE_TOPIC_POLICY, "CreateTopics", "does not check them (--broker-policies ignore)")
        await eventually(lambda: has_learnt(here, ignored))
        assert await create(here, "t") == (0, None)
