"""What a controller does from time to time: preferred leader elections, and purging config change announcements."""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from kafka_reassign_rpc.controller.commands.leadership_commands import RebalanceLeaders
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.zookeeper.config_znodes import CHANGE_EXPIRATION_MS, ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)


class LeaderBalance(msgspec.Struct, frozen=True):
    """Kafka's auto.leader.rebalance.enable, leader.imbalance.check.interval.seconds and .per.broker.percentage."""

    enabled: bool = True
    interval_s: float = 300
    percentage: int = 10


async def purge_config_changes(configs: ConfigStore, now_ms: Callable[[], int]) -> None:
    """Until cancelled: delete announcements of config changes once all brokers have had time to read them."""
    while True:
        await asyncio.sleep(CHANGE_EXPIRATION_MS / 1000)
        try:
            await configs.purge_changes(now_ms())
        except ZkError as error:
            log.info("old config change announcements stay for now: %s", error)


async def balance_leaders(loop: ControllerLoop, settings: LeaderBalance) -> None:
    """Until cancelled, or until this is no longer the controller."""
    while settings.enabled:
        await asyncio.sleep(settings.interval_s)
        try:
            elected = await loop.submit(RebalanceLeaders(settings.percentage))
        except KafkaError:
            return
        if elected:
            log.info("%d preferred leaders elected", elected)
