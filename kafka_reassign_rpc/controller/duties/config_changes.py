"""Purges old announcements of config changes."""

import asyncio
import logging
from collections.abc import Callable

from kafka_reassign_rpc.zookeeper.config_znodes import CHANGE_EXPIRATION_MS, ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)


async def purge_config_changes(configs: ConfigStore, now_ms: Callable[[], int]) -> None:
    """Once all brokers have had time to read the announcements."""
    while True:
        await asyncio.sleep(CHANGE_EXPIRATION_MS / 1000)
        try:
            await configs.purge_changes(now_ms())
        except ZkError as error:
            log.info("old config change announcements stay for now: %s", error)
