"""The state log as the store wants it, once this server has claimed it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from kafka_reassign_rpc.controller.store import ControllerMoved
from kafka_reassign_rpc.kraft import round_records
from kafka_reassign_rpc.kraft.round_records import RoundRecord
from kafka_reassign_rpc.kraft.state_log.log_errors import LogError
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.wall_clock import now_ms

T = TypeVar("T")


class ClaimedLog:
    """An `IntentLog`. `server`: its name in claims. `trouble`: why it can be used no more."""

    def __init__(self, log: StateLog, server: str, lead_s: float) -> None:
        self._log = log
        self._server = server
        self._lead_s = lead_s
        self.trouble: LogError | None = None

    @property
    def lease_left(self) -> float:
        """Seconds for which no other server leads: only in these is the cluster told anything."""
        return self._log.acknowledged_at + self._lead_s - asyncio.get_running_loop().time()

    @property
    def snapshot_is_due(self) -> bool:
        return self._log.snapshot_is_due

    async def commit(self, payloads: Sequence[bytes]) -> int:
        return await self._moved(self._log.commit(payloads))

    async def keep(self) -> None:
        await self._moved(self._log.keep())

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Says that this server leads while the block runs; commits go on behind it. Raises ControllerMoved."""
        over = asyncio.Event()
        keeping = asyncio.create_task(self._moved(self._log.keep(over)))
        try:
            yield
        except BaseException:
            await end(keeping)
            raise
        over.set()
        await keeping

    async def snapshot(self, payloads: Sequence[bytes]) -> None:
        who = round_records.encode(RoundRecord(at=now_ms(), server=self._server, page=self._log.page))
        await self._moved(self._log.snapshot([who, *payloads]))

    async def _moved(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except LogError as error:
            self.trouble = self.trouble or error
            raise ControllerMoved(str(error)) from error
