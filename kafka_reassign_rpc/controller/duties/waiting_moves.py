"""Has waiting moves decided again, in the queue and in `/admin/reassign_partitions`, once there may be room."""

import asyncio
from collections.abc import Iterator

from kafka_reassign_rpc.controller.commands.queue_commands import StartQueuedMoves
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import ProcessBatchAndQueue
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.queue import in_flight_caps
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges


class WaitingMoves:
    """Submits one command at a time, which may leave some moves for the next."""

    def __init__(self, loop: ControllerLoop) -> None:
        self._loop = loop
        self._due = asyncio.Event()
        self._batch_length = 0

    def may_start(self) -> None:
        self._due.set()

    def round_replayed(self, applied: ReplayedChanges) -> Iterator[None]:
        """Checks whether a round has made room. Yields after each item."""
        cluster = self._loop.cluster
        batch = cluster.batch
        if batch is not None and batch.lacks_room and len(batch.entries) < self._batch_length:
            self._loop.submit(ProcessBatchAndQueue())  # the znode has room for original replicas of other entries again
        self._batch_length = 0 if batch is None else len(batch.entries)
        if cluster.queue.waiting.more:
            self.may_start()
        elif cluster.queue or (batch is not None and batch.waiting):
            for _, _, before, after in applied.partitions:
                if before is not None and in_flight_caps.makes_room(before, after):
                    self.may_start()
                    break
                yield

    async def run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            batch = self._loop.cluster.batch
            command = StartQueuedMoves() if batch is None or not batch.waiting else ProcessBatchAndQueue()
            try:
                await self._loop.submit(command)
            except NotController:
                return
            except KafkaError:  # the loop has logged it; the next round that makes room tries again
                continue
            if self._loop.cluster.queue.waiting.more:
                self._due.set()
