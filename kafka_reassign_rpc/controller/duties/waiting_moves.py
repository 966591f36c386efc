"""Has waiting moves decided again, in the queue and in `/admin/reassign_partitions`, once there may be room, and when a
window of `reassignment.windows` begins or ends.
"""

import asyncio
from collections.abc import Callable, Iterator

from kafka_reassign_rpc.controller.commands.queue_commands import StartQueuedMoves, TimePassed
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


LONGEST_WAIT_S = 60.0
"""The clock of a host may jump."""


class WindowChanges:
    """`changed` is called when another window holds."""

    def __init__(self, loop: ControllerLoop, now_ms: Callable[[], int], changed: Callable[[], None]) -> None:
        self._loop = loop
        self._changed = changed
        self._now_ms = now_ms
        self._due = asyncio.Event()

    def settings_changed(self) -> None:
        self._due.set()

    async def run(self) -> None:
        while True:
            is_due = self._due.is_set()
            self._due.clear()
            before = self._loop.cluster.soft.window
            if is_due or before is not None or self._loop.cluster.soft.in_force.windows:
                try:
                    await self._loop.submit(TimePassed(self._now_ms()))
                except NotController:
                    return
                except KafkaError:  # the loop has logged it; the next minute tries again
                    pass
            window = self._loop.cluster.soft.window
            if window != before:
                self._changed()
            wait_s = LONGEST_WAIT_S
            if window is not None and window.until is not None:
                wait_s = min(wait_s, max(0.1, (window.until - self._now_ms()) / 1000))
            try:
                async with asyncio.timeout(wait_s):
                    await self._due.wait()
            except TimeoutError:
                continue
