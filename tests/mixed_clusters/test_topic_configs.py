"""Configs of topics that clients set at our server, and a stock broker that has to start with them."""

import random
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.protocol.messages import (
    CreateTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from tests.core.configs.random_topic_configs import random_configs
from tests.faults.cluster import Address, address_of, ask
from tests.stock.jars import BROKER_VERSION
from tests.stock.tools import Tools
from tests.waiting import eventually

from .mixed_cluster import MixedCluster, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(600)]

SEED, CASES, WRITTEN, RESTARTS = 32, 400, 0.2, 8
INVALID_CONFIG = 40
TOPIC = 2
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
STATIC = {
    "log.index.size.max.bytes": "4096",
    "log.retention.hours": "100",
    "log.cleaner.max.compaction.lag.ms": "60000",
}

REFUSED: tuple[Mapping[str, str], ...] = (
    {"remote.storage.enable": "true"},
    {"remote.log.copy.disable": "true"},
    {"remote.log.delete.on.disable": "true"},
    {"min.compaction.lag.ms": "60001"},
    {"segment.bytes": "13"},
    {LEADERS: "0:1;1:2"},
)
ACCEPTED: tuple[Mapping[str, str], ...] = (
    {LEADERS: "0:1,1:2,", FOLLOWERS: " 0:1 , 1:2"},
    {LEADERS: "0:1,,1:2", FOLLOWERS: "*,"},
    {"message.format.version": " 3.0.1 ", "message.timestamp.type": "LogAppendTime\t"},
    {"local.retention.ms": "99999999999", "local.retention.bytes": "-1", "remote.storage.enable": "FALSE"},
    {"min.cleanable.dirty.ratio": "0x1p-1", "preallocate": " tRuE", "segment.ms": "+00000000000000000000000012"},
    {"cleanup.policy": "", "compression.type": "zstd", "compression.zstd.level": "-131072", "min.insync.replicas": "9"},
)
"""Kinds that stock Kafka accepts. Each is a topic's when the next one comes."""


@pytest_asyncio.fixture
async def mixed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MixedCluster]:
    async with behind_our_server(tmp_path_factory.mktemp("topics"), [1], overrides=STATIC) as mixed:
        yield mixed


async def create(address: Address, name: str, configs: Mapping[str, str], *, only: bool = False) -> int:
    one = CreateTopicsRequest.CreatableTopic
    wanted = one(
        name=name,
        num_partitions=2,
        replication_factor=1,
        assignments=[],
        configs=[one.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=20_000, validate_only=only)
    code: int = (await ask(address, request, 7)).topics[0].error_code
    return code


async def change(address: Address, name: str, configs: Mapping[str, str], *, only: bool = False) -> tuple[int, str]:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    changes = [resource.AlterableConfig(name=key, config_operation=0, value=value) for key, value in configs.items()]
    asked = resource(resource_type=TOPIC, resource_name=name, configs=changes)
    request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=only)
    [result] = (await ask(address, request, 1)).responses
    return result.error_code, result.error_message or ""


async def described(address: Address, name: str) -> dict[str, Any]:
    """Value, source and synonyms of each config of a topic."""
    asked = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=TOPIC, resource_name=name, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True, include_documentation=False)
    [result] = (await ask(address, request, 4)).results
    assert result.error_code == 0
    return {
        one.name: (one.value, one.config_source, [(s.name, s.value, s.source) for s in one.synonyms])
        for one in result.configs
    }


def both(mixed: MixedCluster) -> tuple[Address, Address]:
    """The stock broker and our server."""
    return address_of(mixed.stock.brokers[1].address), mixed.cluster.address(mixed.server)


async def restart(mixed: MixedCluster) -> None:
    await mixed.stock.brokers[1].stop()
    await mixed.stock.brokers[1].start()


async def test_hm_1_a_stock_broker_starts_with_every_kind_of_topic_config_that_is_accepted(mixed: MixedCluster) -> None:
    stock, ours = both(mixed)
    assert await create(ours, "t", {}) == 0
    await eventually(lambda: _knows(stock, "t"))
    for configs in REFUSED:
        assert (await change(stock, "t", configs, only=True))[0] == INVALID_CONFIG
        assert await change(ours, "t", configs) == await change(stock, "t", configs, only=True)
        assert await create(ours, "new", configs) == await create(ours, "new", configs, only=True) == INVALID_CONFIG
    for number, configs in enumerate(ACCEPTED):
        assert await change(stock, "t", configs, only=True) == (0, ""), configs
        assert await create(ours, f"new-{number}", configs) == 0, configs
        assert await change(ours, "t", configs) == (0, ""), configs
        await restart(mixed)
        await eventually(partial(_knows, stock, f"new-{number}"))
        await eventually(partial(_show_the_same, mixed))
    with Tools(BROKER_VERSION) as tools:
        words = f"--bootstrap-server {mixed.stock.brokers[1].address} --topic t --describe"
        assert (await tools.run("topics", *words.split())).code == 0


async def test_hm_1_random_topic_configs_are_accepted_where_a_stock_broker_accepts_them_and_it_starts_with_them(
    mixed: MixedCluster,
) -> None:
    stock, ours = both(mixed)
    assert await create(ours, "t", {}) == 0
    await eventually(lambda: _knows(stock, "t"))
    await eventually(partial(_show_the_same, mixed))
    rng = random.Random(SEED)
    counts = {"accepted": 0, "refused": 0, "written": 0}
    for number in range(CASES):
        configs = random_configs(rng)
        theirs, mine = await change(stock, "t", configs, only=True), await change(ours, "t", configs, only=True)
        if mine[0] and ("Numbers must be no more than" in mine[1] or "no room for an entry" in mine[1]):
            continue  # a stock broker accepts them, and would not start again, or could begin no log
        assert (mine[0] == 0) == (theirs[0] == 0), (number, configs, mine, theirs)
        assert mine[0] in (0, INVALID_CONFIG)
        counts["refused" if mine[0] else "accepted"] += 1
        if mine[0] == 0 and rng.random() < WRITTEN:
            assert await change(ours, "t", configs) == (0, "")
            counts["written"] += 1
            if counts["written"] % RESTARTS == 0:
                await restart(mixed)
                await eventually(lambda: _knows(stock, "t"))
                await eventually(partial(_show_the_same, mixed))
    assert min(counts["accepted"], counts["refused"]) > CASES // 5, counts
    assert counts["written"] > RESTARTS, counts


async def _knows(address: Address, topic: str) -> bool:
    return (await change(address, topic, {}, only=True))[0] == 0


async def _show_the_same(mixed: MixedCluster) -> bool:
    """Our server learns what a broker was started with once it has registered: static values count."""
    stock, ours = both(mixed)
    assert await described(ours, "t") == await described(stock, "t")
    return True
