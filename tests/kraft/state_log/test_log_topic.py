"""kr-5: the settings of a log's topic that are changed, and what is said of them, on scripted brokers."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from kafka_reassign_rpc.client.config_calls import Config
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.kraft.state_log import log_topic
from kafka_reassign_rpc.kraft.state_log.log_errors import LogRefused, NotBrokers
from kafka_reassign_rpc.kraft.state_log.log_topic import (
    NEEDED,
    changes_of,
    examined,
    found_or_created,
    settings_for,
)
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    DescribeConfigsResponse,
    DescribeQuorumResponse,
    IncrementalAlterConfigsResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey

from . import scripted_brokers
from .scripted_brokers import COORDINATOR_NOT_AVAILABLE, TOPIC, LogBroker, LogBrokers

TOPIC_AUTHORIZATION_FAILED = 29
TRIES = 4
OF_TOPIC = 1
"""ConfigSource of values that a topic has."""
SERVED = [
    *scripted_brokers.SERVED,
    (ApiKey.DESCRIBE_CONFIGS, 1, 4),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1),
    (ApiKey.DESCRIBE_QUORUM, 0, 1),
]
ALL_NEEDED = "the topic log needs all of its 2 replicas, so nothing is committed while one of them is away"


class Keeper(LogBroker):
    """served       its APIs, with their versions
    settings     of the topic
    alter_error  what it answers changes of them; 0: it makes them
    """

    served = SERVED
    settings: Mapping[str, str] = {}
    alter_error = 0

    def _answer(self, key: int, version: int) -> Any:
        match key:
            case ApiKey.API_VERSIONS:
                return ApiVersionsResponse(version=version, error_code=0, api_keys=self.served)
            case ApiKey.DESCRIBE_QUORUM:
                return DescribeQuorumResponse(version=version, error_code=0, topics=[], nodes=[])
            case ApiKey.DESCRIBE_CONFIGS:
                return self._configs(version)
            case ApiKey.INCREMENTAL_ALTER_CONFIGS:
                return self._altered(version)
        return super()._answer(key, version)

    def _configs(self, version: int) -> DescribeConfigsResponse:
        result = DescribeConfigsResponse.DescribeConfigsResult
        configs = [
            result.DescribeConfigsResourceResult(
                version=version,
                name=name,
                value=value,
                read_only=False,
                config_source=OF_TOPIC,
                is_sensitive=False,
                synonyms=[],
                config_type=0,
                documentation=None,
            )
            for name, value in self.settings.items()
        ]
        one = result(
            version=version, error_code=0, error_message=None, resource_type=2, resource_name=TOPIC, configs=configs
        )
        return DescribeConfigsResponse(version=version, throttle_time_ms=0, results=[one])

    def _altered(self, version: int) -> IncrementalAlterConfigsResponse:
        (resource,) = self.body.resources
        if not self.alter_error:
            self.settings = {**self.settings, **{one.name: one.value for one in resource.configs}}
        one = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
            version=version,
            error_code=self.alter_error,
            error_message="denied" if self.alter_error else None,
            resource_type=2,
            resource_name=TOPIC,
        )
        return IncrementalAlterConfigsResponse(version=version, throttle_time_ms=0, responses=[one])


def two(**settings: str) -> LogBrokers:
    """A topic with two replicas, and all the settings that it should have but these."""
    brokers = LogBrokers([(1, 5), (1, 5)], Keeper)
    for node in brokers.nodes:
        assert isinstance(node, Keeper)
        node.settings = settings_for(2) | {name.replace("_", "."): value for name, value in settings.items()}
    return brokers


async def said(brokers: LogBrokers, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    await found_or_created(await brokers.router(), TOPIC)
    return [one.message for one in caplog.records if one.levelname == "WARNING"]


async def test_kr_5_a_topic_that_needs_all_its_replicas_is_changed_and_that_is_the_reason_that_is_given(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with two(min_insync_replicas="2") as brokers:
        lower = "min.insync.replicas=1 (it was 2)"
        assert await examined(await brokers.router(), TOPIC) == [f"a server sets {lower}: {ALL_NEEDED}"]
        assert await said(brokers, caplog) == [f"set {lower}: {ALL_NEEDED}"]
        (keeper, *_) = brokers.nodes
        assert isinstance(keeper, Keeper)
        assert keeper.settings == settings_for(2)
        assert await said(brokers, caplog) == []


async def test_kr_5_a_topic_that_needs_all_its_replicas_is_used_as_it_is_where_that_may_not_be_changed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with two(min_insync_replicas="2") as brokers:
        deny(brokers)
        assert await said(brokers, caplog) == [
            f"{ALL_NEEDED}, and its settings cannot be changed (denied): set min.insync.replicas=1 (it was 2)"
        ]


async def test_kr_5_each_setting_has_its_own_reason_and_one_that_could_lose_decisions_is_refused_without_rights(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with two(min_insync_replicas="3", retention_ms="1000") as brokers:
        deny(brokers)
        with pytest.raises(LogRefused, match=r"could lose decisions and .* cannot be changed \(denied\): set"):
            await found_or_created(await brokers.router(), TOPIC)
        deny(brokers, error=0)
        losing = "retention.ms=-1 (it was 1000)"
        assert await examined(await brokers.router(), TOPIC) == [
            f"a server changes settings of log: {losing}",
            f"a server sets min.insync.replicas=1 (it was 3): {ALL_NEEDED}",
        ]
        assert await said(brokers, caplog) == [
            f"changed settings of the topic log, with which it could lose decisions: {losing}",
            f"set min.insync.replicas=1 (it was 3): {ALL_NEEDED}",
        ]


async def test_kr_5_partitions_that_somebody_has_added_are_not_used_and_no_reason_to_lose_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with two() as brokers:
        for node in brokers.nodes:
            node.partitions = 3
        more = "the topic log has 3 partitions: the state log is in the first, others are not used"
        assert await examined(await brokers.router(), TOPIC) == [more]
        assert await said(brokers, caplog) == [more]


async def test_kr_5_no_batch_is_larger_than_a_segment() -> None:
    async with two(segment_bytes="32768") as brokers:
        assert (await found_or_created(await brokers.router(), TOPIC)).room == 32_768
    async with two(segment_bytes="1000") as brokers:
        with pytest.raises(LogRefused, match=r"has segment\.bytes=1000: a state log needs at least 16384"):
            await found_or_created(await brokers.router(), TOPIC)


@pytest.mark.parametrize("begin", [found_or_created, examined])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            COORDINATOR_NOT_AVAILABLE,
            "no broker coordinates transactions (error 15), which fences servers: transaction.state.log."
            "replication.factor (3 by default) may be more than there are brokers",
        ),
        (53, "this server may not use the transactional id log: allow it WRITE and DESCRIBE there"),
    ],
)
async def test_kr_5_a_cluster_without_a_coordinator_of_transactions_is_told_so_in_one_line_before_anything_is_claimed(
    error: int, said: str, begin: Callable[[RequestRouter, str], Awaitable[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for a while: the first question creates the topic of the coordinators."""
    monkeypatch.setattr(log_topic, "PAUSE_S", 0.001)
    monkeypatch.setattr(log_topic, "KNOWN_S", 0.001 * TRIES)
    async with two() as brokers:
        for node in brokers.nodes:
            node.coordinator_error = error
        with pytest.raises(LogRefused, match=f"^{re.escape(said)}$"):
            await begin(await brokers.router(), TOPIC)
        asked = [key for node in brokers.nodes for key in node.asked]
        assert ApiKey.INIT_PRODUCER_ID not in asked
        assert asked.count(ApiKey.FIND_COORDINATOR) == (TRIES if error == COORDINATOR_NOT_AVAILABLE else 1)


