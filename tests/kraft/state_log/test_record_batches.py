"""kr-5: record batches are Kafka's, and damaged ones are refused."""

from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from kafka_reassign_rpc.kraft.state_log.crc32c import crc32c
from kafka_reassign_rpc.kraft.state_log.record_batches import (
    BATCH_BYTES,
    RECORD_BYTES,
    BadBatch,
    Record,
    batches,
    encode_batch,
    next_sequence,
    records,
)

RECORDS = st.lists(st.builds(Record, st.binary(max_size=80), st.binary(max_size=400)), min_size=1, max_size=20)
OFFSET_BYTES, COVERED_FROM = 8, 21


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


def test_kr_5_garbage_with_a_right_checksum_is_refused() -> None:
    """As a broker's disk or a stranger's client could hold it: all lengths that a record has are tried."""
    whole = encode_batch([Record(b"key", b"value")], 1, 0, 0, 0)
    for at in range(BATCH_BYTES, len(whole)):
        for to in (0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF):
            data = bytearray(whole)
            data[at] = to
            data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
            (batch,) = batches(bytes(data))
            try:
                (one,) = records(batch)
            except BadBatch:
                continue
            assert len(one.key) + len(one.value) <= len(b"keyvalue"), at


def test_kr_5_sequences_begin_anew_after_the_largest_number() -> None:
    assert next_sequence((1 << 31) - 1, 1) == 0
    assert next_sequence((1 << 31) - 2, 5) == 3
