"""What is in a record of the state log.

key    `1:commit:0/3+`: version of the format, kind, number of this record and of all of its commit; `+`: the payload
       goes on in the next record
value  a part of a payload, which is JSON; of a claim, and of the first payload of a snapshot, a document of the log's

A commit larger than `max.message.bytes` has records in several batches. It counts when its last record is there.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.kraft.state_log.log_errors import LogRefused
from kafka_reassign_rpc.kraft.state_log.record_batches import BATCH_BYTES, RECORD_BYTES, Record
from kafka_reassign_rpc.support.bounded_text import shown

VERSION = 1
MOST_BYTES = 128 << 20
"""Of all payloads of a commit. A snapshot has what its leader holds in memory, and so can its readers."""
MOST_RECORDS = 1_000_000
"""Of a commit or a snapshot."""
LONGEST_NAME = 255
"""Characters of a server's name, and of the address of its page."""
LEAST_ROOM = 16 << 10
"""The smallest `max.message.bytes`: below that a snapshot has too many records."""
_LONGEST_KEY = 64
_KEY = re.compile(rb"(\d{1,5}):([a-z]{1,16}):(?:(\d{1,7})/(\d{1,7})(\+?))?")


class Kind(StrEnum):
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    COMMIT = "commit"
    SNAPSHOT = "snapshot"


_KINDS = {one.value for one in Kind}


class BadRecord(ValueError):
    """A record that this product does not write."""


class Key(NamedTuple):
    kind: Kind
    number: int
    of: int
    goes_on: bool


class Claim(msgspec.Struct, frozen=True):
    """`previous` is the offset of the claim that this one follows, -1 if there was none. `page`: the address of the
    server's status page, "" if it has none."""

    server: str
    previous: int = -1
    page: str = ""


class SnapshotHead(msgspec.Struct, frozen=True):
    """`claim` is the offset of the claim of the term that writes the snapshot: it is deleted with what precedes."""

    claim: int


def encode_key(key: Key) -> bytes:
    return f"{VERSION}:{key.kind}:{key.number}/{key.of}{'+' if key.goes_on else ''}".encode()


def decode_key(data: bytes) -> Key:
    """Raises BadRecord; LogRefused if a later release has written it."""
    found = _KEY.match(data) if len(data) <= _LONGEST_KEY else None
    if found is None:
        raise BadRecord(f"no key of this log: {shown(data)}")
    version, kind, number, count, goes_on = found.groups()
    if int(version) > VERSION or (int(version) == VERSION and kind.decode() not in _KINDS):
        raise LogRefused(
            f"the state log has a record of a later release ({shown(data)}): start this server with that release"
        )
    if int(version) != VERSION or number is None or found.end() != len(data) or not int(number) < int(count):
        raise BadRecord(f"no key of this log: {shown(data)}")
    return Key(Kind(kind.decode()), int(number), int(count), bool(goes_on))


def decode_document(data: bytes, kind: type[Claim] | type[SnapshotHead]) -> Claim | SnapshotHead:
    """Raises BadRecord."""
    try:
        found = msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise BadRecord(f"no {kind.__name__}: {error}") from None
    return found


def is_too_large(kind: Kind, size: int) -> bool:
    return kind is not Kind.SNAPSHOT and size > MOST_BYTES


def cut(kind: Kind, payloads: Sequence[bytes], room: int) -> list[list[Record]]:
    """The records of a commit, by batches of at most `room` bytes. Raises ValueError if it has more than it may."""
    if not payloads or is_too_large(kind, sum(map(len, payloads))) or len(payloads) > MOST_RECORDS:
        raise ValueError(f"a commit has from 1 to {MOST_RECORDS:,} payloads with {MOST_BYTES:,} bytes in all")
    pieces = [*_pieces(payloads, room - BATCH_BYTES - RECORD_BYTES - _LONGEST_KEY)]
    if len(pieces) > MOST_RECORDS:
        raise ValueError(f"a commit of more than {MOST_RECORDS:,} records of at most {room:,} bytes")
    found: list[list[Record]] = []
    left = 0
    for number, (piece, goes_on) in enumerate(pieces):
        key = encode_key(Key(kind, number, len(pieces), goes_on))
        size = len(key) + len(piece) + RECORD_BYTES
        if size > left:
            found.append([])
            left = room - BATCH_BYTES
        found[-1].append(Record(key, piece))
        left -= size
    return found


def _pieces(payloads: Sequence[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    for payload in payloads:
        for start in range(0, len(payload) or 1, size):
            yield payload[start : start + size], start + size < len(payload)
