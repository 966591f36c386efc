"""Once in a term, when replicas have had the time to catch up: leaders learn again which replicas they have, where a
live one is still out of sync (`isr_changes.replicas_sent_again`)."""

import asyncio
import logging

from kafka_reassign_rpc.controller.commands.leadership_commands import TellLaggingAgain
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.support.counted import counted

log = logging.getLogger(__name__)

AFTER_S = 30.0
"""Kafka's default of replica.lag.time.max.ms: what lags for longer is out of sync."""


async def tell_lagging_again(loop: ControllerLoop) -> None:
    await asyncio.sleep(AFTER_S)
    try:
        found = await loop.submit(TellLaggingAgain())
    except NotController:
        return
    except KafkaError as error:
        log.warning("a replica that was added in ZooKeeper may stay out of sync until the next election: %s", error)
        return
    if found:
        log.info(
            "%s had a live replica out of sync: leaders are sent their replicas again, with the next leader epoch",
            counted(found, "partition"),
        )
