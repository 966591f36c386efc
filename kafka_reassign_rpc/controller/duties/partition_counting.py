"""Counts partitions that are under-replicated or offline, for the metrics."""

import asyncio

from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.partition_health import PartitionHealth
from kafka_reassign_rpc.support.slice_timer import SliceTimer

INTERVAL_S = 5.0


async def count_partitions(loop: ControllerLoop, health: PartitionHealth) -> None:
    """Until cancelled. After the first time only topics that have changed are counted."""
    while True:
        await SliceTimer().through(health.update(loop.cluster))
        await asyncio.sleep(INTERVAL_S)
