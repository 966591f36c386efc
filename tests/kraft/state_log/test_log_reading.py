"""kr-5: every reader takes the same commits, whole and in order, whatever lies between them, and takes over when the
leader is silent, never because it cannot hear.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.kraft.state_log import log_format
from kafka_reassign_rpc.kraft.state_log.log_errors import LogLost, LogRefused
from kafka_reassign_rpc.kraft.state_log.log_format import (
    BadRecord,
    Claim,
    Key,
    Kind,
    SnapshotHead,
    cut,
    decode_key,
    encode_key,
)
from kafka_reassign_rpc.kraft.state_log.log_reading import LeftOut, LogReading, LogRecord, SilenceDetector, TermReading
from kafka_reassign_rpc.kraft.state_log.record_batches import Batch, Record, batches, encode_batch
from tests.tables import for_each

ROOM = 256
Producer = tuple[int, int]


@dataclass
class Topic:
    """What a broker would hold: it gives offsets, and fences nobody."""

    batches: list[bytes] = field(default_factory=list)
    end: int = 0
    start: int = 0

    def append(self, records: Sequence[Record], producer: Producer) -> int:
        data = bytearray(encode_batch(records, *producer, 0, 0))
        data[:8] = struct.pack(">q", self.end)
        self.batches.append(bytes(data))
        self.end += len(records)
        return self.end - len(records)

    def claim(self, producer: Producer, previous: int = -1) -> int:
        (records,) = cut(Kind.CLAIM, [msgspec.json.encode(Claim("a", previous))], ROOM)
        return self.append(records, producer)

    def write(self, kind: Kind, payloads: Sequence[bytes], producer: Producer, only: int | None = None) -> int:
        """The first offset. `only`: so many batches, then the writer dies."""
        first = self.end
        for records in cut(kind, payloads, ROOM)[:only]:
            self.append(records, producer)
        return first

    def snapshot(self, claim: int, payloads: Sequence[bytes], producer: Producer) -> int:
        return self.write(Kind.SNAPSHOT, [msgspec.json.encode(SnapshotHead(claim)), *payloads], producer)

    def delete_before(self, offset: int) -> None:
        self.start = offset

    def fetched(self) -> list[Batch]:
        return [one for one in batches(b"".join(self.batches)) if one.last_offset >= self.start]

    def read(self) -> list[LogRecord | LeftOut]:
        reading = LogReading(self.start)
        return [found for one in self.fetched() for found in reading.take(one)]

    def commits(self) -> list[tuple[bytes, ...]]:
        return [one.payloads for one in self.read() if isinstance(one, LogRecord) and one.kind is Kind.COMMIT]


A1, A2, A3, B1 = (7, 0), (7, 1), (7, 2), (9, 0)
LONG = b"x" * 1_000


def test_kr_5_a_commit_of_several_batches_counts_when_its_last_record_is_there() -> None:
    topic = Topic()
    topic.claim(A1)
    topic.write(Kind.COMMIT, [LONG, b"", b"b"], A1, only=3)
    assert topic.commits() == []
    topic = Topic()
    topic.claim(A1)
    first = topic.write(Kind.COMMIT, [LONG, b"", b"b"], A1)
    assert topic.commits() == [(LONG, b"", b"b")]
    found = topic.read()[-1]
    assert (found.offset, found.next_offset) == (first, topic.end)


def test_kr_5_a_claim_drops_what_the_leader_before_has_not_finished() -> None:
    topic = Topic()
    claim = topic.claim(A1)
    first = topic.write(Kind.COMMIT, [LONG], A1, only=2)
    topic.claim(A2, claim)
    topic.write(Kind.COMMIT, [b"2"], A2)
    assert topic.commits() == [(b"2",)]
    (left,) = [one for one in topic.read() if isinstance(one, LeftOut)]
    assert (left.producer_id, left.epoch) == A1
    assert (left.offset, left.why) == (
        first,
        f"an unfinished commit: 2 of {len(cut(Kind.COMMIT, [LONG], ROOM))} records",
    )


def test_kr_5_what_a_replaced_leader_writes_is_left_out_even_if_no_broker_fences_it() -> None:
    topic = Topic()
    claim = topic.claim(A1)
    topic.write(Kind.COMMIT, [b"1"], A1)
    topic.claim(A2, claim)
    topic.write(Kind.COMMIT, [b"stale"], A1)
    topic.claim(A1, claim)
    topic.write(Kind.COMMIT, [b"stale"], A1)
    topic.write(Kind.COMMIT, [b"2"], A2)
    assert topic.commits() == [(b"1",), (b"2",)]


def test_kr_5_of_claims_with_new_producer_ids_the_first_that_follows_the_last_one_holds() -> None:
    topic = Topic()
    claim = topic.claim(A1)
    second = topic.claim(B1, claim)
    topic.claim((11, 0), claim)
    topic.write(Kind.COMMIT, [b"of the one too late"], (11, 0))
    topic.write(Kind.COMMIT, [b"1"], B1)
    topic.claim(A3, second)
    topic.write(Kind.COMMIT, [b"2"], A3)
    assert topic.commits() == [(b"1",), (b"2",)]


def test_kr_5_records_of_strangers_are_left_out() -> None:
    topic = Topic()
    topic.append([Record(b"k", b"v")], (-1, -1))
    topic.append([Record(b"", b"hello"), Record(b"", b"world")], (12, 0))
    topic.claim(A1)
    topic.append([Record(b"1:commit:0/1", b"forged")], (-1, -1))
    topic.append([Record(b"not ours", b"")], (12, 0))
    topic.write(Kind.COMMIT, [b"1"], A1)
    assert topic.commits() == [(b"1",)]
    assert len([one for one in topic.read() if isinstance(one, LeftOut)]) == 4


def test_kr_5_a_reader_begins_with_a_snapshot_and_knows_its_term() -> None:
    topic = Topic()
    claim = topic.claim(A1)
    topic.write(Kind.COMMIT, [b"1"], A1)
    offset = topic.snapshot(claim, [LONG, b"1"], A1)
    topic.write(Kind.COMMIT, [b"2"], A1)
    whole = topic.read()
    topic.delete_before(offset)
    assert topic.read() == whole[-2:]
    found = topic.read()[0]
    assert isinstance(found, LogRecord)
    assert (found.kind, found.payloads, found.term) == (Kind.SNAPSHOT, (LONG, b"1"), (*A1, claim))
    topic.claim(B1, claim)
    topic.write(Kind.COMMIT, [b"3"], B1)
    assert topic.commits() == [(b"2",), (b"3",)], "the claim that is deleted is known by the snapshot"


def test_kr_5_a_log_whose_beginning_was_deleted_is_lost() -> None:
    topic = Topic()
    claim = topic.claim(A1)
    topic.write(Kind.COMMIT, [b"1"], A1)
    offset = topic.snapshot(claim, [b"1", LONG], A1)
    assert offset + 1 not in [one.base_offset for one in topic.fetched()], "a start within a batch is tried, too"
    for start in (1, offset + 1, topic.end - 1):
        topic.delete_before(start)
        with pytest.raises(LogLost, match=f"begins at offset {start} without a snapshot"):
            topic.read()


def test_kr_5_batches_that_come_twice_count_once() -> None:
    """A Fetch answer begins with the batch in which its offset lies."""
    topic = Topic()
    topic.claim(A1)
    topic.write(Kind.COMMIT, [LONG], A1)
    reading = LogReading()
    found = [one for batch in topic.fetched() for one in [*reading.take(batch), *reading.take(batch)]]
    assert found == topic.read()


def test_kr_5_a_gap_between_offsets_is_a_loss() -> None:
    topic = Topic()
    topic.claim(A1)
    topic.write(Kind.COMMIT, [b"1"], A1)
    topic.write(Kind.COMMIT, [b"2"], A1)
    del topic.batches[1]
    with pytest.raises(LogLost, match="from offset 1 to 1 are missing"):
        topic.read()


def test_kr_5_damage_in_the_term_that_holds_is_a_loss_with_what_to_do() -> None:
    for record in (
        Record(b"garbage", b""),
        Record(encode_key(Key(Kind.COMMIT, 1, 2, goes_on=False)), b""),
        Record(encode_key(Key(Kind.COMMIT, 0, 1, goes_on=True)), b""),
        Record(encode_key(Key(Kind.COMMIT, 0, log_format.MOST_RECORDS + 1, goes_on=True)), b""),
    ):
        topic = Topic()
        topic.claim(A1)
        topic.append([record], A1)
        with pytest.raises(LogLost, match=r"cannot be read at offset 1: .*; stop the servers, keep a copy"):
            topic.read()


def test_kr_5_records_of_a_later_release_are_refused() -> None:
    for key in (b"2:commit:0/1", b"3:claim:new form", b"1:unheard:0/1"):
        topic = Topic()
        topic.claim(A1)
        topic.append([Record(key, b"")], A1)
        with pytest.raises(LogRefused, match="a later release"):
            topic.read()


@for_each(
    "data", [b"", b"1", b"1:commit", b"1:commit:", b"1:commit:1/1", b"1:commit:0/1x", b"0:commit:0/1", b"\xff" * 99]
)
def test_kr_5_a_key_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(BadRecord):
        decode_key(data)


def test_kr_5_a_commit_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_format, "MOST_BYTES", 100)
    for payloads in ([], [b"x" * 101], [b"x" * 51] * 2):
        with pytest.raises(ValueError, match="a commit has from 1"):
            cut(Kind.COMMIT, payloads, ROOM)
    monkeypatch.setattr(log_format, "MOST_RECORDS", 3)
    with pytest.raises(ValueError, match="more than 3 records"):
        cut(Kind.COMMIT, [b"x" * 100], 180)


def test_kr_5_a_snapshot_has_as_many_records_as_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_format, "MOST_BYTES", 100)
    topic = Topic()
    claim = topic.claim(A1)
    topic.snapshot(claim, [LONG, b"1", LONG], A1)
    found = topic.read()[-1]
    assert isinstance(found, LogRecord)
    assert (found.kind, found.payloads) == (Kind.SNAPSHOT, (LONG, b"1", LONG))


def test_kr_5_a_commit_that_is_larger_than_any_writer_makes_it_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic()
    topic.claim(A1)
    topic.write(Kind.COMMIT, [LONG], A1)
    monkeypatch.setattr(log_format, "MOST_BYTES", 100)
    with pytest.raises(LogLost, match="more than"):
        topic.read()


@given(st.lists(st.binary(max_size=900), min_size=1, max_size=12), st.integers(200, 2_000))
def test_kr_5_any_payloads_are_cut_into_batches_that_fit_and_read_whole(payloads: list[bytes], room: int) -> None:
    made = cut(Kind.COMMIT, payloads, room)
    topic = Topic()
    topic.claim(A1)
    for records in made:
        assert len(encode_batch(records, *A1, 0, 0)) <= room
        topic.append(records, A1)
    assert topic.commits() == [tuple(payloads)]


class History(msgspec.Struct):
    """Writers that come, die within a commit, wake up and write on, where no broker fences anybody."""

    topic: Topic
    terms: list[tuple[Producer, int]] = []
    expected: list[tuple[bytes, ...]] = []
    number: int = 0

    def next_payloads(self, parts: int) -> list[bytes]:
        self.number += 1
        return [str(self.number).encode() * 90] * parts

    def claims(self, parts: int) -> None:
        del parts
        new_id = bool(self.terms) and self.number % 3 == 0
        self.number += 1
        producer = (
            (self.number + 100, 0) if new_id or not self.terms else (self.terms[-1][0][0], self.terms[-1][0][1] + 1)
        )
        self.terms.append((producer, self.topic.claim(producer, self.terms[-1][1] if self.terms else -1)))

    def commits(self, parts: int) -> None:
        if self.terms:
            payloads = self.next_payloads(parts)
            self.topic.write(Kind.COMMIT, payloads, self.terms[-1][0])
            self.expected.append(tuple(payloads))

    def dies(self, parts: int) -> None:
        if self.terms:
            self.topic.write(Kind.COMMIT, self.next_payloads(parts + 2), self.terms[-1][0], only=1)
            self.claims(parts)

    def zombie(self, parts: int) -> None:
        if len(self.terms) > 1:
            self.topic.write(Kind.COMMIT, self.next_payloads(parts), self.terms[-2][0])

    def zombie_claims(self, parts: int) -> None:
        del parts
        if len(self.terms) > 2:
            self.topic.claim(self.terms[-2][0], self.terms[-3][1])

    def stranger(self, parts: int) -> None:
        self.topic.append([Record(b"?", b"!")] * parts, (-1, -1) if parts % 2 else (5, 5))

    def snapshots(self, parts: int) -> None:
        if self.terms:
            payloads = [one for some in self.expected for one in some] or [b"none"]
            offset = self.topic.snapshot(self.terms[-1][1], payloads, self.terms[-1][0])
            if parts % 2:
                self.topic.delete_before(offset)


STEPS = ("claims", "commits", "commits", "dies", "zombie", "zombie_claims", "stranger", "snapshots")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 4)), max_size=25))
def test_kr_5_any_history_reads_as_what_was_acknowledged(steps: list[tuple[str, int]]) -> None:
    history = History(Topic())
    for name, parts in steps:
        getattr(history, name)(parts)
    state: list[bytes] = []
    terms = TermReading(history.topic.start)
    for one in history.topic.fetched():
        terms.take(one)
    for found in history.topic.read():
        if isinstance(found, LogRecord) and found.kind is Kind.SNAPSHOT:
            state = [one for one in found.payloads if one != b"none"]
        elif isinstance(found, LogRecord) and found.kind is Kind.COMMIT:
            state += found.payloads
    assert state == [one for some in history.expected for one in some]
    assert terms.position == history.topic.end
    if history.terms:
        assert terms.term == (*history.terms[-1][0], history.terms[-1][1])


LEAD_S = 4.0


def after(*seen: tuple[float, str], rank: int = 0) -> SilenceDetector:
    detector = SilenceDetector(LEAD_S, rank)
    for at, what in seen:
        if what == "failed":
            detector.failed()
        else:
            detector.fetched(at, heard=what == "heard")
    return detector


def fetches(start: float, end: float, what: str = "fetched") -> list[tuple[float, str]]:
    return [(start + number / 2, what) for number in range(int((end - start) * 2) + 1)]


def test_kr_5_nobody_is_replaced_before_the_first_fetch() -> None:
    assert after().due_in_s(100) == LEAD_S


def test_kr_5_silence_is_counted_from_the_last_record() -> None:
    detector = after((0, "heard"), *fetches(0.5, 3.5))
    assert detector.due_in_s(3.5) == pytest.approx(0.5)
    assert after((0, "heard"), *fetches(0.5, 4)).due_in_s(4) == 0
    assert after(*fetches(0, 3), (3.5, "heard"), (4, "fetched")).due_in_s(4) == pytest.approx(3.5)


def test_kr_5_a_failed_fetch_begins_the_silence_anew() -> None:
    detector = after(*fetches(0, 3.5), (3.6, "failed"), *fetches(3.7, 4.7))
    assert detector.due_in_s(4.7) == pytest.approx(3.0)
    assert after(*fetches(0, 9), (9, "failed")).due_in_s(9) == LEAD_S


def test_kr_5_who_was_frozen_itself_has_heard_nothing() -> None:
    detector = after(*fetches(0, 2))
    assert detector.due_in_s(60) == LEAD_S
    detector.fetched(60, heard=False)
    assert detector.due_in_s(60) == LEAD_S


def test_kr_5_each_rank_waits_a_little_longer() -> None:
    waits = [after(*fetches(0, 2), rank=rank).due_in_s(2) for rank in range(3)]
    assert waits == pytest.approx([2.0, 2.4, 2.8])
