"""Which records of the topic count, and when their leader has been silent for too long.

Every reader decides alike which count, by the order of the topic alone.

- A claim begins a term: of the same producer id with a higher epoch, of another one if it follows the claim that holds
  (`Claim.previous`). The broker mostly fences the writer before; where it has forgotten its epoch, this rule does it.
- Batches of any other term, and what strangers write, are left out.
- A commit counts when all of its records are there. A claim between them drops it.
- Offsets have no gaps. A log that does not begin at offset 0 begins with a whole snapshot.

A server takes over when the leader has written nothing for `lead_s`, although this server could have read it. Silence
counts only while own fetches succeed, one soon after the other: who is cut off, or was frozen itself, has seen nothing.
Servers wait a little longer by rank, so that two seldom claim at once; where they do, the later claim holds.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from kafka_reassign_rpc.kraft.state_log.log_errors import LogLost
from kafka_reassign_rpc.kraft.state_log.log_format import (
    MOST_BYTES,
    MOST_RECORDS,
    BadRecord,
    Claim,
    Key,
    Kind,
    SnapshotHead,
    decode_document,
    decode_key,
    is_too_large,
)
from kafka_reassign_rpc.kraft.state_log.record_batches import BadBatch, Batch, records

DAMAGED = "stop the servers, keep a copy of the topic, delete it and create it again: servers then begin an empty log"


class Term(NamedTuple):
    """The time of one leader. Later terms have higher offsets of their claims."""

    producer_id: int
    epoch: int
    claim_offset: int


class LogRecord(NamedTuple):
    """A whole commit, claim, heartbeat or snapshot. `offset`: of its first record; `next_offset`: behind its last one.
    `timestamp_ms`: when the broker appended it, ms since 1970. A snapshot replaces all that came before it.
    """

    offset: int
    next_offset: int
    term: Term
    timestamp_ms: int
    kind: Kind
    payloads: tuple[bytes, ...]


class LeftOut(NamedTuple):
    """A batch that does not count, or a commit that was never completed."""

    offset: int
    next_offset: int
    producer_id: int
    epoch: int
    timestamp_ms: int
    why: str


Read = LogRecord | LeftOut


@dataclass
class _Parts:
    """A commit of which more records are to come."""

    offset: int
    kind: Kind
    count: int
    payloads: list[bytes] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    number: int = 0
    size: int = 0


class Place(Enum):
    BEFORE = "it was read before"
    COUNTS = "of the term that holds"
    CLAIMS = "it begins a term"
    STALE = "of a term that is over"
    FOREIGN = "no record of this log"


class TermReading:
    """Which batches count, and nothing of what they say. `start` is the first offset of the topic."""

    def __init__(self, start: int = 0) -> None:
        self.start = self.position = start
        self.leader_epoch = -1
        """Of the last batch, -1 if it is not known."""
        self.term: Term | None = None

    def copy(self) -> "TermReading":
        made = TermReading(self.start)
        made.position, made.leader_epoch, made.term = self.position, self.leader_epoch, self.term
        return made

    def pass_over(self, count: int) -> None:
        """What the reader itself has written."""
        self.position, self.leader_epoch = self.position + count, -1

    def take(self, batch: Batch) -> Place:
        """Takes batches in their order. Raises LogLost; LogRefused for records of a later release."""
        if batch.last_offset < self.position:
            return Place.BEFORE
        if batch.base_offset > self.position:
            raise LogLost(
                f"the records of the state log from offset {self.position} to {batch.base_offset - 1} are missing:"
                f" something has deleted them (compaction, a lost disk); {DAMAGED}"
            )
        begun, self.position, self.leader_epoch = self.position, batch.last_offset + 1, batch.leader_epoch
        producer = (batch.producer_id, batch.producer_epoch)
        if self.term is None and self.start > 0:
            self.term = Term(*producer, self._claim_of_first(batch, begun))
        if self.term is not None and producer == self.term[:2]:
            return Place.COUNTS
        claim = _claim(batch)
        if claim is None:
            return Place.STALE if batch.is_plain and self.term is not None else Place.FOREIGN
        if self.term is not None:
            same = batch.producer_id == self.term.producer_id
            follows = batch.producer_epoch > self.term.epoch if same else claim.previous == self.term.claim_offset
            if not follows:
                return Place.STALE
        self.term = Term(*producer, batch.base_offset)
        return Place.CLAIMS

    def _claim_of_first(self, batch: Batch, begun: int) -> int:
        """A snapshot says which term has written it."""
        head = _document(batch, Kind.SNAPSHOT, SnapshotHead) if begun == batch.base_offset else None
        if not isinstance(head, SnapshotHead):
            raise LogLost(
                f"the state log begins at offset {self.start} without a snapshot: retention, or somebody, has deleted"
                f" records that were needed; {DAMAGED}"
            )
        return head.claim


class LogReading:
    """The commits of the batches that count, each when it is whole."""

    def __init__(self, start: int = 0) -> None:
        self.terms = TermReading(start)
        self.size = 0
        """Bytes of batches since the last snapshot began."""
        self._parts: _Parts | None = None

    def take(self, batch: Batch) -> list[Read]:
        """Raises as TermReading.take."""
        before = self.terms.term
        place = self.terms.take(batch)
        if place is Place.BEFORE:
            return []
        self.size += len(batch.data)
        term = self.terms.term
        if term is None or place in (Place.STALE, Place.FOREIGN):
            why = place.value
            return [_left_out(batch, batch.base_offset, batch.last_offset + 1, batch[5:7], why)]
        dropped = self._dropped(batch, before) if place is Place.CLAIMS else []
        return [*dropped, *self._own(batch, term)]

    def _dropped(self, batch: Batch, term: Term | None) -> list[Read]:
        parts, self._parts = self._parts, None
        if parts is None or term is None:
            return []
        why = f"an unfinished {parts.kind}: {parts.number} of {parts.count} records"
        return [_left_out(batch, parts.offset, batch.base_offset, term[:2], why)]

    def _own(self, batch: Batch, term: Term) -> list[Read]:
        found: list[Read] = []
        try:
            for number, record in enumerate(records(batch)):
                found += self._add(decode_key(record.key), record.value, batch, batch.base_offset + number, term)
        except (BadBatch, BadRecord) as error:
            raise LogLost(f"the state log cannot be read at offset {batch.base_offset}: {error}; {DAMAGED}") from None
        return found

    def _add(self, key: Key, value: bytes, batch: Batch, offset: int, term: Term) -> list[Read]:
        read: list[Read] = []
        if key.number == 0:
            read += self._dropped(batch, term)
            if key.kind is Kind.SNAPSHOT:
                self.size = len(batch.data)
            self._parts = _Parts(offset, key.kind, key.of)
        parts = self._parts
        if parts is None or (key.kind, key.of, key.number) != (parts.kind, parts.count, parts.number):
            raise BadRecord(f"record {key.number} of a {key.kind} of {key.of} does not follow what precedes it")
        parts.number += 1
        parts.size += len(value)
        if is_too_large(parts.kind, parts.size) or parts.count > MOST_RECORDS:
            raise BadRecord(f"a {key.kind} of more than {MOST_BYTES:,} bytes or {MOST_RECORDS:,} records")
        parts.pieces.append(value)
        if not key.goes_on:
            parts.payloads.append(b"".join(parts.pieces))
            parts.pieces = []
        if parts.number < parts.count:
            return read
        if parts.pieces:
            raise BadRecord("the last record of a commit says that it goes on")
        self._parts = None
        payloads = tuple(parts.payloads[1:] if parts.kind is Kind.SNAPSHOT else parts.payloads)
        return [*read, LogRecord(parts.offset, offset + 1, term, batch.timestamp_ms, parts.kind, payloads)]


def _left_out(batch: Batch, offset: int, next_offset: int, producer: tuple[int, int], why: str) -> LeftOut:
    return LeftOut(offset, next_offset, *producer, batch.timestamp_ms, why)


def _claim(batch: Batch) -> Claim | None:
    found = _document(batch, Kind.CLAIM, Claim) if batch.size == 1 else None
    return found if isinstance(found, Claim) else None


def _document(batch: Batch, kind: Kind, of: type[Claim] | type[SnapshotHead]) -> Claim | SnapshotHead | None:
    """That of the first record; None if it is not of this kind."""
    if not batch.is_plain:
        return None
    try:
        first, *_ = records(batch)
        key = decode_key(first.key)
        if key.kind is not kind or key.number or key.goes_on:
            return None
        return decode_document(first.value, of)
    except (BadBatch, BadRecord):
        return None


LEAD_S = 4.0
"""A leader that has written nothing for so long is replaced: the default of `lead_s`."""
BEATS = 3
"""Heartbeats within `lead_s`."""
RANK_STEP = 0.1
"""Each rank waits for this part of `lead_s` longer."""
LONGEST_GAP = 0.5
"""After fetches that are further apart than this part of `lead_s` the silence is counted from the start."""


class SilenceDetector:
    """Times are seconds of any clock. `rank` 0 claims first."""

    def __init__(self, lead_s: float, rank: int = 0) -> None:
        self._lead_s = lead_s
        self._wait_s = lead_s * (1 + RANK_STEP * rank)
        self._since: float | None = None
        self._fetched = float("-inf")

    def fetched(self, now: float, *, heard: bool) -> None:
        """A fetch has succeeded. `heard`: with a record of the term that holds."""
        if heard or self._since is None or now - self._fetched > self._lead_s * LONGEST_GAP:
            self._since = now
        self._fetched = now

    def failed(self) -> None:
        """A fetch has failed: the leader may write, and this server not see it."""
        self._since = None

    def due_in_s(self, now: float) -> float:
        """0: claim now."""
        if self._since is None or now - self._fetched > self._lead_s * LONGEST_GAP:
            return self._wait_s
        return max(0.0, self._since + self._wait_s - now)
