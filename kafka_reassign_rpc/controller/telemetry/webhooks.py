"""Sends events to webhooks, at least once each: a task for each receiver, and a queue with bounds. A receiver is sent
what waits, after longer and longer pauses, until it has taken it. A server sends what it has recorded itself. With an
event log a restart sends what a receiver had not taken by then; repeats have the ids of the first time. Without one,
what waits at the end of the process is lost, and logged where the process could.
"""

import asyncio
import hashlib
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from kafka_reassign_rpc.controller.telemetry.event_log import POSITIONS, EventLog
from kafka_reassign_rpc.controller.telemetry.event_recorder import line as line_for_people
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig, WebhookSession, origin
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.events.event_lines import place_of
from kafka_reassign_rpc.core.events.notifications import Notice, Outbox, Sender, WebhookCounts, notice
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.files import read_bounded, write_file
from kafka_reassign_rpc.support.human_units import duration
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.support.wall_clock import now_ms

log = logging.getLogger(__name__)

GATHER_S = 0.2
"""How long an event waits for others: what happens together is sent together."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 300.0
"""Between two attempts."""


class Receiver:
    """`positions_changed` is called once events were taken or dropped."""

    def __init__(
        self,
        url: str,
        config: WebhookConfig,
        sender: Callable[[], Sender],
        positions_changed: Callable[[], Awaitable[None]],
    ) -> None:
        self.url = url
        self.origin = origin(url)
        self.outbox = Outbox()
        self._max_age_ms = config.max_age_ms
        self._sender = sender
        self._positions_changed = positions_changed
        self._wake = asyncio.Event()
        self._ending = asyncio.Event()
        self._why = ""
        """Why the last attempt has failed."""
        self._is_full = False

    def add(self, one: Notice) -> None:
        if self.outbox.add(one):
            self._wake.set()
        elif not self._is_full:
            self._is_full = True
            waiting = counted(len(self.outbox), "event", "wait")
            log.warning("%s gets no new events until it accepts some: %s for it", self.origin, waiting)

    def end(self) -> None:
        """What waits is tried once more. Then `run` returns."""
        self._ending.set()
        self._wake.set()

    async def run(self, session: WebhookSession) -> None:
        backoff = Backoff(FIRST_WAIT_S, LONGEST_WAIT_S)
        while not (self._ending.is_set() and not len(self.outbox)):
            if not len(self.outbox):
                self._wake.clear()
                await self._wake.wait()
                await self._pause(GATHER_S)
                continue
            if await self._send(session):
                backoff.reset()
            elif self._ending.is_set():
                return
            else:
                await self._pause(backoff.next_s())

    async def _pause(self, seconds: float) -> None:
        """Ends early where the process ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()

    async def _send(self, session: WebhookSession) -> bool:
        """One attempt. Whether to go on at once."""
        box = self.outbox
        old = box.drop_older(now_ms() - self._max_age_ms)
        if old:
            age = duration(self._max_age_ms / 1000)
            log.warning("%s did not get %s: it did not take them within %s", self.origin, counted(old, "event"), age)
            await self._positions_changed()
        notification = box.notification(self._sender())
        if notification is None:
            return True
        outcome = await session.post(self.url, notification)
        if not outcome.why:
            box.taken()
            self._works()
        else:
            box.failed += 1
            age = duration(self._max_age_ms / 1000)
            then = "what it refuses is dropped" if outcome.refused else f"events wait for it for up to {age}"
            self._fails(outcome.why, then)
            if not outcome.refused:
                return False
            box.refused()
        await self._positions_changed()
        return True

    def _works(self) -> None:
        if self._why or self._is_full:
            log.info("%s takes notifications again; %s wait for it", self.origin, counted(len(self.outbox), "event"))
        self._why, self._is_full = "", False

    def _fails(self, why: str, then: str) -> None:
        if why != self._why:
            log.warning("%s takes no notification: %s; %s", self.origin, why, then)
        self._why = why


CLOSE_S = 3.0
"""How long what waits at the end of the process has."""
PAGE_BYTES = 2**20
MOST_BYTES = 65_536
"""Of the file next to the event log that says up to which event each receiver was notified: a restart sends the rest.
It names receivers by a hash, since their URLs may hold secrets.
"""
_event_of = msgspec.json.Decoder(Event).decode


