"""`/api/v1/stream`: the status as server-sent events, for all viewers at once.

Nothing is computed while no page is open. Else one document is made every `EVERY_S`, and encoded once: in full, and as
the fields that have changed, for viewers that have the one before. Nothing waits in line for a slow viewer: it gets the
latest when it can take it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import msgspec

from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.support.tasks import end

log = logging.getLogger(__name__)

EVERY_S = 2.0
MOST_VIEWERS = 20
STREAM_S = 45.0
"""How long one stream goes on: browsers come back by themselves after `RETRY_MS`."""
RETRY_MS = 1_000


class StatusStream:
    def __init__(self, make: Callable[[], Status], every_s: float = EVERY_S) -> None:
        self._make = make
        self._every_s = every_s
        self._viewers = 0
        self._ticker: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._number = 0
        self._shown: dict[str, object] = {}
        self._full = self._changes = b""

    def watch(self) -> AsyncIterator[bytes] | None:
        """None where there are `MOST_VIEWERS`."""
        return None if self._viewers >= MOST_VIEWERS else self._watch()

    async def close(self) -> None:
        if self._ticker is not None:
            await end(self._ticker)

    async def _watch(self) -> AsyncIterator[bytes]:
        self._viewers += 1
        try:
            if self._viewers == 1:  # no page was open for a while
                self._refresh()
            if self._ticker is None or self._ticker.done():
                self._ticker = asyncio.create_task(self._tick(), name="status-stream")
            until = asyncio.get_running_loop().time() + STREAM_S
            seen = self._number
            yield b"retry: %d\n\n" % RETRY_MS + self._full
            while asyncio.get_running_loop().time() < until:
                async with self._news:
                    while self._number == seen:
                        await self._news.wait()
                news = self._changes if self._number == seen + 1 else self._full
                seen = self._number
                yield news
        finally:
            self._viewers -= 1

    async def _tick(self) -> None:
        while self._viewers:
            await asyncio.sleep(self._every_s)
            try:
                self._refresh()
            except Exception:  # the next look may succeed
                log.exception("the status cannot be shown, and stays as it was until the next try")
                continue
            async with self._news:
                self._news.notify_all()

    def _refresh(self) -> None:
        status = self._make()
        fields = {name: getattr(status, name) for name in Status.__struct_fields__}
        changed = {name: value for name, value in fields.items() if self._shown.get(name, ...) != value}
        self._shown = fields
        self._number += 1
        self._full = _event("status", fields)
        self._changes = _event("changes", changed)


def _event(name: str, fields: dict[str, object]) -> bytes:
    """JSON has no line ends, so one line of data has all of it."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(fields))
