"""Records events: in the event log, on standard error, and in the metrics.

A decision's event is written a few milliseconds after its answer, in the order of the decisions: a process that is
killed in between loses its last events. A full disk loses events, and stops nothing else. Refusals beyond a rate are
only counted, in the metrics and in an event of their own.

The event log and standard error take some refusals a second: any client can cause as many as it likes. Each address
may have a number at once, and some more each second; so may all together. Refusals of znodes, which only a client with
rights in ZooKeeper can cause, have their own.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.api import ports
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog, EventLogPage, EventsLost
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.events.event_lines import line_of
from kafka_reassign_rpc.core.events.notifications import WebhookCounts
from kafka_reassign_rpc.core.kafka_errors import KafkaStorageError
from kafka_reassign_rpc.status_page.events import EventsUnknown, LogPage
from kafka_reassign_rpc.support.bounded_text import shortened
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.human_units import duration, size
from kafka_reassign_rpc.support.turns import Pace


class Allowed(NamedTuple):
    """How many refusals at once, and how many more each second."""

    at_once: int
    per_second: float


OF_AN_ADDRESS = Allowed(100, 5)
OF_ALL_ADDRESSES = Allowed(500, 25)
OF_ZNODES = Allowed(1_000, 25)

REPORT_MS = 10_000
"""After how long an event says how many refusals were left out."""
NAMED = 5
"""How many addresses this event names."""
COUNTED = 100
"""For how many addresses the left out refusals are counted one by one."""
KEPT = 2_000
"""How many addresses are remembered before idle ones are forgotten."""


class _Bucket:
    def __init__(self, allowed: Allowed, now: int) -> None:
        self._allowed = allowed
        self._left = float(allowed.at_once)
        self._now = now

    def left(self, now: int) -> float:
        """A clock that goes back adds none."""
        more = max(0, now - self._now) / 1000 * self._allowed.per_second
        self._left = min(self._allowed.at_once, self._left + more)
        self._now = now
        return self._left

    def take(self) -> None:
        self._left -= 1

    def is_full(self, now: int) -> bool:
        return self.left(now) >= self._allowed.at_once


class RefusalLimit:
    def __init__(self) -> None:
        self._all = _Bucket(OF_ALL_ADDRESSES, 0)
        self._znodes = _Bucket(OF_ZNODES, 0)
        self._addresses: dict[str, _Bucket] = {}
        self._left_out: Counter[str] = Counter()

    def admits(self, event: Event, now: int) -> bool:
        """`now` is in ms since 1970."""
        address = event.address
        if address is None:
            admitted = self._takes(now, self._znodes)
        else:
            own = self._addresses.get(address) or _Bucket(OF_AN_ADDRESS, now)
            admitted = self._takes(now, own, self._all)
            if admitted:
                self._remember(address, own, now)
        if not admitted:
            name = "ZooKeeper" if address is None else address
            known = name in self._left_out or len(self._left_out) < COUNTED
            self._left_out[name if known else ""] += event.count or 1
        return admitted

    def left_out(self) -> Event | None:
        if not self._left_out:
            return None
        count = self._left_out.total()
        named = [(name, number) for name, number in self._left_out.most_common(NAMED + 1) if name][:NAMED]
        self._left_out.clear()
        parts = [f"{number} from {name}" for name, number in named]
        others = count - sum(number for _, number in named)
        if others:
            parts.append(f"{others} from others")
        return Event(catalogue.REFUSALS_LEFT_OUT, reason=", ".join(parts), count=count)

    @staticmethod
    def _takes(now: int, *buckets: _Bucket) -> bool:
        if any(bucket.left(now) < 1 for bucket in buckets):
            return False
        for bucket in buckets:
            bucket.take()
        return True

    def _remember(self, address: str, own: _Bucket, now: int) -> None:
        self._addresses[address] = own
        if len(self._addresses) > KEPT:
            self._addresses = {name: bucket for name, bucket in self._addresses.items() if not bucket.is_full(now)}


log = logging.getLogger(__name__)

ROUND, COMMIT = "round", "commit"
"""The measured durations: a round of the loop up to its answers, and its commit."""

LINES = 10
"""How many events of one name in a round go to standard error one by one; of the others only the number does."""

CHUNK = 262_144
"""Bytes that are written to the event log at once."""

READ_WAITS_S = 1.0
"""Seconds that a reader waits for events that were recorded before it came."""

LONGEST_NAME, LONGEST_REASON, MOST_IDS = 250, 1000, 100
"""Characters of a topic's name (Kafka allows 249) or another text, characters of a `reason`, and broker ids of a list,
in an event and its line: a request or a znode may name a topic of any length."""
LONGEST_WHO, LONGEST_WORD = 550, 280
"""Characters of `who`, which has a principal, a client id and an address, and of each of these, or of a route."""

_LEVELS = {name: logging.getLevelNamesMapping()[type_.level] for name, type_ in catalogue.EVENTS.items()}
_ENDS = (catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED)
_REFUSALS = frozenset(name for name, type_ in catalogue.EVENTS.items() if type_.refusal)


class EventCounter(Protocol):
    def event(self, event: Event, at: int) -> None:
        """`at`: ms."""

    def observe_duration(self, what: str, seconds: float) -> None: ...


class Notifier(Protocol):
    """Tells others of some events."""

    def wants(self, event: str) -> bool: ...

    def notify(self, line: bytes, text: str) -> None:
        """Takes a line of the event log, and the same for people. Returns at once."""

    @property
    def counts(self) -> Mapping[str, WebhookCounts]:
        """By receiver."""

    async def open(self, event_log: EventLog | None) -> None:
        """Begins, with what it has not sent yet of an open event log."""

    async def close(self) -> None:
        """Ends, a short time later at most."""


Record = Callable[[Iterable[Event]], None]
"""Takes events that have become durable. An iterator may make them while it is read."""

ObserveDuration = Callable[[str, float], None]
"""Takes a duration: ROUND or COMMIT, and the seconds."""


class EventRecorder:
    """`record` returns at once. The recorder reads the events later, slice by slice, so they must not change.

    event_log   None: events are not written
    lost        number of events that could not be written
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        event_log: EventLog | None = None,
        server: int | None = None,
        counter: EventCounter | None = None,
        notifier: Notifier | None = None,
    ) -> None:
        self.event_log = event_log
        self._notifier = notifier
        self.lost = 0
        self._now_ms = now_ms
        self._server = server
        self.counter = counter
        self._waiting: deque[tuple[int | None, int, Iterable[Event]]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "event-log")
        self._encoder = msgspec.json.Encoder()
        self._decisions, self._refusals = bytearray(), bytearray()
        self._seq = self._first = 0
        self._limit = RefusalLimit()
        self._report: asyncio.TimerHandle | None = None
        self._epoch: int | None = None
        self._failing = False

    async def open(self) -> None:
        """If the event log cannot be opened, logs a warning and goes on without it."""
        if self.event_log is not None:
            await self._open(self.event_log)
        if self._notifier is not None:
            await self._notifier.open(self.event_log)

    async def _open(self, event_log: EventLog) -> None:
        try:
            await self._in_thread(event_log.open)
        except OSError as error:
            another = isinstance(error, BlockingIOError)
            why = "another process writes there" if another else error_text(error)
            log.warning("no event log is kept in %s until the next start: %s", event_log.directory, why)
            await self._in_thread(event_log.close)
            self.event_log = None
        else:
            self._seq = self._first = event_log.next_seq

    async def close(self) -> None:
        while self._task is not None or self._report is not None:
            if self._task is not None:
                await self._task
            self._report_left_out()
        if self._notifier is not None:
            await self._notifier.close()
        if self.event_log is not None:
            await self._in_thread(self.event_log.close)
        self._thread.shutdown()

    @property
    def notified(self) -> Mapping[str, WebhookCounts]:
        return {} if self._notifier is None else self._notifier.counts

    def record(self, epoch: int | None, events: Iterable[Event]) -> None:
        self._waiting.append((epoch, self._now_ms(), events))
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name="recorder")

    async def written(self) -> None:
        """Waits until what was recorded before is in the event log, or lost to it (`lost`)."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def observe_duration(self, what: str, seconds: float) -> None:
        if self.counter is not None:
            self.counter.observe_duration(what, seconds)

    async def read(self, first: int, max_bytes: int) -> EventLogPage | None:
        """See EventLog.read; None if no log is kept. Raises OSError. A reader that has had an answer finds the events
        of that answer, unless the disk or a flood of events holds them up for longer than READ_WAITS_S.
        """
        if self.event_log is None:
            return None
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=READ_WAITS_S)
        return await asyncio.to_thread(self.event_log.read, first, max_bytes)

    async def _work(self) -> None:
        try:
            while self._waiting:
                epoch, at, events = self._waiting.popleft()
                try:
                    await self._take(epoch, at, events)
                except Exception:  # a defect in one event must not take the others with it
                    log.exception("a defect: events were lost; no decision depends on them")
                    self.lost += 1
                if not self._waiting:
                    await self._write()
        finally:
            self._task = None

    async def _take(self, epoch: int | None, at: int, events: Iterable[Event]) -> None:
        pace = Pace()
        seen: Counter[str] = Counter()
        for full in events:
            event = _bounded(full)
            if self.counter is not None:
                self.counter.event(event, at)
            if self._admits(epoch, at, event):
                seen[event.event] += 1
                if seen[event.event] <= LINES:
                    log.log(level(event), "%s", line(event, at))
                is_notified = self._notifier is not None and self._notifier.wants(event.event)
                if self.event_log is not None or is_notified:
                    encoded = self._encode(epoch, at, event)
                    if self._notifier is not None and is_notified:
                        self._notifier.notify(encoded, line(event, at))
                    if len(self._decisions) + len(self._refusals) > CHUNK:
                        await self._write()
            await pace.rest()
        for name, number in seen.items():
            if number > LINES:
                log.info("%s: %d more, which are in the event log and the counters only", name, number - LINES)

    def _admits(self, epoch: int | None, at: int, event: Event) -> bool:
        """Every decision, and refusals up to a rate. The others are reported later."""
        if event.event not in _REFUSALS or event.event == catalogue.REFUSALS_LEFT_OUT:
            return True
        if self._limit.admits(event, at):
            return True
        self._epoch = epoch
        if self._report is None:
            self._report = asyncio.get_running_loop().call_later(REPORT_MS / 1000, self._report_left_out)
        return False

    def _report_left_out(self) -> None:
        if self._report is not None:
            self._report.cancel()
            self._report = None
        event = self._limit.left_out()
        if event is not None:
            self.record(self._epoch, [event])

    def _encode(self, epoch: int | None, at: int, event: Event) -> bytes:
        """Numbers an event. Returns its line, which is written later if there is an event log."""
        try:
            encoded = self._encoder.encode(event)
        except UnicodeEncodeError:
            encoded = self._encoder.encode(_with_whole_characters(event))
        encoded = line_of((self._seq, at), self._server, epoch, encoded)
        self._seq += 1
        if self.event_log is not None:
            chunk = self._refusals if event.event in _REFUSALS else self._decisions
            chunk += encoded
            chunk += b"\n"
        return encoded

    async def _write(self) -> None:
        if self.event_log is None or self._first == self._seq:
            return
        decisions, refusals, first = bytes(self._decisions), bytes(self._refusals), self._first
        self._decisions.clear()
        self._refusals.clear()
        self._first = self._seq
        try:
            await self._in_thread(self.event_log.append, decisions, refusals, first, self._seq)
        except EventsLost as error:
            self.lost += error.count
            if not self._failing:
                log.warning(
                    "events are lost until %s takes them again; decisions go on: %s", self.event_log.directory, error
                )
            self._failing = True
        else:
            if self._failing:
                log.warning("%s takes events again; %d were lost", self.event_log.directory, self.lost)
            self._failing = False

    async def _in_thread(self, call: Callable[..., None], *arguments: object) -> None:
        of_this_cluster = copy_context()
        await asyncio.get_running_loop().run_in_executor(self._thread, of_this_cluster.run, call, *arguments)


def _bounded(event: Event) -> Event:
    changes: dict[str, object] = {}
    for name, limit in _TEXTS.items():
        text = getattr(event, name)
        if text is not None and len(text) > limit:
            changes[name] = shortened(text, limit)
    for name in _ID_LISTS:
        ids = getattr(event, name)
        if ids is not None and len(ids) > MOST_IDS:
            changes[name] = ids[:MOST_IDS]
    return replace(event, **changes) if changes else event


_TEXTS = {
    "topic": LONGEST_NAME,
    "who": LONGEST_WHO,
    "requested_by": LONGEST_WHO,
    "reason": LONGEST_REASON,
    **dict.fromkeys(("route", "principal", "client_id", "address", "listener", "mechanism"), LONGEST_WORD),
}
_ID_LISTS = ("target", "original", "replicas")


def _with_whole_characters(event: Event) -> Event:
    """JSON may have halves of characters, UTF-8 may not: they become escapes."""
    texts = {name: text for name in _TEXTS if (text := getattr(event, name)) is not None}
    return replace(event, **{name: text.encode(errors="backslashreplace").decode() for name, text in texts.items()})


def level(event: Event) -> int:
    """From the catalogue. A controller that was stopped resigns without a reason: no operator has to act on that."""
    if event.event == catalogue.CONTROLLER_RESIGNED and event.reason is None:
        return logging.INFO
    return _LEVELS[event.event]


def line(event: Event, at: int) -> str:
    """For people: `move.completed orders-3: to [4, 5, 6], 150.0 MB in 19 s; drain of broker 1 (controller)`. `at`:
    ms."""
    text = event.event
    if event.topic is not None:
        text += f" {event.topic}" if event.partition is None else f" {event.topic}-{event.partition}"
    if event.broker is not None:
        text += f" broker {event.broker}"
    details = ", ".join(_details(event, at))
    said = "; ".join(part for part in (details, event.reason) if part)
    if said:
        text += f": {said}"
    if event.who:
        former = f"; {event.requested_by} had asked for the move" if event.requested_by else ""
        text += f" ({event.who}{former})"
    return text if text.isprintable() else ascii(text)[1:-1]  # a topic's name in a znode may have any characters


def _details(event: Event, at: int) -> Iterator[str]:
    if event.target is not None:
        yield f"to {list(event.target)}"
    if event.started is not None and event.event in _ENDS:
        copied = "" if event.copied is None else f"{size(event.copied)} "
        took = duration(max(0, at - event.started) / 1000)
        yield f"after {took}" if event.event == catalogue.MOVE_CANCELLED else f"{copied}in {took}"
    if event.bytes is not None:
        yield f"{size(event.bytes)}/s"
    if event.event == catalogue.MOVES_DONE:
        yield counted(event.count or 0, "move", "have") + " ended"


class RecordedEvents:
    """An `EventReader`."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    async def page(self, first: int, max_bytes: int) -> LogPage:
        found = await self._recorder.read(first, max_bytes)
        if found is None:
            raise EventsUnknown("it keeps no event log (event.log.dir)")
        return LogPage([one.decode() for one in found.events], found.next_seq)


async def recorded_events(recorder: EventRecorder, first: int, max_bytes: int) -> ports.RecordedEvents | None:
    """As `api.ports.Node.events`. Raises KafkaStorageError."""
    try:
        read = await recorder.read(first, max_bytes)
    except OSError as error:
        raise KafkaStorageError(f"The event log cannot be read: {error}") from error
    if read is None:
        return None
    events = [one.decode() for one in read.events]
    return ports.RecordedEvents(events, read.next_seq, read.oldest_seq, read.complete_seq)
