"""Asks brokers how full their disks are, while somebody looks: an answer has all replicas of a broker."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from kafka_reassign_rpc.controller.duties.progress_sampling import Sample
from kafka_reassign_rpc.core.status.views import BrokerDisk

INTERVAL_S = 15.0
REPLICAS_PER_S = 2_000
"""With more replicas brokers are asked less often, so that their answers take about 1 % of the processor."""


class DiskSurvey:
    """disks  of the brokers that have answered. A silent one keeps its last answer, with its time"""

    def __init__(self, ask: Callable[[], Awaitable[Sample]], now_ms: Callable[[], int]) -> None:
        self._ask = ask
        self._now_ms = now_ms
        self._wanted = asyncio.Event()
        self.disks: Mapping[int, BrokerDisk] = {}

    def viewed(self) -> None:
        self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            found, at = await self._ask(), self._now_ms()
            self.disks = {**self.disks, **described_disks(found, at)}
            await asyncio.sleep(max(INTERVAL_S, len(found.sizes) / REPLICAS_PER_S))


def described_disks(found: Sample, at: int) -> dict[int, BrokerDisk]:
    """`at`: ms since 1970."""
    return {
        broker: BrokerDisk(at, found.held.get(broker, 0), disk.capacity, disk.free, disk.failed)
        for broker, disk in found.disks.items()
    }
