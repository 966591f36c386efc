"""Appends batches as the producer of a term, until they are durable.

The partition's leader fences an older epoch (INVALID_PRODUCER_EPOCH). Beyond that, offsets tell: who leads writes
alone, so a batch that does not directly follow the last one shows another writer, and what lies between is read before
anything counts as acknowledged.
"""

import asyncio
import logging
import random
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, name_of
from kafka_reassign_rpc.client.request_routing import in_thread_if_many
from kafka_reassign_rpc.kraft.state_log import log_topic
from kafka_reassign_rpc.kraft.state_log.leader_calls import (
    NOT_LEADER,
    TAKES_NO_RECORD,
    WAIT,
    Fetch,
    LeaderCalls,
    RecordsDeleted,
    fetch,
)
from kafka_reassign_rpc.kraft.state_log.log_errors import Fenced, LogLost, LogUnavailable
from kafka_reassign_rpc.kraft.state_log.log_format import Claim, Kind, SnapshotHead, cut
from kafka_reassign_rpc.kraft.state_log.log_reading import DAMAGED, Term, TermReading
from kafka_reassign_rpc.kraft.state_log.record_batches import Record, encode_batch, next_sequence
from kafka_reassign_rpc.protocol.messages import InitProducerIdRequest
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.wall_clock import now_ms

log = logging.getLogger(__name__)

ANOTHER = "another server has claimed the state log: this one leads no more"
_TRANSACTION_MS = 10_000
"""There are no transactions: any value that brokers take."""
_DUPLICATE = 46
_FORGOTTEN = frozenset({45, 59})
"""OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID."""
_FENCED = frozenset({47, 90})
_SLOW_S = 5.0
_RENEWED_AGAIN_S = 60.0
_SILENT_THROTTLE_S = 1.0


class _Producer(NamedTuple):
    id: int
    epoch: int


class _Forgotten(Exception):
    """The partition's leader does not know this producer's last batches, and the batch is not in the log by now.
    `first`: the offset of its commit, -1 if nothing of that is there. `is_last` of the commit.
    """

    def __init__(self, producer: _Producer, sequence: int, first: int, *, is_last: bool) -> None:
        super().__init__()
        self.producer = producer
        self.sequence = sequence
        self.first = first
        self.is_last = is_last


