"""Configs that clients read and change at a server whose ZooKeeper is away."""

import pytest

from kafka_reassign_rpc.api.ports import TOPICS
from kafka_reassign_rpc.controller.lifecycle.served_configs import ServedConfigs
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
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
