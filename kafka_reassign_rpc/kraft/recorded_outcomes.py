"""Outcomes of moves reach an event log although servers die: they are part of the round that ends a move, until a later
record of the state log says that they are in an event log. A server that takes over records those that are not.

It may record some a second time: each has the same `event`, `topic`, `partition` and `id` (that of the move) again.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.kraft.intents import Intents

PAUSE_S = 1.0
"""Between two records that say so."""


class RecordedOutcomes:
    """`written`: waits until all events are written that `record` has got. `acknowledge`: makes durable how many
    outcomes there are in event logs."""

    def __init__(
        self,
        intents: Intents,
        record: Record,
        written: Callable[[], Awaitable[None]],
        acknowledge: Callable[[int], Awaitable[None]],
    ) -> None:
        self._intents = intents
        self._record = record
        self._written = written
        self._acknowledge = acknowledge
        self._handed = intents.recorded
        self._more = asyncio.Event()

    def take_over(self) -> None:
        """What servers before may not have recorded. Before the first round."""
        if self._intents.outcomes:
            self._record(list(self._intents.outcomes))
        self.handed()

    def handed(self) -> None:
        """The events of all rounds up to now were handed to `record`."""
        self._handed = self._intents.recorded + len(self._intents.outcomes)
        self._more.set()

    async def run(self) -> None:
        """Until it is cancelled. Raises ControllerMoved."""
        while True:
            await self._more.wait()
            self._more.clear()
            if (handed := self._handed) > self._intents.recorded:
                await self._written()
                await self._acknowledge(handed)
                await asyncio.sleep(PAUSE_S)
