"""Kafka's record batches, version 2, without compression: those that this product writes and reads.

Source: org.apache.kafka.common.record.DefaultRecordBatch and DefaultRecord.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafka.record.util import calc_crc32c

_HEADER = struct.Struct(">qiibIhiqqqhii")
_CRC_FROM = 21
"""The checksum covers what follows it: the offset and the leader's epoch are written by the broker."""
_SIZED_FROM = 12
_MAGIC = 2
_COMPRESSION, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
BATCH_BYTES = _HEADER.size
RECORD_BYTES = 32
"""The most that a record has beside its key and value: lengths, deltas, attributes."""
_SEQUENCES = 1 << 31
_MOST_VARINT = 5


class BadBatch(ValueError):
    """The bytes are no batch that this module reads."""


class Record(NamedTuple):
    key: bytes
    value: bytes


class Batch(NamedTuple):
    """`size`: how many records it says it has. `data` is the whole batch; `records` decodes and checks it."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    timestamp_ms: int
    producer_id: int
    producer_epoch: int
    sequence: int
    size: int
    crc: int
    data: memoryview

    @property
    def is_plain(self) -> bool:
        """It has records of an idempotent producer, neither compressed nor part of a transaction."""
        return not self.attributes & (_COMPRESSION | _TRANSACTIONAL | _CONTROL) and self.producer_id >= 0


def encode_batch(
    records: Sequence[Record], producer_id: int, producer_epoch: int, sequence: int, timestamp_ms: int
) -> bytes:
    """One batch of an idempotent producer."""
    parts: list[bytes] = [b""]
    for delta, (key, value) in enumerate(records):
        head = b"".join((b"\0\0", _varint(delta), _varint(len(key)), key, _varint(len(value))))
        parts += (_varint(len(head) + len(value) + 1), head, value, b"\0")
    rest = struct.pack(
        ">hiqqqhii",
        0,
        len(records) - 1,
        timestamp_ms,
        timestamp_ms,
        producer_id,
        producer_epoch,
        sequence,
        len(records),
    )
    parts[0] = rest
    covered = b"".join(parts)
    size = len(covered) + _CRC_FROM - _SIZED_FROM
    return struct.pack(">qiibI", 0, size, -1, _MAGIC, crc32c(covered)) + covered


def next_sequence(sequence: int, count: int) -> int:
    """Sequences begin at 0 again after 2^31 - 1."""
    return (sequence + count) % _SEQUENCES


def batches(data: bytes) -> Iterator[Batch]:
    """The whole batches of a Fetch answer, which may end within one. Raises BadBatch."""
    view, pos = memoryview(data), 0
    while len(view) - pos >= BATCH_BYTES:
        offset, size, leader_epoch, magic, crc, attributes, last, _, newest, producer, epoch, sequence, count = (
            _HEADER.unpack_from(view, pos)
        )
        if magic != _MAGIC:
            raise BadBatch(f"a batch of version {magic} at offset {offset}")
        if size < BATCH_BYTES - _SIZED_FROM or last < 0 or offset < 0:
            raise BadBatch(f"a batch of {size} bytes with {last + 1} offsets at offset {offset}")
        end = pos + _SIZED_FROM + size
        if end > len(view):
            return
        yield Batch(
            *(offset, offset + last, leader_epoch, attributes, newest, producer, epoch, sequence, count, crc),
            view[pos:end],
        )
        pos = end


def records(batch: Batch) -> list[Record]:
    """All records of a plain batch, one for each offset. Raises BadBatch."""
    if not batch.is_plain:
        raise BadBatch(f"the batch at offset {batch.base_offset} is compressed, or part of a transaction")
    data = bytes(batch.data)
    if crc32c(data[_CRC_FROM:]) != batch.crc:
        raise BadBatch(f"the checksum of the batch at offset {batch.base_offset} is wrong")
    if batch.size < 1 or batch.size != batch.last_offset - batch.base_offset + 1:
        raise BadBatch(f"records are missing in the batch at offset {batch.base_offset}")
    if batch.size > len(data):
        raise BadBatch(f"the batch at offset {batch.base_offset} has no room for {batch.size} records")
    found, pos = [], BATCH_BYTES
    try:
        for delta in range(batch.size):
            record, pos = _record(data, pos, delta)
            found.append(record)
    except (IndexError, BadBatch) as error:
        raise BadBatch(f"the batch at offset {batch.base_offset}: {error or 'it ends within a record'}") from None
    if pos != len(data):
        raise BadBatch(f"the batch at offset {batch.base_offset} has {len(data) - pos} bytes too many")
    return found


def _record(data: bytes, pos: int, delta: int) -> tuple[Record, int]:
    size, start = _read_varint(data, pos)
    end = start + size
    if size < 0 or end > len(data):
        raise BadBatch("a record is longer than it")
    _, pos = _read_varint(data, start + 1)
    found, pos = _read_varint(data, pos)
    if found != delta:
        raise BadBatch("its records are not one for each offset")
    key, pos = _read_bytes(data, pos, end)
    value, pos = _read_bytes(data, pos, end)
    headers, pos = _read_varint(data, pos)
    for _ in range(headers):
        if pos >= end:
            raise BadBatch("a record lacks headers")
        _, pos = _read_bytes(data, pos, end)
        _, pos = _read_bytes(data, pos, end)
    if headers < 0 or pos != end:
        raise BadBatch("a record does not end where it should")
    return Record(key, value), end


def _read_bytes(data: bytes, pos: int, end: int) -> tuple[bytes, int]:
    """Null is empty."""
    size, pos = _read_varint(data, pos)
    if not -1 <= size <= end - pos:
        raise BadBatch("a key, value or header is longer than its record")
    after = pos + max(size, 0)
    return data[pos:after], after


def _varint(value: int) -> bytes:
    """ZigZag, for values from 0 on."""
    value <<= 1
    if value < 0x80:
        return bytes((value,))
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _read_varint(data: bytes, pos: int) -> tuple[int, int]:
    value = 0
    for number in range(2 * _MOST_VARINT):  # a delta of times is a long
        byte = data[pos + number]
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), pos + number + 1
    raise BadBatch("a number has more than ten bytes")


_HIGHEST, _OTHERS = 6777, (484, 100, 0)
"""The exponents of a multiple of CRC-32C's polynomial (`crc32c`)."""
_BEGIN = 0xFFFFFFFF
"""What the first four bytes are combined with, before the checksum and at its end."""


def crc32c(data: bytes) -> int:
    """Without a module in C: kafka-python's table takes 0.1 s for a megabyte, this some ms.

    A checksum is the remainder of a polynomial over GF(2). x^6777 + x^484 + x^100 + 1 is a multiple of CRC-32C's
    polynomial, and so are its squares, its squares' squares and so on: they fold a long message onto a shorter one that
    has the same remainder, by shifts of whole integers. The table does the rest.
    """
    bits = 8 * len(data)
    if bits < 2 * _HIGHEST:
        return int(calc_crc32c(memoryview(data)))
    # The lowest bit of the first byte has the highest exponent.
    value = int.from_bytes(data, "little") ^ _BEGIN
    doublings = (bits // _HIGHEST).bit_length() - 1
    for doubling in range(doublings, -1, -1):
        highest = _HIGHEST << doubling
        while True:
            folded = min(bits - highest, highest - (_OTHERS[0] << doubling)) & ~7
            if folded <= 0:
                break
            top = value & ((1 << folded) - 1)
            value >>= folded
            for other in _OTHERS:
                value ^= top << (highest - (other << doubling) - folded)
            bits -= folded
    return int(calc_crc32c(memoryview((value ^ _BEGIN).to_bytes(bits // 8, "little"))))