class Webhooks:
    """cluster_id   None: not known yet
    server       the id of this server; None: it is a watch
    name         of the cluster, where there are several
    """

    def __init__(
        self, config: WebhookConfig, cluster_id: Callable[[], str | None], server: int | None, name: str | None = None
    ) -> None:
        self._config = config
        self._server = server
        self._source = ""
        self._event_log: EventLog | None = None
        self._session: WebhookSession | None = None
        self._receivers = [
            Receiver(url, config, lambda: Sender(cluster_id(), server, name), self._keep_positions)
            for url in config.urls
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._keeping = asyncio.Lock()
        self._kept: Mapping[str, int] = {}
        self._cannot_keep = False

    def wants(self, event: str) -> bool:
        return event in self._config.kinds

    def notify(self, line: bytes, text: str) -> None:
        one = notice(line, text, self._source)
        for receiver in self._receivers:
            receiver.add(one)

    @property
    def counts(self) -> dict[str, WebhookCounts]:
        """By the receiver's origin; receivers of one origin together."""
        found: dict[str, WebhookCounts] = {}
        for one in self._receivers:
            before, box = found.get(one.origin, WebhookCounts()), one.outbox
            found[one.origin] = WebhookCounts(
                before.sent + box.sent, before.failed + box.failed, before.dropped + box.dropped
            )
        return found

    async def open(self, event_log: EventLog | None) -> None:
        self._source = _watch(event_log) if self._server is None else str(self._server)
        if event_log is not None:
            await self._take_up(event_log)
        self._event_log = event_log
        await self._keep_positions()
        self._session = session = WebhookSession(self._config)
        self._tasks = [asyncio.create_task(one.run(session), name="webhook") for one in self._receivers]

    async def close(self) -> None:
        for one in self._receivers:
            one.end()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)
        await end(*self._tasks)
        for one in self._receivers:
            if len(one.outbox):
                later = "the next start sends them" if self._event_log is not None else "no event log keeps them"
                log.warning("%s did not get %s: %s", one.origin, counted(len(one.outbox), "event"), later)
            elif self._event_log is not None:
                one.outbox.next_seq = self._event_log.next_seq
        await self._keep_positions()
        if self._session is not None:
            await self._session.close()

    async def _take_up(self, event_log: EventLog) -> None:
        """Queues what the event log has and a receiver did not get. A new receiver hears of what comes."""
        last = event_log.next_seq
        known: dict[str, int] = {}
        try:
            known = await asyncio.to_thread(_read_positions, event_log.directory, self._config.urls)
        except (OSError, ValueError) as error:
            log.warning(
                "webhooks get new events only: which of the former ones were sent is not known (%s)", error_text(error)
            )
        for one in self._receivers:
            one.outbox.next_seq = min(known.get(one.url, last), last)
        seq = min(one.outbox.next_seq for one in self._receivers)
        pace, since = Pace(), now_ms() - self._config.max_age_ms
        first, too_old = seq, 0
        while seq < last:
            try:
                page = await asyncio.to_thread(event_log.read, seq, PAGE_BYTES)
            except OSError as error:
                log.warning("webhooks do not get what was left of the last run: %s", error_text(error))
                return
            if seq == first < page.oldest_seq:
                log.warning("webhooks may lack some events: the event log has deleted the oldest")
            for line in page.events:
                await pace.rest()
                left = self._left(line)
                behind = [one for one in self._receivers if left is not None and left.seq >= one.outbox.next_seq]
                if left is None or not behind:
                    continue
                too_old += left.at < since
                for receiver in behind:
                    if left.at < since:
                        receiver.outbox.missed(1)
                    else:
                        receiver.add(left)
            if page.next_seq <= seq:
                break
            seq = page.next_seq
        if too_old:
            log.warning("webhooks do not get %s of the last run: too old", counted(too_old, "event"))

    def _left(self, line: bytes) -> Notice | None:
        line = line.rstrip(b"\n")
        with suppress(ValueError):  # a damaged line
            place = place_of(line)
            if place.event in self._config.kinds:
                return notice(line, line_for_people(_event_of(line), place.at), self._source)
        return None

    async def _keep_positions(self) -> None:
        """A disk that takes nothing costs repeats after the next start."""
        if self._event_log is None:
            return
        async with self._keeping:
            positions = {one.url: one.outbox.next_seq for one in self._receivers}
            if positions == self._kept:
                return
            try:
                await asyncio.to_thread(_write_positions, self._event_log.directory, positions)
            except OSError as error:
                if not self._cannot_keep:
                    log.warning("webhooks may get events again after the next start: %s", error_text(error))
                self._cannot_keep = True
            else:
                self._kept, self._cannot_keep = positions, False


def _watch(event_log: EventLog | None) -> str:
    """A name for a watch, which has no id: the same after a restart if its event log is."""
    if event_log is None:
        return f"watch-{secrets.token_hex(4)}"
    place = f"{socket.gethostname()}:{event_log.directory.absolute()}"
    return f"watch-{hashlib.sha256(place.encode(errors='replace')).hexdigest()[:8]}"


def _read_positions(directory: Path, urls: Iterable[str]) -> dict[str, int]:
    """The number of the first event that was not sent, by URL, as far as the file says it. Raises OSError, and
    ValueError for a file that is none."""
    try:
        data = read_bounded(directory / POSITIONS, MOST_BYTES)
    except FileNotFoundError:
        return {}
    found = msgspec.json.decode(data, type=dict[str, int])
    return {url: max(0, found[name]) for url in urls if (name := _hashed(url)) in found}


def _write_positions(directory: Path, positions: Mapping[str, int]) -> None:
    """Raises OSError."""
    write_file(directory / POSITIONS, [msgspec.json.encode({_hashed(url): seq for url, seq in positions.items()})])


def _hashed(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:16]
