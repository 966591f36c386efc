"""Counts partitions that are under-replicated or offline, for the status document and the metrics."""

import asyncio

from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.status.views import HEALTHY, PartitionHealth
from kafka_reassign_rpc.support.turns import Pace

INTERVAL_S = 5.0
SOON_S = 1.0
"""How soon it counts again while a partition is unhealthy: what has come back is not shown as lost."""
JOINING_S = 0.5


async def count_partitions(loop: ControllerLoop, health: PartitionHealth) -> None:
    """After the first time it counts only topics that have changed."""
    await _brokers_joined(loop)
    while True:
        await Pace().through(health.update(loop.cluster))
        await asyncio.sleep(INTERVAL_S if health.now == HEALTHY else SOON_S)


async def _brokers_joined(loop: ControllerLoop) -> None:
    """A cluster without any broker is one that starts: what is offline is not known before its brokers are there.
    Without a topic nothing is.
    """
    if loop.cluster.brokers or not loop.cluster.topics:
        return
    before = None
    while not before or before != loop.cluster.brokers.keys():
        before = set(loop.cluster.brokers)
        await asyncio.sleep(JOINING_S)
