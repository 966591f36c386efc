"""Lost, repeated, disordered, aborted and foreign records are found."""

import struct
from pathlib import Path

import pytest

from .batches import Sender, senders
from .journal import Journal, Record
from .record_checks import consumed, delivered, refused


def journal(*, once: bool = True, aborted: tuple[int, ...] = ()) -> Journal:
    """Six records of partition 0: 4 was neither acknowledged nor refused, 5 has just been handed over."""
    made = Journal("t", incarnation=1, once=once)
    for _ in range(6):
        made.next(0)
    made.acked[0] = {0, 1, 2, 3} - set(aborted)
    made.aborted[0] = set(aborted)
    return made


def records(*numbers: int) -> dict[int, list[Record]]:
    return {0: [Record(1, 0, number) for number in numbers]}


@pytest.mark.parametrize("numbers", [(0, 1, 2, 3), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 5)])
def test_sv_4_records_whose_fate_is_not_known_may_be_there_or_not(numbers: tuple[int, ...]) -> None:
    assert delivered(journal(), records(*numbers)) == []


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((0, 1, 3), "1 lost of acknowledged 4: 2"),
        ((), "4 lost of acknowledged 4: 0, 1, 2, 3"),
        ((0, 1, 1, 2, 3), "1 read more than once of 5: 1"),
        ((0, 2, 1, 3), "1 out of order of 4: 1"),
        ((0, 1, 2, 3, 6), "1 nobody wrote to incarnation 1: "),
    ],
)
def test_sv_4_a_fault_in_a_partition_is_found(numbers: tuple[int, ...], expected: str) -> None:
    assert [line for line in delivered(journal(), records(*numbers)) if expected in line]


def test_sv_4_a_record_that_was_on_its_way_to_a_deleted_topic_may_be_in_the_next_one_and_no_other() -> None:
    """Produce names topics by their names, and a broker may come to a request long after its client is gone."""
    earlier = Journal("t", incarnation=0, once=True)
    for _ in range(3):
        earlier.next(0)
    earlier.acked[0] = {0, 1}

    def found(late: Record) -> list[str]:
        read = records(0, 1, 2, 3)
        read[0].append(late)
        return delivered(journal(), read, earlier=[earlier])

    assert found(Record(0, 0, 2)) == []
    for late in (Record(0, 0, 1), Record(0, 0, 3), Record(0, 1, 2), Record(5, 0, 2)):
        assert found(late) == [f"t-0: 1 nobody wrote to incarnation 1: {late}"]


def test_sv_4_a_plain_producers_records_may_come_again_but_neither_get_lost_nor_change_their_order() -> None:
    assert delivered(journal(once=False), records(0, 1, 2, 0, 1, 2, 3)) == []
    assert delivered(journal(once=False), records(0, 2, 1, 3)) == ["t-0: 1 out of order of 4: 1"]
    assert delivered(journal(once=False), records(0, 1, 2)) == ["t-0: 1 lost of acknowledged 4: 3"]


def test_sv_4_an_idempotent_producers_record_may_come_again_in_a_later_epoch_only() -> None:
    read, first, later = records(0, 1, 1, 2, 3), Sender(7, 0), Sender(7, 1)
    made = journal()
    made.bumps = True
    assert delivered(made, read, {0: [first, first, later, later, later]}) == []
    again = ["t-0: 1 read more than once of 5: 1"]
    assert delivered(made, read, {0: [first] * 5}) == again
    assert delivered(made, read) == again
    assert delivered(journal(), read, {0: [first, first, later, later, later]}) == again, "never of a transaction"


def test_sv_4_a_log_tells_who_has_written_each_record(tmp_path: Path) -> None:
    def batch(offset: int, count: int, producer: int, epoch: int) -> bytes:
        header = struct.pack(">ibIhiqqqhii", 3, 2, 0, 0, count - 1, 0, 0, producer, epoch, 0, count)
        return struct.pack(">qi", offset, len(header) + 4) + header + b"rest"

    (tmp_path / "00.log").write_bytes(batch(0, 2, 7, 0) + batch(2, 1, 8, 3))
    (tmp_path / "03.log").write_bytes(batch(3, 1, 7, 1) + bytes(100))
    assert senders(tmp_path) == {0: Sender(7, 0), 1: Sender(7, 0), 2: Sender(8, 3), 3: Sender(7, 1)}


def test_sv_4_a_record_of_an_aborted_transaction_must_not_be_read() -> None:
    made = journal(aborted=(2,))
    assert delivered(made, records(0, 1, 3)) == []
    assert delivered(made, records(0, 1, 2, 3)) == ["t-0: 1 aborted and yet read of 4: 2"]


@pytest.mark.parametrize("foreign", [Record(0, 0, 3), Record(1, 1, 3)])
def test_sv_4_a_record_of_a_deleted_topic_or_of_another_partition_is_found(foreign: Record) -> None:
    read = {0: [*records(0, 1, 2, 3)[0], foreign]}
    assert "1 nobody wrote to incarnation 1" in delivered(journal(), read)[0]


def test_sv_4_a_partition_that_is_not_read_loses_its_records() -> None:
    assert delivered(journal(), {}) == ["t-0: 4 lost of acknowledged 4: 0, 1, 2, 3"]


def test_sv_4_a_record_that_the_group_has_not_read_is_found() -> None:
    read = [record for one in records(0, 1, 3).values() for record in one]
    assert consumed(journal(), read) == ["t-0: 1 not read by the group of 4: 2"]
    assert consumed(journal(), [*read, Record(0, 0, 2)]) != []
    assert consumed(journal(), [*read, *read, Record(1, 0, 2)]) == []


def test_sv_4_a_record_that_was_refused_is_found() -> None:
    made = journal()
    assert refused(made) == []
    made.refused += ["no", "no"]
    assert refused(made) == ["t: 2 times no"]


def test_sv_4_a_record_is_known_by_its_value() -> None:
    assert Record.decode(Record(2, 3, 4).encode()) == Record(2, 3, 4)
    with pytest.raises(ValueError, match="not enough values"):
        Record.decode(b"anything")
