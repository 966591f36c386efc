"""Makes the controller decide again when a window of `reassignment.windows` begins or ends."""

import asyncio
from collections.abc import Callable

from kafka_reassign_rpc.controller.commands.queue_commands import TimePassed
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController

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
