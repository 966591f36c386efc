"""Configs that clients read and change at a server whose ZooKeeper is away."""

import pytest

from kafka_reassign_rpc.api.ports import TOPICS
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.quota_znodes import QuotaStore
from kafka_reassign_rpc.zookeeper.served_configs import ServedConfigs, ServedQuotas
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


async def test_sv_2_who_reads_or_changes_configs_is_told_that_zookeeper_is_away(zk_connect: str) -> None:
    """It is no defect of the server, and needs no traceback in its log."""
    async with ZooKeeper(zk_connect) as zk:
        configs = ServedConfigs(ConfigStore(zk))
        await configs.alter(TOPICS, "t", lambda _: {"flush.ms": "500"})
        assert await configs.get(TOPICS, "t") == {"flush.ms": "500"}
    with pytest.raises(BrokerNotAvailable, match="ZooKeeper cannot be asked"):
        await configs.get(TOPICS, "t")
    with pytest.raises(BrokerNotAvailable, match="ZooKeeper cannot be asked"):
        await configs.alter(TOPICS, "t", lambda _: {})


async def test_sv_2_who_reads_or_changes_quotas_is_told_that_zookeeper_is_away(zk_connect: str) -> None:
    alice = ((USER, "alice"),)
    set_by_somebody = {"request_percentage": "5"}
    async with ZooKeeper(zk_connect) as zk:
        quotas = ServedQuotas(QuotaStore(zk))
        await quotas.alter(alice, lambda _: set_by_somebody)
        assert await quotas.get(alice) == set_by_somebody
        assert await quotas.get_all((USER,), {}) == {alice: set_by_somebody}
    for call in (
        lambda: quotas.get(alice),
        lambda: quotas.get_all((USER,), {}),
        lambda: quotas.alter(alice, lambda _: {}),
    ):
        with pytest.raises(BrokerNotAvailable, match="ZooKeeper cannot be asked"):
            await call()
