"""Keeps the last status in which the moves were known, for the time in which they are not."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.core.status.last_status import newer

log = logging.getLogger(__name__)

EVERY_S = 5.0


class StatusKeeper:
    """status: the status of this server, in full. ask: that of the controller; None where it does not answer."""

    def __init__(self, status: Callable[[], Status], ask: Callable[[], Awaitable[Status | None]]) -> None:
        self._status = status
        self._ask = ask
        self.last: Status | None = None

    async def keep(self) -> None:
        while True:
            try:
                await self.refresh()
            except Exception:  # the next look may succeed
                log.exception("a defect: the last known state on the status page is older than it could be")
            await asyncio.sleep(EVERY_S)

    async def refresh(self) -> None:
        status = self._status()
        self.last = newer(self.last, await self._ask() if status.role == "standby" else status)