class LogWriter:
    """The producer of one term and of its renewals; its calls come one after the other. `reading` is behind its last
    acknowledged batch. Once a call has failed or was cancelled, the writer is of no use: its last batch is in doubt.
    """

    def __init__(self, calls: LeaderCalls, room: int, server: str, reading: TermReading, page: str = "") -> None:
        self._calls = calls
        self._room = room
        self._server = server
        self._page = page
        self._reading = reading
        self._producer = _Producer(-1, -1)
        self._sequence = 0
        self._free_at = 0.0
        """Until then a quota lets nothing be written."""
        self.acknowledged_at = float("-inf")
        """When the last acknowledged batch was first sent, by the event loop's clock."""
        self.renewed_at = float("-inf")
        self._sent_at = float("-inf")

    async def claim(self) -> Term | None:
        """None: another claim came between. Raises Fenced, LogLost, LogRefused."""
        term = self._reading.term
        try:
            await self._begin(await self._next_epoch(), -1 if term is None else term.claim_offset)
        except _Forgotten:
            return None
        term = self._reading.term
        if term is None or term[:2] != self._producer:
            return None
        self.acknowledged_at = self._sent_at
        return term

    async def renew_within(self, seconds: float) -> bool:
        """The same server goes on under a new epoch: Kafka would forget its transactional id, and with it the fence.
        False: no new epoch in this time; it is tried again in a while. Raises as `claim`.
        """
        try:
            async with asyncio.timeout(seconds):
                producer = await self._next_epoch()
        except TimeoutError:
            self.renewed_at += _RENEWED_AGAIN_S
            log.warning("no new epoch for the state log within %.1f s: it is asked for again later", seconds)
            return False
        await self._renew(producer)
        return True

    async def _renew(self, producer: _Producer, watched: _Forgotten | None = None) -> int | None:
        """Returns the offset of the batch that was in doubt."""
        term = self._reading.term
        assert term is not None
        try:
            found = await self._begin(producer, term.claim_offset, watched)
        except _Forgotten:
            raise LogUnavailable("the leader of the state log does not take a new epoch") from None
        self._check_term()
        self.acknowledged_at = self._sent_at
        return found

    async def _next_epoch(self) -> _Producer:
        """It raises the epoch. Raises Fenced, LogRefused."""
        request = InitProducerIdRequest(
            transactional_id=self._calls.topic,
            transaction_timeout_ms=_TRANSACTION_MS,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
        )
        router, backoff, asked = self._calls.router, Backoff(0.02, 0.5), None
        while True:
            try:
                error, broker = await log_topic.coordinator(router, self._calls.topic, asked)
                if not error:
                    answer = await router.ask_node_once(broker, lambda _: request, InitProducerIdRequest)
                    error = answer.error_code
                if error:
                    self._calls.not_now(TAKES_NO_RECORD, name_of(error))
            except (Unreachable, LogUnavailable) as why:
                log.debug("no epoch yet: %s", why)
                self._calls.not_now(TAKES_NO_RECORD, why)
                error = next(iter(WAIT))
            if error in _FENCED:
                raise Fenced(ANOTHER)
            if not error:
                break
            if error not in WAIT:
                raise self._calls.trouble(error)
            # One that is cut off from the others names a former coordinator for ever.
            asked = random.choice(router.nodes) if router.nodes else None  # noqa: S311 (no secret)
            await backoff.sleep()
        return _Producer(answer.producer_id, answer.producer_epoch)

    async def _begin(self, producer: _Producer, previous: int, watched: _Forgotten | None = None) -> int | None:
        self._producer, self._sequence = producer, 0
        self.renewed_at = asyncio.get_running_loop().time()
        claim = msgspec.json.encode(Claim(self._server, previous, self._page))
        ((record,),) = cut(Kind.CLAIM, [claim], self._room)
        offset = await self._send([record], first=-1, is_last=True)
        return await self._read_to(offset + 1, watched)

    def _check_term(self) -> None:
        term = self._reading.term
        if term is None or term[:2] != self._producer:
            raise Fenced(ANOTHER)

    async def write(self, kind: Kind, payloads: Sequence[bytes]) -> int:
        """Returns the offset of the first record. Raises Fenced, LogLost, LogRefused; ValueError: too large."""
        while True:
            try:
                return await self._write(kind, payloads)
            except _Forgotten as forgotten:
                log.warning("the leader of %s has forgotten this server's epoch, which is raised", self._calls.topic)
                found = await self._renew(await self._next_epoch(), forgotten)
                if found is not None and forgotten.is_last:
                    return found if forgotten.first < 0 else forgotten.first

    async def _write(self, kind: Kind, payloads: Sequence[bytes]) -> int:
        if kind is Kind.SNAPSHOT:
            term = self._reading.term
            assert term is not None
            payloads = [msgspec.json.encode(SnapshotHead(term.claim_offset)), *payloads]
        batches = await in_thread_if_many(sum(map(len, payloads)) >> 10, partial(cut, kind, payloads, self._room))
        first = -1
        for number, records in enumerate(batches):
            offset = await self._send(records, first=first, is_last=number == len(batches) - 1)
            await self._acknowledge(offset, len(records))
            first = offset if first < 0 else first
        return first

    async def _acknowledge(self, offset: int, count: int) -> None:
        """Raises LogLost; Fenced if a claim lies between this batch and the one before."""
        position = self._reading.position
        if offset < position:
            raise LogLost(
                f"the state log took a record at offset {offset}, where another one was acknowledged; {DAMAGED}"
            )
        if offset == position:
            self._reading.pass_over(count)
        else:
            await self._read_to(offset + count)
            self._check_term()
        self.acknowledged_at = self._sent_at

    async def _send(self, records: Sequence[Record], *, first: int, is_last: bool) -> int:
        """One batch, repeated with its sequence until the answer says that it is durable. Returns its offset."""
        sequence, loop, backoff = self._sequence, asyncio.get_running_loop(), Backoff(0.02, 0.5)
        encode = partial(encode_batch, records, *self._producer, sequence, now_ms())
        batch = await in_thread_if_many(len(records), encode)
        await asyncio.sleep(max(0.0, self._free_at - loop.time()))
        sent_at, troubles = loop.time(), ""
        while True:
            try:
                answer = await self._calls.produce(batch)
                self._wait_for_quota(answer.throttle_s)
                offset = await self._offset(answer.error, answer.base_offset, answer.message, sequence)
                if offset is not None:
                    break
                trouble = name_of(answer.error)
                self._calls.not_now(TAKES_NO_RECORD, trouble)
            except _Forgotten:
                raise _Forgotten(self._producer, sequence, first, is_last=is_last) from None
            except (Unreachable, Unauthenticated, LogUnavailable) as error:
                self._calls.look_again()
                self._calls.not_now(TAKES_NO_RECORD, error)
                trouble = str(error)
            if trouble != troubles and loop.time() - sent_at > _SLOW_S:
                troubles = trouble
                log.warning("%s for now, and nothing is begun meanwhile: %s", TAKES_NO_RECORD, trouble)
            await backoff.sleep()
            await asyncio.sleep(max(0.0, self._free_at - loop.time()))
        self._calls.in_the_way = ""
        self._sequence = next_sequence(sequence, len(records))
        self._sent_at = sent_at
        return offset

    async def _offset(self, error: int, base_offset: int, message: str | None, sequence: int) -> int | None:
        """None: send it again."""
        if not error and base_offset >= 0:
            return base_offset
        if error in (0, _DUPLICATE):
            return await self._find(sequence)
        if error in _FENCED:
            raise Fenced(ANOTHER)
        if error in _FORGOTTEN:
            found = await self._find(sequence)
            if found is None:
                raise _Forgotten(self._producer, sequence, -1, is_last=True)
            return found
        if error in NOT_LEADER | WAIT:  # a leader that is cut off from the others says for ever: not now
            self._calls.look_again()
            return None
        raise self._calls.trouble(error, message)

    def _wait_for_quota(self, throttle_s: float) -> None:
        if throttle_s <= 0:
            return
        self._free_at = asyncio.get_running_loop().time() + throttle_s
        if throttle_s > _SILENT_THROTTLE_S:
            log.warning("a quota of the cluster lets this server write nothing to the state log for %.1f s", throttle_s)

    async def _find(self, sequence: int) -> int | None:
        """The offset of this producer's batch, if it is durable."""
        reading, wanted, found = self._reading.copy(), (*self._producer, sequence), None
        end = await self._calls.end_offset()
        while reading.position < end:
            for batch in (await self._fetched(reading)).batches:
                if batch.base_offset >= self._reading.position and batch[5:8] == wanted:
                    found = batch.base_offset
                reading.take(batch)
        if found is None and reading.term is not None and reading.term[:2] != self._producer:
            raise Fenced(ANOTHER)
        return found

    async def _read_to(self, end: int, watched: _Forgotten | None = None) -> int | None:
        """Returns the offset of the batch that is watched for."""
        found = None
        while self._reading.position < end:
            for batch in (await self._fetched(self._reading)).batches:
                if self._reading.position < end:
                    if watched is not None and batch[5:8] == (*watched.producer, watched.sequence):
                        found = batch.base_offset
                    self._reading.take(batch)
        return found

    async def _fetched(self, reading: TermReading) -> Fetch:
        backoff = Backoff(0.02, 0.5)
        while True:
            try:
                return await fetch(self._calls, reading, 0)
            except RecordsDeleted:
                raise Fenced(ANOTHER) from None  # only who leads writes a snapshot
            except (Unreachable, Unauthenticated, LogUnavailable) as error:
                log.debug("the state log is read again: %s", error)
                self._calls.look_again()
                await backoff.sleep()
