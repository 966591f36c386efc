"""Who has written each record of a log: the headers of its batches (Kafka's DefaultRecordBatch, magic 2)."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SIZE = struct.Struct(">qi")
"""First offset, and the size of what follows."""
_HEADER = struct.Struct(">ibIhiqqqh")
"""Leader epoch, magic, CRC, attributes, last offset - first offset, two times, producer id, producer epoch."""


class Sender(NamedTuple):
    """A producer, for as long as it has one epoch: its sequence numbers begin anew with the next."""

    id: int
    epoch: int


def senders(replica: Path) -> dict[int, Sender]:
    """By offset, all records in the directory of a replica."""
    return dict(one for segment in sorted(replica.glob("*.log")) for one in _in_segment(segment.read_bytes()))


def _in_segment(data: bytes) -> Iterator[tuple[int, Sender]]:
    at = 0
    while at + _SIZE.size + _HEADER.size <= len(data):
        first, size = _SIZE.unpack_from(data, at)
        if not size:  # room that was allocated ahead
            return
        _, _, _, _, last, _, _, id_, epoch = _HEADER.unpack_from(data, at + _SIZE.size)
        for offset in range(first, first + last + 1):
            yield offset, Sender(id_, epoch)
        at += _SIZE.size + size
