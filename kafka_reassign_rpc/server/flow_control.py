"""Whether a connection is read, and what it holds of the bytes that all connections share. It is paused only when bytes
arrive that it does not want yet: most clients wait for their answers."""

import asyncio
from typing import Protocol

from kafka_reassign_rpc.server.connection_states import Pause


class Budgets(Protocol):
    def charge(self, difference: int) -> bool: ...

    def starve(self, reader: "Reader") -> None: ...

    def unread(self, owner: "Reader", size: int) -> None: ...


class Reader(Protocol):
    def fed(self) -> None:
        """There is room for request bytes again."""


class FlowControl:
    """reasons   why the connection is not read
    level     whether nothing is held and nothing paused: then `update` has nothing to do
    """

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._transport: asyncio.Transport | None = None
        self._held = 0
        self._unread = 0
        self.reasons: set[Pause] = set()
        self.paused = False
        self.level = True

    def begin(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def end(self, owner: Reader) -> None:
        self._transport = None
        self._hold(0)
        self._keep_unread(owner, 0)

    def sate(self) -> bool:
        """Much was read in this turn. If it returns True, call `hungry` in the next turn."""
        new = Pause.SATED not in self.reasons
        self.reasons.add(Pause.SATED)
        self.level = False
        return new

    def hungry(self) -> None:
        self.reasons.discard(Pause.SATED)

    def feed(self) -> None:
        self.reasons.discard(Pause.STARVED)

    def update(self, owner: Reader, requests: int, unread: int, *, clogged: bool, behind: bool, idle: bool) -> bool:
        """Updates what is held, and pauses or resumes. Returns whether reading was resumed.

        requests   bytes of requests without an answer
        unread     bytes of answers that the peer has yet to take; `clogged`: there are such answers
        behind     whether bytes wait for the request in work
        idle       whether nothing is in work: what is in work is not starved
        """
        self._keep_unread(owner, unread)
        held = requests + unread
        if held != self._held and self._hold(held) and held and idle:
            self.reasons.add(Pause.STARVED)
            self._budgets.starve(owner)
        self._mark(Pause.UNREAD, on=clogged)
        self._mark(Pause.BEHIND, on=behind)
        resumed = self._apply()
        self.level = not (held or self.paused or self.reasons)
        return resumed

    def _mark(self, reason: Pause, *, on: bool) -> None:
        if on:
            self.reasons.add(reason)
        else:
            self.reasons.discard(reason)

    def _apply(self) -> bool:
        transport, wanted = self._transport, bool(self.reasons)
        if transport is None or wanted == self.paused or (self.paused and transport.is_closing()):
            return False
        self.paused = wanted
        if wanted:
            transport.pause_reading()
        else:
            transport.resume_reading()
        return not wanted

    def _hold(self, held: int) -> bool:
        difference, self._held = held - self._held, held
        return self._budgets.charge(difference)

    def _keep_unread(self, owner: Reader, size: int) -> None:
        if size != self._unread:
            self._unread = size
            self._budgets.unread(owner, size)
