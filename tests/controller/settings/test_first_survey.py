"""Requests that need what brokers were started with wait for the first answers, and are refused where none come."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

import pytest

from kafka_reassign_rpc.controller.duties import broker_survey
from kafka_reassign_rpc.core.kafka_errors import NotController, PolicyViolation, RequestTimedOut
from kafka_reassign_rpc.core.settings.broker_settings import ALTER_CONFIG_POLICY, CREATE_TOPIC_POLICY
from kafka_reassign_rpc.protocol.messages import (
    CreateTopicsRequest,
    DoCommandRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_reassign_rpc.transport.broker_answers import ConfigEntry, ConfigsRefused, broker_configs
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import topic_json
from tests.controller.cluster import Cluster, cluster
from tests.vendor_requests import order

COUNTS = {"num.partitions": "3", "default.replication.factor": "2"}
GIVEN = {"num.partitions": 1, "default.replication.factor": 1}


async def create(
    here: Cluster, name: str = "t", *, counts: int = -1, client: RpcClient | None = None, timeout_ms: int = 10_000
) -> tuple[int, str | None]:
    wanted = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=counts, replication_factor=counts, assignments=[], configs=[]
    )
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=timeout_ms, validate_only=False)
    answer = await (here.ask(request, 5) if client is None else client.call(CreateTopicsRequest, request, 5))
    ((code, message),) = [(one.error_code, one.error_message) for one in answer.topics]
    return code, message


async def change(here: Cluster, client: RpcClient | None = None, node: int = 1000) -> tuple[int, str | None]:
    """Of the server's own configs: those of all brokers are judged by the brokers themselves."""
    cls = IncrementalAlterConfigsRequest
    one = cls.AlterConfigsResource.AlterableConfig(name="log.retention.ms", config_operation=0, value="1000")
    resource = cls.AlterConfigsResource(resource_type=4, resource_name=str(node), configs=[one])
    request = cls(resources=[resource], validate_only=False)
    (result,) = (await (here.ask(request, 1) if client is None else client.call(cls, request, 1))).responses
    return result.error_code, result.error_message


