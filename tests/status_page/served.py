"""The status page over real sockets, of a server that is made of values: for clusters that would take long to make."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from kafka_reassign_rpc.core.reassignment.move_sums import FigureHistory
from kafka_reassign_rpc.core.status.views import ServerView
from kafka_reassign_rpc.server.http_server import HttpServer
from kafka_reassign_rpc.status_page.events import EventReader, LogPage
from kafka_reassign_rpc.status_page.keepers import FigureKeeper
from kafka_reassign_rpc.status_page.status_api import StatusApi


class KeptEvents:
    """An event log in memory, an `events.EventReader`."""

    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        self._events = [json.dumps(one) for one in events]

    async def page(self, first: int, max_bytes: int) -> LogPage:
        found = self._events[first:] if first >= 0 else []
        return LogPage(found, len(self._events))


@asynccontextmanager
async def served(
    look: Callable[[], ServerView], events: Sequence[Mapping[str, Any]] = ()
) -> AsyncIterator[tuple[str, FigureHistory]]:
    """The address of the page, and the figures that it plots."""

    async def readers() -> Mapping[int, EventReader]:
        return {1000: KeptEvents(events)}

    history = FigureHistory()
    api = StatusApi(look, readers, FigureKeeper(lambda: look().term, history), "1.0", full=True)
    server = HttpServer("127.0.0.1", 0, api.pages)
    await server.start()
    host, port = server.address
    try:
        yield f"http://{host}:{port}/", history
    finally:
        await api.close()
        await server.close()