@pytest.mark.parametrize("begin", [found_or_created, log_topic.examined])
async def test_kr_5_a_server_of_this_product_in_place_of_a_broker_is_told_from_one(
    begin: Callable[[RequestRouter, str], Awaitable[object]],
) -> None:
    async with two() as servers:
        for node in servers.nodes:
            assert isinstance(node, Keeper)
            node.served = [one for one in SERVED if one[0] != ApiKey.FIND_COORDINATOR]
        with pytest.raises(NotBrokers, match=r": give addresses of brokers$"):
            await begin(await servers.router(), TOPIC)


def deny(brokers: LogBrokers, error: int = TOPIC_AUTHORIZATION_FAILED) -> None:
    for node in brokers.nodes:
        assert isinstance(node, Keeper)
        node.alter_error = error


@pytest.mark.parametrize(
    ("replicas", "needed", "safe", "usable"),
    [
        (1, 1, None, None),
        (1, 2, None, None),
        (2, 1, None, None),
        (2, 2, None, 1),
        (2, 5, None, 1),
        (3, 1, 2, None),
        (3, 2, None, None),
        (3, 3, None, 2),
        (4, 3, None, None),
        (4, 4, None, 2),
    ],
)
def test_kr_5_replicas_that_have_to_be_in_sync_are_raised_to_lose_nothing_and_lowered_so_that_one_can_be_away(
    replicas: int, needed: int, safe: int | None, usable: int | None
) -> None:
    told = [Config(name, value) for name, value in (settings_for(replicas) | {NEEDED: str(needed)}).items()]

    def changed(to: int | None) -> dict[str, tuple[str, str]]:
        return {} if to is None else {NEEDED: (str(needed), str(to))}

    assert changes_of(told, replicas) == (changed(safe), changed(usable))