class Survey:
    """Holds every answer of a broker about its settings back, or refuses it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.asked = asyncio.Event()
        self.open = asyncio.Event()
        self.refuses = False
        self._answer = broker_configs
        patch.setattr(broker_survey, "broker_configs", self._configs)

    async def _configs(self, client: RpcClient, broker: int, names: Collection[str]) -> Sequence[ConfigEntry]:
        self.asked.set()
        if self.refuses:
            raise ConfigsRefused("DescribeConfigs: error 31, denied")
        await self.open.wait()
        return await self._answer(client, broker, names)


@pytest.fixture
async def survey(monkeypatch: pytest.MonkeyPatch) -> Survey:
    return Survey(monkeypatch)


async def held(here: Cluster, survey: Survey, request: Callable[[RpcClient], Awaitable[Any]]) -> Any:
    """The answer of a request that is not answered before the brokers have."""
    client = await here.client()
    asking = asyncio.ensure_future(request(client))
    await survey.asked.wait()
    for _ in range(20):
        await here.described("num.partitions")  # by another connection
    assert not asking.done()
    survey.open.set()
    answer = await asking
    client.close()
    return answer


async def test_sv_10_a_topic_without_counts_that_is_created_at_once_gets_those_of_the_brokers(
    zk_connect: str, survey: Survey
) -> None:
    async with cluster(zk_connect, refuses_without_authorizer=False, brokers=(1, 2, 3), broker_configs=COUNTS) as here:
        assert await held(here, survey, lambda client: create(here, client=client)) == (0, None)
        found = (await topic_json(here.zk, "t"))["partitions"]
        assert (len(found), len(found["0"])) == (3, 2)


async def test_sv_4_a_topic_that_a_policy_may_forbid_is_not_created_before_the_brokers_have_answered(
    zk_connect: str, survey: Survey
) -> None:
    policy = {CREATE_TOPIC_POLICY: "com.example.Policy"}
    async with cluster(zk_connect, refuses_without_authorizer=False, brokers=(1, 2), broker_configs=policy) as here:
        code, _ = await held(here, survey, lambda client: create(here, counts=1, client=client))
        assert code == PolicyViolation.code
        assert await here.zk.exists(znode_paths.topic("t")) is None


async def test_sv_4_configs_that_a_policy_may_forbid_are_not_changed_before_the_brokers_have_answered(
    zk_connect: str, survey: Survey
) -> None:
    policy = {ALTER_CONFIG_POLICY: "com.example.Policy"}
    async with cluster(zk_connect, refuses_without_authorizer=False, brokers=(1, 2), broker_configs=policy) as here:
        code, _ = await held(here, survey, lambda client: change(here, client))
        assert code == PolicyViolation.code
        assert await here.described("log.retention.ms") is None


async def test_sv_10_brokers_that_refuse_to_report_their_settings_are_named_and_what_needs_them_is_refused(
    zk_connect: str, survey: Survey, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(broker_survey, "PATIENCE_S", 0.0)
    survey.refuses = True
    with caplog.at_level(logging.WARNING):
        async with cluster(
            zk_connect, refuses_without_authorizer=False, brokers=(1, 2), broker_settings={"num.partitions": 1}
        ) as here:
            code, message = await create(here)
            assert code == RequestTimedOut.code
            assert message is not None
            assert "create.topic.policy.class.name, default.replication.factor" in message
            assert "--broker-policies ignore, --default-replication-factor" in message
            code, message = await create(here, counts=1)
            assert code == RequestTimedOut.code
            assert message is not None
            assert "default.replication.factor" not in message
            assert (await change(here))[0] == RequestTimedOut.code
            assert await here.zk.exists(znode_paths.topic("t")) is None

            await here.stop_server()
            here.refuses_by_policy, here.broker_settings = False, GIVEN
            await here.start_server(1001)
            assert await create(here) == (0, None)
            assert await change(here, node=1001) == (0, None)
    told = [one for one in caplog.messages if one.startswith("broker 1 does not report its settings")]
    assert len(told) == 2, "once for each server, not at each try"
    for text in ("error 31, denied", "DESCRIBE_CONFIGS", "default.replication.factor", CREATE_TOPIC_POLICY):
        assert text in told[0]
    assert "num.partitions" not in told[0]


async def test_sv_10_a_request_waits_no_longer_than_its_timeout(zk_connect: str, survey: Survey) -> None:
    async with cluster(zk_connect, refuses_without_authorizer=False, brokers=(1,)) as here:
        assert (await create(here, timeout_ms=0))[0] == RequestTimedOut.code


async def test_sv_10_brokers_that_are_silent_keep_no_client_from_creating_topics_and_changing_configs(
    zk_connect: str, survey: Survey, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(broker_survey, "PATIENCE_S", 0.0)
    with caplog.at_level(logging.WARNING):
        async with cluster(zk_connect, refuses_without_authorizer=False, brokers=(1, 2)) as here:
            assert (await create(here))[0] == RequestTimedOut.code, "counts of -1 are those of the brokers"
            for name in ("t", "u"):
                assert await create(here, name, counts=1) == (0, None)
            assert await change(here) == (0, None)
    told = [one for one in caplog.messages if "most brokers have not reported their settings" in one]
    assert [name in one for name, one in zip((CREATE_TOPIC_POLICY, ALTER_CONFIG_POLICY), told, strict=True)] == [
        True
    ] * 2


async def throttle(here: Cluster, client: RpcClient, rate: int = 1_000) -> tuple[int, str | None]:
    """A lease for whatever moves."""
    answer = await client.call(DoCommandRequest, order("throttle", rate=rate), 0)
    return answer.error_code, answer.error_message


async def test_mg_3_no_lease_is_given_before_the_brokers_have_said_whether_they_migrate_to_kraft(
    zk_connect: str, survey: Survey
) -> None:
    migrates = {"zookeeper.metadata.migration.enable": "true"}
    async with cluster(zk_connect, refuses_without_authorizer=False, brokers=(1, 2), broker_configs=migrates) as here:
        code, _ = await held(here, survey, lambda client: throttle(here, client))
        assert code == PolicyViolation.code


async def test_mg_3_where_brokers_do_not_say_whether_they_migrate_a_lease_is_refused_and_its_end_is_not(
    zk_connect: str, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_survey, "PATIENCE_S", 0.0)
    async with cluster(zk_connect, refuses_without_authorizer=False, brokers=(1, 2)) as here:
        client = await here.client()
        code, message = await throttle(here, client)
        assert code == RequestTimedOut.code
        assert "it is not known whether the brokers migrate to KRaft" in (message or "")
        assert await throttle(here, client, 0) == (0, None)
        client.close()


async def test_sv_10_a_request_that_waits_ends_with_the_term(zk_connect: str, survey: Survey) -> None:
    async with cluster(zk_connect, refuses_without_authorizer=False, brokers=(1,)) as here:
        client = await here.client()
        asking = asyncio.ensure_future(create(here, client=client))
        await survey.asked.wait()
        await here.described("num.partitions")
        await here.zk.delete(znode_paths.CONTROLLER)
        assert (await asking)[0] == NotController.code
        client.close()
