"""kr-5: record batches are Kafka's, and damaged ones are refused."""

from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from kafka_reassign_rpc.kraft.state_log.record_batches import (
    BATCH_BYTES,
    RECORD_BYTES,
    BadBatch,
    Record,
    batches,
    crc32c,
    encode_batch,
    next_sequence,
    records,
)

RECORDS = st.lists(st.builds(Record, st.binary(max_size=80), st.binary(max_size=400)), min_size=1, max_size=20)
CRC_AT, COVERED_FROM = 17, 21


@given(st.binary(max_size=400), st.integers(0, 60))
@example(b"\xff" * 64, 512)
def test_kr_5_the_checksum_of_any_length_is_that_of_the_table(data: bytes, times: int) -> None:
    many = data * times
    assert crc32c(many) == calc_crc32c(memoryview(many))


@given(RECORDS, st.integers(0, 1 << 40), st.integers(0, 32767), st.integers(0, (1 << 31) - 1))
def test_kr_5_a_batch_is_read_by_kafka_python_and_by_us(
    given_records: list[Record], producer: int, epoch: int, sequence: int
) -> None:
    data = encode_batch(given_records, producer, epoch, sequence, 1_700_000_000_000)
    assert len(data) <= BATCH_BYTES + sum(len(one.key) + len(one.value) + RECORD_BYTES for one in given_records)
    theirs = MemoryRecords(data).next_batch()
    assert theirs.validate_crc()
    assert (theirs.producer_id, theirs.producer_epoch, theirs.base_sequence) == (producer, epoch, sequence)
    assert [(one.key, one.value) for one in theirs] == given_records
    (ours,) = batches(data)
    assert (ours.producer_id, ours.producer_epoch, ours.sequence) == (producer, epoch, sequence)
    assert records(ours) == given_records


@given(RECORDS, st.booleans())
def test_kr_5_batches_of_kafka_python_are_read_with_headers_and_nulls(given_records: list[Record], null: bool) -> None:
    builder = DefaultRecordBatchBuilder(2, 0, False, 7, 1, 0, 1 << 20)
    for number, one in enumerate(given_records):
        value = None if null else one.value
        builder.append(number, 1_700_000_000_000 + number, one.key, value, [("a", b"b"), ("c", None)])
    (batch,) = batches(bytes(builder.build()))
    assert records(batch) == [Record(one.key, b"" if null else one.value) for one in given_records]


@dataclass
class Damage:
    at: int
    to: int


@given(
    RECORDS, st.lists(st.builds(Damage, st.integers(0, 10_000), st.integers(0, 255)), max_size=3), st.integers(0, 99)
)
def test_kr_5_damaged_bytes_are_refused_or_give_the_same_records(
    given_records: list[Record], damages: list[Damage], cut_off: int
) -> None:
    data = bytearray(encode_batch(given_records, 1, 0, 0, 0))
    for one in damages:
        data[one.at % len(data)] = one.to
    try:
        found = [records(one) for one in batches(bytes(data[: len(data) - cut_off]))]
    except BadBatch:
        return
    assert (
        found in ([], [given_records]) or data[COVERED_FROM:] != encode_batch(given_records, 1, 0, 0, 0)[COVERED_FROM:]
    )


def test_kr_5_a_changed_bit_of_what_the_checksum_covers_is_found() -> None:
    whole = encode_batch([Record(b"key", b"value"), Record(b"", b"x" * 40)], 1, 0, 0, 0)
    for at in range(CRC_AT, len(whole)):
        for bit in range(8):
            data = bytearray(whole)
            data[at] ^= 1 << bit
            with pytest.raises(BadBatch):
                assert not [records(one) for one in batches(bytes(data))]


def test_kr_5_wrong_lengths_under_a_right_checksum_are_refused() -> None:
    """As a stranger's client could make them: each length of a record has every other value of one byte."""
    whole = encode_batch([Record(b"key", b"value")], 1, 0, 0, 0)
    size, delta, key, value, headers = (BATCH_BYTES + one for one in (0, 3, 4, 8, 14))
    for at in (size, delta, key, value, headers):
        for to in {*range(256)} - {whole[at]}:
            data = bytearray(whole)
            data[at] = to
            data[CRC_AT:COVERED_FROM] = crc32c(bytes(data[COVERED_FROM:])).to_bytes(4, "big")
            (batch,) = batches(bytes(data))
            try:
                found = records(batch)
            except BadBatch:
                continue
            raise AssertionError((at - BATCH_BYTES, to, found))


def test_kr_5_sequences_begin_anew_after_the_largest_number() -> None:
    assert next_sequence((1 << 31) - 1, 1) == 0
    assert next_sequence((1 << 31) - 2, 5) == 3
