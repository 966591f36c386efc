"""Sends a broker's ISR proposals to the controller: one request in flight, with all proposals that are due."""

import asyncio
import logging
from collections.abc import Callable
from uuid import UUID

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.controller_connection import ControllerConnection
from kafka_reassign_rpc.fleet.isr_proposals import IsrProposal, IsrProposals, alter_partition, is_slow_retry
from kafka_reassign_rpc.protocol.messages import AlterPartitionRequest
from kafka_reassign_rpc.support.tasks import end

log = logging.getLogger(__name__)

PROPOSALS_PER_REQUEST = 1000
"""Building such a request takes well below 20 ms."""
RETRY_S = 0.05
"""Kafka's AlterPartitionManager.IsrChangePropagationConfig."""
SLOW_RETRY_S = 0.5


class AlterPartitionSender:
    """epochs() gives (broker id, broker epoch), late() the partitions with an ISR member that is late."""

    def __init__(
        self,
        keeper: IsrProposals,
        link: ControllerConnection,
        epochs: Callable[[], tuple[int, int]],
        lag_time_max_s: float,
        late: Callable[[float], list[TopicPartition]],
    ) -> None:
        self._keeper = keeper
        self._link = link
        self._epochs = epochs
        self._lag_time_max_s = lag_time_max_s
        self._late = late
        self._wake = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._send_all(), name="alter-partition"),
            asyncio.create_task(self._find_late(), name="isr-expiration"),
        ]
        self._later: set[asyncio.TimerHandle] = set()

    def wake(self) -> None:
        self._wake.set()

    async def close(self) -> None:
        for handle in self._later:
            handle.cancel()
        await end(*self._tasks)

    async def _find_late(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._lag_time_max_s / 2)
            for name in self._late(loop.time()):
                self._keeper.followers_changed(name)
            if self._keeper.is_due:
                self.wake()

    async def _send_all(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._keeper.is_due:
                proposals = self._keeper.take(PROPOSALS_PER_REQUEST, loop.time())
                if proposals:
                    await self._send(proposals)
                else:
                    await asyncio.sleep(0)

    async def _send(self, proposals: list[IsrProposal]) -> None:
        used_version = 0

        def build(version: int) -> AlterPartitionRequest:
            nonlocal used_version
            used_version = version
            return alter_partition(*self._epochs(), proposals, version)

        answer = await self._link.call(AlterPartitionRequest, build)
        if answer.error_code:
            # Mostly a stale broker epoch: the error ends once both sides know the new registration.
            log.info(
                "broker %d: AlterPartition refused, it is sent again: error %d", self._epochs()[0], answer.error_code
            )
            self._retry_later(proposals, RETRY_S)
            return
        left = {_key(proposal, used_version): proposal for proposal in proposals}
        for topic in answer.topics:
            for item in topic.partitions:
                named = topic.topic_id if used_version >= 2 else topic.topic_name
                proposal = left.pop((named, item.partition_index), None)
                if proposal is None:
                    continue
                isr = tuple(item.isr)
                if not self._keeper.resolve(proposal, item.error_code, isr, item.leader_epoch, item.partition_epoch):
                    self._retry_later([proposal], SLOW_RETRY_S if is_slow_retry(item.error_code) else RETRY_S)
        self._retry_later(list(left.values()), RETRY_S)

    def _retry_later(self, proposals: list[IsrProposal], delay_s: float) -> None:
        if not proposals:
            return

        def again() -> None:
            self._later.discard(handle)
            self._keeper.retry(proposals)
            self.wake()

        handle = asyncio.get_running_loop().call_later(delay_s, again)
        self._later.add(handle)


def _key(proposal: IsrProposal, version: int) -> tuple[UUID | str | None, int]:
    return (proposal.topic_id if version >= 2 else proposal.name.topic), proposal.name.partition
