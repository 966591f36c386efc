"""One receiver of notifications: it is sent what waits, after longer and longer pauses, until it has taken it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig, WebhookSession, origin
from kafka_reassign_rpc.core.events.notifications import Notice, Outbox, Sender
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.human_units import duration
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
