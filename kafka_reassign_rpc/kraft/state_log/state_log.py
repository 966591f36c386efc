"""One server's side of the state log: it claims a term, commits, and says that it lives; or it follows, and waits."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple, Self

import msgspec

from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable
from kafka_reassign_rpc.client.client_settings import ClientSettings
from kafka_reassign_rpc.client.request_routing import RequestRouter, connect, in_thread_if_many
from kafka_reassign_rpc.kraft.state_log import TOPIC, log_topic
from kafka_reassign_rpc.kraft.state_log.leader_calls import (
    NOT_READ,
    Fetch,
    LeaderCalls,
    RecordsDeleted,
    fetch,
    read_to_end,
)
from kafka_reassign_rpc.kraft.state_log.log_errors import Fenced, LogRefused, LogUnavailable
from kafka_reassign_rpc.kraft.state_log.log_format import LONGEST_NAME, Kind
from kafka_reassign_rpc.kraft.state_log.log_reading import (
    BEATS,
    LEAD_S,
    LogReading,
    LogRecord,
    Read,
    SilenceDetector,
    Term,
    TermReading,
)
from kafka_reassign_rpc.kraft.state_log.log_writer import LogWriter
from kafka_reassign_rpc.kraft.state_log.record_batches import BATCH_BYTES
from kafka_reassign_rpc.support.backoff import Backoff

log = logging.getLogger(__name__)

RENEW_S = 24 * 3600.0
"""Kafka forgets a transactional id that is not initialised for seven days (transactional.id.expiration.ms)."""
SNAPSHOT_BYTES = 4 << 20
CLAIM_S = 30.0
ANSWER_MS = 6_000
"""More than `leader_calls.ACKS_MS`."""
MOST_ANSWER_BYTES = 64 << 20
_ATTEMPTS = 5
_NOT_LEADING = "this server does not lead: it has not claimed the state log, or its last commit is in doubt"


class _Open(NamedTuple):
    """A fetch that waits keeps its connection, so reading has its own ones."""

    routers: tuple[RequestRouter, RequestRouter]
    writes: LeaderCalls
    reads: LeaderCalls
    room: int


class StateLog:
    """An async context manager; `open` and `close` are the same in two calls. All calls may raise LogError.

    settings  where the cluster is, TLS and login
    topic     also the name of the transactional id
    server    the name of this server in its claims
    rank      a server with a higher one waits a little longer before it claims
    """

    def __init__(
        self, settings: ClientSettings, *, topic: str = TOPIC, server: str = "", lead_s: float = LEAD_S, rank: int = 0
    ) -> None:
        configs = msgspec.structs.replace(
            settings.configs, request_timeout_ms=ANSWER_MS, receive_message_max_bytes=MOST_ANSWER_BYTES
        )
        self._settings = settings._replace(configs=configs)
        self._topic = topic
        self.server = server
        self.page = ""
        """The address of its status page, for its claims."""
        self._lead_s = lead_s
        self._detector = SilenceDetector(lead_s, rank)
        self._opened: _Open | None = None
        self._turn = asyncio.Lock()
        self._writer: LogWriter | None = None
        """None: nothing may be written before the next claim."""
        self._known: TermReading | None = None
        """What `follow` has read."""
        self._size = 0
        """Bytes since the last snapshot."""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self, *, to_read: bool = False) -> None:
        """Finds the topic, or creates it; `to_read`: raises LogRefused where there is none, and changes nothing."""
        routers: list[RequestRouter] = []
        try:
            routers = [await connect(self._settings) for _ in range(2)]
            writes, reads = routers
            if to_read:
                topic = await log_topic.found(writes, self._topic)
            else:
                topic = await log_topic.found_or_created(writes, self._topic)
        except BaseException as error:
            for router in routers:
                await router.close()
            if isinstance(error, Unreachable):
                raise LogUnavailable(error.message) from error
            if isinstance(error, Unauthenticated):
                raise LogRefused(error.message) from error
            raise
        leader_for_writes = LeaderCalls(writes, self._topic, topic.id)
        self._opened = _Open((writes, reads), leader_for_writes, LeaderCalls(reads, self._topic, topic.id), topic.room)

    async def close(self) -> None:
        self._writer = None
        opened, self._opened = self._opened, None
        if opened is not None:
            for router in opened.routers:
                await router.close()

    def _is_open(self) -> _Open:
        if self._opened is None:
            raise LogUnavailable("the state log is not open")
        return self._opened

    @property
    def in_the_way(self) -> str:
        """What keeps this server from leading or following for now; "": nothing."""
        return "" if self._opened is None else self._opened.writes.in_the_way or self._opened.reads.in_the_way

    @property
    def acknowledged_at(self) -> float:
        """When the last acknowledged batch was sent, by the event loop's clock: for `lead_s` from then on nobody else
        leads. -inf: this server does not lead.
        """
        return float("-inf") if self._writer is None else self._writer.acknowledged_at

    @property
    def snapshot_is_due(self) -> bool:
        """What was written since the last one is much to read for the next leader."""
        return self._size > SNAPSHOT_BYTES

    # Reading

    async def follow(self) -> AsyncIterator[LogRecord]:
        """All records that count, from the first one that is there, and then each as it comes. A snapshot replaces all
        that came before it.
        """
        async for some in self.read():
            for one in some:
                if isinstance(one, LogRecord):
                    yield one

    async def read(self, *, to_end: bool = False) -> AsyncGenerator[list[Read], None]:
        """What each Fetch brings, with what does not count. `to_end`: ends where the log ends now."""
        calls, loop, wait_ms = self._is_open().reads, asyncio.get_running_loop(), round(self._lead_s / 6 * 1000)
        backoff, reading, trouble, end, quiet_since = Backoff(0.1, 1.0), None, "", -1, loop.time()
        while not to_end or end < 0 or reading is None or reading.terms.position < end:
            try:
                if reading is None:
                    reading, end = LogReading(await calls.first_offset()), await calls.end_offset()
                found = await fetch(calls, reading.terms, 0 if to_end else wait_ms)
                if not to_end and not found.batches:  # of an empty log, all is known
                    self._known = reading.terms.copy()
            except RecordsDeleted as deleted:
                reading = LogReading(deleted.first)
                continue
            except (Unreachable, Unauthenticated, LogUnavailable) as error:
                if to_end:
                    raise LogUnavailable(str(error)) from error
                self._detector.failed()
                calls.look_again()
                calls.not_now(NOT_READ, error)
                if str(error) != trouble:
                    trouble = str(error)
                    log.warning("%s, and nobody is replaced meanwhile: %s", NOT_READ, trouble)
                await backoff.sleep()
                continue
            backoff.reset()
            trouble, calls.in_the_way, heard = "", "", False
            quiet_since = self._look_if_quiet(calls, found, quiet_since)
            for batch in found.batches:
                read = await in_thread_if_many(batch.size, partial(reading.take, batch))
                heard = heard or (batch.producer_id, batch.producer_epoch) == (reading.terms.term or ())[:2]
                if not to_end:
                    self._known = reading.terms.copy()
                    self._size = reading.size if self._writer is None else self._size
                if read:
                    yield read
                await asyncio.sleep(0)
            if not to_end:
                self._detector.fetched(loop.time(), heard=heard)
            if found.throttle_s:
                await asyncio.sleep(found.throttle_s)

    def _look_if_quiet(self, calls: LeaderCalls, found: Fetch, since: float) -> float:
        """A leader of the topic that was replaced and does not know it answers, too, and has nothing new. Returns since
        when there was nothing new, and no look.
        """
        now = asyncio.get_running_loop().time()
        if not found.batches and now - since <= self._lead_s / 2:
            return since
        if not found.batches:
            calls.look_again()
        return now

    async def end(self) -> int:
        """The offset behind the last durable record."""
        calls = self._is_open().reads
        try:
            return await calls.end_offset()
        except (Unreachable, Unauthenticated) as error:
            raise LogUnavailable(error.message) from error

    async def silence(self) -> None:
        """Returns once nobody leads: claim then. It needs `follow` beside it."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = self._detector.due_in_s(loop.time())
            if due_s > 0:
                await asyncio.sleep(min(due_s, self._lead_s / 40))
            elif await self._has_read_all():
                return
            else:
                self._detector.failed()

    async def _has_read_all(self) -> bool:
        """A follower that is cut off from the leader answers fetches, too."""
        opened = self._is_open()
        opened.writes.look_again()
        try:
            end = await opened.writes.end_offset()
        except (Unreachable, Unauthenticated, LogUnavailable) as error:
            log.debug("nobody is replaced, since the leader of the topic does not answer: %s", error)
            return False
        if self._known is not None and self._known.position >= end:
            return True
        opened.reads.look_again()
        return False

    # Writing

    async def claim(self) -> Term:
        """Begins a term: from now on the leader before can commit nothing, and what it has committed lies before
        `claim_offset`. Raises Fenced if another claim came later.
        """
        opened = self._is_open()
        async with self._turn:
            self._writer = None
            try:
                async with asyncio.timeout(CLAIM_S):
                    return await self._claim(opened)
            except Fenced:
                self._ends(opened)
                raise
            except TimeoutError:
                raise LogUnavailable(f"the cluster takes no claim within {CLAIM_S:g} s") from None

    async def _claim(self, opened: _Open) -> Term:
        backoff = Backoff(0.1, 1.0)
        for _ in range(_ATTEMPTS):
            reading: TermReading | None = None
            while reading is None:
                try:
                    reading = await read_to_end(opened.writes, None if self._known is None else self._known.copy())
                except (Unreachable, Unauthenticated, LogUnavailable) as error:
                    log.debug("no claim yet: %s", error)
                    opened.writes.not_now(NOT_READ, error)
                    opened.writes.look_again()
                    await backoff.sleep()
            writer = LogWriter(
                opened.writes, opened.room, self.server[:LONGEST_NAME], reading, self.page[:LONGEST_NAME]
            )
            term = await writer.claim()
            if term is not None:
                self._writer = writer
                return term
        raise Fenced("other servers claim the state log at the same time, again and again")

    async def commit(self, payloads: Sequence[bytes]) -> int:
        """Few large payloads cost less than many small ones.

        Returns the offset of its first record once it is durable; it is repeated until then. Raises Fenced, LogLost;
        ValueError for more than a commit may have. A commit that fails or is cancelled is in doubt, and ends the term.
        """
        return await self._write(Kind.COMMIT, payloads)

    async def snapshot(self, payloads: Sequence[bytes]) -> None:
        """`payloads` stand for all that was committed; what came before is deleted. Raises as `commit`."""
        offset = await self._write(Kind.SNAPSHOT, payloads)
        self._size = sum(map(len, payloads))
        try:
            await self._is_open().writes.delete_before(offset)
        except (Unreachable, LogUnavailable, LogRefused) as error:
            log.warning("records of the state log that a snapshot has replaced stay until the next one: %s", error)

    async def keep(self, over: asyncio.Event | None = None) -> None:
        """Says that this server leads, until it is cancelled, or between two records once it is `over`: a record that
        is cancelled is in doubt. Raises Fenced, LogLost."""
        loop, over = asyncio.get_running_loop(), over or asyncio.Event()
        while not over.is_set():
            due_s = self.acknowledged_at + self._lead_s / BEATS - loop.time()
            if due_s > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), due_s)
                continue
            async with self._leading() as writer:
                if loop.time() - writer.renewed_at > RENEW_S and await writer.renew_within(self._lead_s / BEATS):
                    continue
                await writer.write(Kind.HEARTBEAT, [b""])
                self._size += BATCH_BYTES

    async def _write(self, kind: Kind, payloads: Sequence[bytes]) -> int:
        async with self._leading() as writer:
            offset = await writer.write(kind, payloads)
            self._size += sum(map(len, payloads))
            return offset

    @asynccontextmanager
    async def _leading(self) -> AsyncIterator[LogWriter]:
        async with self._turn:
            writer = self._writer
            if writer is None:
                raise Fenced(_NOT_LEADING)
            try:
                yield writer
            except ValueError:  # nothing was sent
                raise
            except BaseException:
                self._ends(self._is_open())
                raise

    def _ends(self, opened: _Open) -> None:
        """What was in the way of this term is in nobody's way any more."""
        self._writer, opened.writes.in_the_way = None, ""
