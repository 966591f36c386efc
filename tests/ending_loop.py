"""The event loop of a test: it ends after its connections.

A server that asyncio has made hears of the end of a connection after its client. A test whose loop ends in between
leaves a transport that nobody closes: a warning, and so a failure, of whichever test collects the garbage. What a test
leaves open for good is such a warning still.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

WAITS_S = 5.0
"""For connections that are closing. Only a test that leaves one open waits so long."""
LOOK_AGAIN_S = 0.001


class EndingLoop(asyncio.SelectorEventLoop):
    _transports: Mapping[int, Any]
    """The sockets' transports, by descriptor: asyncio's own list."""

    async def shutdown_asyncgens(self) -> None:
        """`asyncio.Runner` and pytest-asyncio call it once all tasks are cancelled, before they close the loop."""
        await super().shutdown_asyncgens()
        deadline = time.monotonic() + WAITS_S
        while self.has_connections() and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_AGAIN_S)

    def has_connections(self) -> bool:
        return any(transport._sock is not None for transport in list(self._transports.values()))
