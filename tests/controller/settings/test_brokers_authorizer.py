"""A server without an authorizer does not allow what the brokers' authorizer refuses."""

import asyncio
import logging

import pytest

from kafka_reassign_rpc.controller.duties import broker_survey
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, NotController, TopicAuthorizationFailed
from kafka_reassign_rpc.core.settings.broker_settings import AUTHORIZER
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    ApiVersionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually

from .test_first_survey import Survey

SECURED = {AUTHORIZER: "kafka.security.authorizer.AclAuthorizer"}
DENIED = {ClusterAuthorizationFailed.code, TopicAuthorizationFailed.code, NotController.code}


async def codes(here: Cluster) -> set[int]:
    """What requests that need a right are answered with: one of each kind."""
    create = CreateTopicsRequest.CreatableTopic(
        name="new", num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    created = await here.ask(CreateTopicsRequest(topics=[create], timeout_ms=5_000, validate_only=False), 5)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    value = resource.AlterableConfig(name="retention.ms", config_operation=0, value="1")
    wanted = resource(resource_type=2, resource_name="t", configs=[value])
    changed = await here.ask(IncrementalAlterConfigsRequest(resources=[wanted], validate_only=False), 1)
    deleted = await here.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=5_000), 4)
    altered = await here.ask(AlterPartitionReassignmentsRequest(timeout_ms=5_000, topics=[]), 0)
    listed = await here.ask(ListPartitionReassignmentsRequest(timeout_ms=5_000, topics=None), 0)
    return {
        *(one.error_code for one in created.topics),
        *(one.error_code for one in deleted.responses),
        *(one.error_code for one in changed.responses),
        altered.error_code,
        listed.error_code,
    }


async def test_hm_6_a_server_that_learns_of_the_brokers_authorizer_ends_its_term_and_refuses_all_that_needs_a_right(
    zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(zk_connect, brokers=(1,)) as here:
        await here.create_topic("t", {0: [1]})
        here.broker_configs = SECURED
        with caplog.at_level(logging.ERROR):
            await here.start_broker(2)
            await eventually(lambda: _is_given_back(here))
        assert await codes(here) <= DENIED
        metadata = await here.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), 8)
        assert list(metadata.topics) == [], "it does not even show what there is"
        assert (await here.ask(ApiVersionsRequest(), 0)).error_code == 0, "no right is needed for that"
        assert await here.zk.exists(znode_paths.topic("t")) is not None
        assert await here.zk.exists(znode_paths.topic("new")) is None
    (told,) = [one for one in caplog.messages if one.startswith("standing by, and refusing all that needs a right")]
    assert f"{AUTHORIZER}={SECURED[AUTHORIZER]}" in told
    assert "--broker-authorizer ignore" in told


async def _is_given_back(here: Cluster) -> bool:
    return await here.zk.exists(znode_paths.CONTROLLER) is None


async def test_hm_6_a_setting_lets_every_client_in_anyway(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1,), broker_configs=SECURED, refuses_without_authorizer=False) as here:
        await here.create_topic("t", {0: [1]})
        assert await codes(here) == {0}


async def test_hm_6_nothing_that_needs_a_right_is_done_before_a_broker_has_said_that_it_has_no_authorizer(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = Survey(monkeypatch)
    async with cluster(zk_connect, brokers=()) as here:
        await here.start_broker(1)
        await survey.asked.wait()
        client = await here.client()
        asking = asyncio.ensure_future(
            client.call(
                ListPartitionReassignmentsRequest,
                ListPartitionReassignmentsRequest(timeout_ms=5_000, topics=None),
                0,
            )
        )
        await here.ask(ApiVersionsRequest(), 0)  # by another connection
        assert not asking.done()
        survey.open.set()
        assert (await asking).error_code == 0
        client.close()


@pytest.mark.parametrize("acls", [True, False])
async def test_hm_6_where_brokers_say_nothing_acls_in_zookeeper_are_evidence_of_an_authorizer(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch, acls: bool
) -> None:
    monkeypatch.setattr(broker_survey, "PATIENCE_S", 0.0)
    survey = Survey(monkeypatch)
    async with cluster(zk_connect, brokers=(), acls=acls) as here:
        await here.start_broker(1)
        await survey.asked.wait()
        altered = await here.ask(AlterPartitionReassignmentsRequest(timeout_ms=5_000, topics=[]), 0)
        if acls:
            assert await codes(here) <= DENIED
            assert "no answer came from broker 1" in (altered.error_message or "")
            survey.open.set()
            await eventually(lambda: _may_list(here))
        else:
            assert altered.error_code == 0


async def _may_list(here: Cluster) -> bool:
    answer = await here.ask(ListPartitionReassignmentsRequest(timeout_ms=5_000, topics=None), 0)
    return bool(answer.error_code == 0)


@pytest.mark.parametrize("acls", [True, False])
async def test_hm_6_without_any_broker_the_place_of_acls_in_zookeeper_says_whether_there_was_an_authorizer(
    zk_connect: str, acls: bool
) -> None:
    async with cluster(zk_connect, brokers=(), acls=acls) as here:
        assert await _may_list(here) is not acls
