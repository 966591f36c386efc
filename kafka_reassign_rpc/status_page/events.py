"""`/api/v1/events`: the newest events of all running servers.

Each server records its own decisions. While somebody looks, this server reads its own log and asks the other registered
servers for theirs, and keeps the newest `KEPT` events.
"""

import asyncio
import heapq
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from kafka_reassign_rpc.core.events.event_lines import Event, LogClock, are_one_line, as_one, is_about, read_line
from kafka_reassign_rpc.core.status.documents import Events, SilentServer
from kafka_reassign_rpc.status_page.requests import EventsRequest
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.turns import Pace

log = logging.getLogger(__name__)

KEPT = 10_000
"""Events of all servers together."""
PAGE_BYTES = 262_144
MOST_PAGES = 20
"""Read of one log at a time."""
EVERY_S = 2.0
"""Logs are not read more often."""
SILENT_S = 15.0
"""A server that did not answer is asked again after this time."""
ANSWER_S = 3.0
FROM_NOW_ON = -1

Recorded = tuple[int, Event]
"""An event, and when it was recorded as far as its log shows: ms since 1970."""
_WHO = ("principal", "who", "requested_by")


class LogPage(NamedTuple):
    """Events as JSON, in the order of their numbers, and the number of the next one."""

    events: Sequence[str | msgspec.Raw]
    next_seq: int


class EventReader(Protocol):
    async def page(self, first: int, max_bytes: int) -> LogPage:
        """Events from number `first` on; below 0: none, only the number of the next. Raises EventsUnknown."""


class EventsUnknown(Exception): ...


Readers = Callable[[], Awaitable[Mapping[int, EventReader] | Mapping[None, EventReader]]]
"""The readers of all running servers, by server. None: this process, which is no server."""


class _Log:
    def __init__(self, most: int) -> None:
        self.events: deque[Recorded] = deque(maxlen=most)
        self.clock = LogClock()
        self.next_seq = -1
        self.why: str | None = None
        self.ask_at = 0.0


class EventFeed:
    """`newest` reads the logs first, unless that was done a moment ago."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._logs: dict[int | None, _Log] = {}
        self._read_at = -EVERY_S
        self._turn = asyncio.Lock()

    async def newest(self, wanted: EventsRequest, at: int) -> Events:
        await self._read(at)
        newest_first = [list(one.events)[::-1] for one in self._logs.values()]
        merged = heapq.merge(*newest_first, key=_time, reverse=True)
        found: list[list[Event]] = []
        pace = Pace()
        for recorded, event in merged:
            await pace.rest()
            if max(recorded, event["at"]) < wanted.since or not _is_wanted(event, wanted):
                continue
            if wanted.is_folded and found and are_one_line(found[-1][0], event):
                found[-1].append(event)
            elif len(found) == wanted.limit:
                break
            else:
                found.append([event])
        missing = [SilentServer(server, one.why) for server, one in self._logs.items() if one.why is not None]
        return Events(at, [as_one(group) for group in found], missing)

    async def _read(self, at: int) -> None:
        async with self._turn:
            now = asyncio.get_running_loop().time()
            if now - self._read_at < EVERY_S:
                return
            readers = await self._readers()
            for gone in self._logs.keys() - readers.keys():
                del self._logs[gone]
            most = KEPT // max(1, len(readers))
            await asyncio.gather(*(self._read_log(server, reader, most, now, at) for server, reader in readers.items()))
            self._read_at = asyncio.get_running_loop().time()

    async def _read_log(self, server: int | None, reader: EventReader, most: int, now: float, at: int) -> None:
        known = self._logs.get(server)
        if known is None or known.events.maxlen != most:
            known = self._logs[server] = _Log(most)
        if now < known.ask_at:
            return
        try:
            async with asyncio.timeout(ANSWER_S):
                await _take_new(known, reader, most, at)
        except (EventsUnknown, OSError, TimeoutError) as error:
            known.why = error_text(error) if isinstance(error, OSError) and str(error) else str(error) or "no answer"
            known.ask_at = now + SILENT_S
        except Exception:
            log.exception("a defect: the status page lacks the events of server %s for now", server)
            known.why, known.ask_at = "a defect: see the log of the server that you ask", now + SILENT_S
        else:
            known.why = None


async def _take_new(known: _Log, reader: EventReader, most: int, at: int) -> None:
    """The newest `most` events at the most. `at`: now, ms since 1970."""
    end = (await reader.page(FROM_NOW_ON, 0)).next_seq
    if end < known.next_seq:  # another log: that of a server that was set up again
        known.events.clear()
        known.clock = LogClock()
        known.next_seq = -1
    first = max(known.next_seq, end - most, 0)
    pace = Pace()
    for _ in range(MOST_PAGES):
        if first >= end:
            break
        page = await reader.page(first, PAGE_BYTES)
        for text in page.events:
            event = _decoded(text)
            if event is not None:
                recorded = known.clock.recorded_at(event["at"], at)
                known.events.append((at if recorded is None else recorded, event))
            await pace.rest()
        if page.next_seq <= first:
            break
        first = page.next_seq
        known.next_seq = first
    known.next_seq = max(first, known.next_seq)


def _decoded(text: str | msgspec.Raw) -> Event | None:
    """The server may have another version. None where it is no event."""
    try:
        event = read_line(text)
    except (msgspec.DecodeError, UnicodeError):
        return None
    return event if isinstance(event.get("at"), int) and isinstance(event.get("event"), str) else None


def _time(recorded: Recorded) -> tuple[int, int]:
    at, event = recorded
    return at, event["at"]


def _is_wanted(event: Event, wanted: EventsRequest) -> bool:
    return (
        (wanted.topic is None or wanted.topic in str(event.get("topic", "")))
        and (wanted.broker is None or is_about(event, wanted.broker))
        and (wanted.principal is None or any(wanted.principal in str(event.get(name, "")) for name in _WHO))
    )
