"""The controller moves leadership away before a broker stops (KafkaServer.controlledShutdown)."""

import asyncio
import logging
from collections.abc import Callable

from kafka_reassign_rpc.fleet.controller_connection import ControllerConnection
from kafka_reassign_rpc.protocol.messages import ControlledShutdownRequest
from kafka_reassign_rpc.support.counted import counted

log = logging.getLogger(__name__)

TRIES = 3
"""controlled.shutdown.max.retries"""
BETWEEN_S = 0.5
"""Shorter than controlled.shutdown.retry.backoff.ms (5 s): an election on simulated brokers takes no time."""
TIMEOUT_S = 5.0
"""For the whole shutdown: without a controller a broker must still stop."""


async def controlled_shutdown(link: ControllerConnection, epochs: Callable[[], tuple[int, int]]) -> bool:
    """False: leadership is not all moved away, and the broker stops all the same."""

    def build(version: int) -> ControlledShutdownRequest:
        broker_id, broker_epoch = epochs()
        return ControlledShutdownRequest(version=version, broker_id=broker_id, broker_epoch=broker_epoch)

    try:
        async with asyncio.timeout(TIMEOUT_S):
            for _ in range(TRIES):
                answer = await link.call(ControlledShutdownRequest, build, tries=TRIES)
                if answer.error_code == 0 and not answer.remaining_partitions:
                    return True
                log.info(
                    "broker %d goes on until others lead its %s: error %d, the controller is asked again",
                    epochs()[0],
                    counted(len(answer.remaining_partitions), "partition"),
                    answer.error_code,
                )
                await asyncio.sleep(BETWEEN_S)
    except TimeoutError:
        log.warning(
            "broker %d: no controller answered its controlled shutdown, so it stops while it may still lead partitions",
            epochs()[0],
        )
    return False
