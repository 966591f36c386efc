"""A server that does not lead: it replays the state log as others write it, knows who leads, and claims the log once
nobody does."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Self

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.kraft import round_records
from kafka_reassign_rpc.kraft.round_records import BadRound, Intents, RoundRecord
from kafka_reassign_rpc.kraft.state_log.log_errors import Fenced, LogRefused, LogUnavailable
from kafka_reassign_rpc.kraft.state_log.log_format import BadRecord, Claim, Kind, decode_document
from kafka_reassign_rpc.kraft.state_log.log_reading import LogRecord, Term
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.host_port import Address, BadAddress, host_port
from kafka_reassign_rpc.support.turns import Pace


class ServerName(NamedTuple):
    """`1000@host:9092`: its id, and where clients reach it."""

    id: int
    at: Address

    def __str__(self) -> str:
        return f"{self.id}@{self.at}"

    @classmethod
    def of(cls, text: str) -> Self | None:
        """None: it is no name of a server."""
        number, _, place = text.partition("@")
        server = whole_number(number, 0, INT32)
        try:
            return None if server is None else cls(server, host_port(place))
        except BadAddress:
            return None


log = logging.getLogger(__name__)

SMALL = 100_000
"""Bytes of a round that is decoded at once, in a millisecond."""


class Leader(NamedTuple):
    """Who leads: its name in its claim, and the address of its status page; "" if none is known."""

    name: str = ""
    page: str = ""


NO_LEADER = Leader()


class Standby:
    """leader  that is known
    intents replayed up to what was read last
    """

    def __init__(self, state_log: StateLog) -> None:
        self._log = state_log
        self.leader = NO_LEADER
        self.intents = Intents()
        self.heard_at = float("-inf")
        """When a server was heard to lead, by the event loop's clock."""
        self.beats = 0
        """How often it was heard since, while this server followed."""
        self._claim: int | None = None
        """The offset of the last one."""
        self._read = asyncio.Event()
        self.on_leader: Callable[[], None] = lambda: None
        """Called when a server is heard to lead."""

    async def claimed(self) -> Term:
        """Returns once this server leads, with `intents` up to its claim. Raises LogLost, LogRefused."""
        following = asyncio.create_task(self._follow(), name="following")
        try:
            while True:
                await _first(self._log.silence(), following)
                try:
                    term = await self._log.claim()
                except (Fenced, LogUnavailable) as error:
                    log.info("another claim came first, or the cluster takes none: %s", error)
                    continue
                await _first(self._has_read(term), following)
                if self._claim == term.claim_offset:
                    return term
        finally:
            following.cancel()
            await asyncio.wait([following])

    async def _has_read(self, term: Term) -> None:
        while self._claim is None or self._claim < term.claim_offset:
            self._read.clear()
            await self._read.wait()

    async def _follow(self) -> None:
        self.intents, self._claim, self.beats = Intents(), None, 0
        begun = await self._end()
        async for record in self._log.follow():
            if record.kind is Kind.CLAIM:
                self.leader, self._claim, self.beats = claimant(record), record.offset, 0
                self._read.set()
            elif record.kind is Kind.HEARTBEAT and record.offset >= begun:
                self.beats += 1
                self.heard_at = asyncio.get_running_loop().time()
                self.on_leader()
            else:
                self.intents, leader = await after(self.intents, record)
                self.leader = leader or self.leader

    async def _end(self) -> int:
        backoff = Backoff(0.1, 1.0)
        while True:
            try:
                return await self._log.end()
            except LogUnavailable as error:
                log.debug("the state log cannot be read yet: %s", error)
                await backoff.sleep()


async def after(intents: Intents, record: LogRecord) -> tuple[Intents, Leader | None]:
    """The intents with this record, and the server that leads by a snapshot: None if it is none. Raises LogRefused."""
    leader, pace = None, Pace()
    if record.kind is Kind.SNAPSHOT:
        intents = Intents()
    for payload in record.payloads if record.kind in (Kind.SNAPSHOT, Kind.COMMIT) else ():
        round_ = await _decoded(payload)
        leader = Leader(round_.server, round_.page) if round_.server else leader
        for _ in intents.apply(round_, record.offset):
            await pace.rest()
    return intents, leader


def claimant(record: LogRecord) -> Leader:
    """Who claims by this record."""
    try:
        found = decode_document(record.payloads[0], Claim)
    except BadRecord:
        return NO_LEADER
    assert isinstance(found, Claim)
    return Leader(found.server, found.page)


async def _first(work: Coroutine[Any, Any, None], following: asyncio.Task[None]) -> None:
    """Raises what either raises; `following` has no other end."""
    working = asyncio.create_task(work)
    try:
        await asyncio.wait([working, following], return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
        else:
            working.result()
    finally:
        working.cancel()


async def _decoded(payload: bytes) -> RoundRecord:
    try:
        if len(payload) <= SMALL:
            return round_records.decode(payload)
        return await asyncio.to_thread(round_records.decode, payload)
    except BadRound as error:
        raise LogRefused(f"the state log has what this release cannot read: {error}") from error
