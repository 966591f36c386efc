"""Where everything that was decided goes: to whoever reads the log on standard error."""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator

from kafka_reassign_rpc.controller.pace import Pace
from kafka_reassign_rpc.core.history import SLICE, Event

log = logging.getLogger(__name__)

LINES = 10
"""Events of a name that one round shows one by one; the log says how many more there were."""

WARNINGS = frozenset(
    (
        "batch.cancelled",
        "broker.lost",
        "entry.refused",
        "entry.kept",
        "entry.rolled-back",
        "entry.waiting",
        "guard.closed",
        "move.stalled",
    )
)
"""Events that an operator may have to do something about."""

Record = Callable[[Iterable[Event]], None]
"""Takes what has become durable. The events may be made while they are read, in slices."""


class Recorder:
    """Records events in the order in which they come, beside the work that they come from.

    `record` returns at once; what it was given is read later, a slice at a time, so it must not change any more.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Iterable[Event]]] = deque()
        self._task: asyncio.Task[None] | None = None

    def record(self, epoch: int, events: Iterable[Event]) -> None:
        """Events under that controller epoch."""
        self._waiting.append((epoch, events))
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name="recorder")

    async def close(self) -> None:
        """Wait until all is recorded."""
        if self._task is not None:
            await self._task

    async def _work(self) -> None:
        try:
            while self._waiting:
                _, events = self._waiting.popleft()
                await Pace().through(self._show(events))
        finally:
            self._task = None

    @staticmethod
    def _show(events: Iterable[Event]) -> Iterator[None]:
        counts: Counter[str] = Counter()
        for count, event in enumerate(events, 1):
            counts[event.event] += 1
            if counts[event.event] <= LINES:
                log.log(level(event), "%s", line(event))
            if count % SLICE == 0:
                yield
        for name, count in counts.items():
            if count > LINES:
                log.info("%s: %d more", name, count - LINES)


def level(event: Event) -> int:
    """A controller that stops because it was told to gives no reason."""
    resigned = event.event == "controller.resigned" and event.reason is not None
    return logging.WARNING if resigned or event.event in WARNINGS else logging.INFO


def line(event: Event) -> str:
    """An event for people to read: `move.started orders-3: to [4, 5, 6] (User:alice as admin-1 from 10.0.0.7)`."""
    text = event.event
    if event.topic is not None:
        text += f" {event.topic}" if event.partition is None else f" {event.topic}-{event.partition}"
    if event.broker is not None:
        text += f" broker {event.broker}"
    said = [event.reason] if event.reason else []
    if event.target is not None:
        said.append(f"to {list(event.target)}")
    if said:
        text += f": {' '.join(said)}"
    if event.who:
        text += f" ({event.who})"
    return text if text.isprintable() else ascii(text)[1:-1]  # a topic's name in a znode may be anything
