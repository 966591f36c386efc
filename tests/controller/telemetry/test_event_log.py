"""The files of the event log, and the recorder that writes to them."""

import asyncio
import itertools
import json
import logging
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller.telemetry import event_recorder
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog, EventsLost
from kafka_reassign_rpc.controller.telemetry.event_recorder import LINES, LONGEST_NAME, EventRecorder, line
from kafka_reassign_rpc.core.events.decided_events import Event
from tests.waiting import eventually

LONGEST = 20_000
"""Bytes of one event at the most, by the limits of its fields."""


def lines(first: int, after: int, size: int = 100) -> bytes:
    return b"".join(b'{"seq":%d,"pad":"%s"}\n' % (seq, b"x" * size) for seq in range(first, after))


def write(log: EventLog, first: int, after: int, size: int = 100) -> None:
    log.append(lines(first, after, size), b"", first, after)


def numbers(log: EventLog, first: int = 0, max_bytes: int = 2**20) -> list[int]:
    return [json.loads(one)["seq"] for one in log.read(first, max_bytes).events]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    made = EventLog(tmp_path / "deep" / "events", file_bytes=65_536, files=3)
    made.open()
    yield made
    made.close()


def again(log: EventLog) -> EventLog:
    """The event log as the next process opens it."""
    log.close()
    made = EventLog(log.directory, file_bytes=65_536, files=3)
    made.open()
    return made


def test_sv_7_events_are_read_from_any_number_on_in_answers_of_a_bounded_size(log: EventLog) -> None:
    for first in range(0, 1000, 10):
        write(log, first, first + 10)
    assert numbers(log) == list(range(1000))
    assert numbers(log, 995) == [995, 996, 997, 998, 999]
    one = len(lines(500, 501)) - 1
    page = log.read(500, 3 * one)
    assert ([json.loads(event)["seq"] for event in page.events], page.next_seq) == ([500, 501, 502], 503)
    assert numbers(log, 500, 0) == [500], "at least one, or no reader could ever go on"
    assert log.read(1000, 100) == ([], 1000, 0, 0)
    assert log.read(10**9, 100) == ([], 1000, 0, 0), "what has not happened yet"
    assert log.read(-1, 100) == ([], 1000, 0, 0)


def test_sv_7_the_log_keeps_a_limited_number_of_files_of_limited_size(log: EventLog) -> None:
    for first in range(0, 5000, 10):
        write(log, first, first + 10)
    kept = sorted(log.directory.glob("events-*.jsonl"))
    assert len(kept) == 3
    assert all(path.stat().st_size <= 65_536 for path in kept)
    page = log.read(0, 100)
    oldest = int(kept[0].stem.removeprefix("events-"))
    assert (json.loads(page.events[0])["seq"], page.oldest_seq) == (oldest, oldest)
    assert numbers(log) == list(range(oldest, 5000)), "one file after the other"


def test_sv_7_eight_files_of_decisions_and_two_of_refusals_are_kept_unless_asked_otherwise(tmp_path: Path) -> None:
    made = EventLog(tmp_path, file_bytes=1000)
    made.open()
    for number in range(0, 40, 2):
        made.append(lines(number, number + 1, 900), lines(number + 1, number + 2, 900), number, number + 2)
    made.close()
    kept = Counter(path.name.partition("-")[0] for path in tmp_path.glob("*.jsonl"))
    assert kept == {"events": 8, "refusals": 2}


def test_sv_7_a_file_is_filled_to_its_last_byte(tmp_path: Path) -> None:
    one = lines(0, 1)
    made = EventLog(tmp_path, file_bytes=3 * len(one))
    made.open()
    for number in range(4):
        made.append(lines(number, number + 1), b"", number, number + 1)
    made.close()
    assert [path.stat().st_size for path in sorted(tmp_path.glob("events-*"))] == [3 * len(one), len(one)]


def test_sv_7_a_restart_goes_on_with_the_next_number(log: EventLog) -> None:
    for first in range(0, 2000, 10):
        write(log, first, first + 10)
    after = again(log)
    assert after.next_seq == 2000
    write(after, 2000, 2003)
    assert numbers(after, 1998) == [1998, 1999, 2000, 2001, 2002]
    assert numbers(after, 3) == numbers(after)[numbers(after).index(3) if 3 in numbers(after) else 0 :]
    after.close()


@pytest.mark.parametrize("torn", [b'{"se', b'{"seq":3,"pad":"xxx', b"\x00" * 5000, b"}"])
def test_sv_7_an_incomplete_last_line_is_removed(log: EventLog, torn: bytes) -> None:
    write(log, 0, 3)
    path = next(log.directory.glob("*.jsonl"))
    with path.open("ab") as file:
        file.write(torn)
    after = again(log)
    assert after.next_seq == 3
    write(after, 3, 5)
    assert numbers(after) == [0, 1, 2, 3, 4]
    assert path.read_bytes() == lines(0, 5)
    after.close()


def test_sv_7_a_reader_skips_garbage_between_the_lines(log: EventLog) -> None:
    write(log, 0, 2)
    path = next(log.directory.glob("*.jsonl"))
    with path.open("ab") as file:
        file.write(b'\n{"seq":x,}\n[]\n{"seq":-4,"pad":1}\n\xff\xfe\n{"seq":1}\n')
    after = again(log)
    write(after, 2, 4)
    assert numbers(after) == [0, 1, 2, 3]
    after.close()


def test_sv_7_two_processes_never_write_to_one_directory(log: EventLog) -> None:
    other = EventLog(log.directory)
    with pytest.raises(BlockingIOError):
        other.open()
    other.close()


def test_sv_7_a_failed_write_leaves_no_part_of_an_event(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, 0, 2)
    really = os.write
    calls = itertools.count()

    def full(descriptor: int, data: bytes) -> int:
        if next(calls) == 0:
            return really(descriptor, data[:50])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="no space"):
            write(log, 2, 4)
    write(log, 4, 6)
    assert numbers(log) == [0, 1, 4, 5], "the gap shows that something is missing"
    assert next(log.directory.glob("*.jsonl")).read_bytes() == lines(0, 2) + lines(4, 6)


def test_sv_7_a_removed_directory_is_created_again(log: EventLog) -> None:
    write(log, 0, 2)
    shutil.rmtree(log.directory)
    write(log, 2, 4)
    assert numbers(log) == [2, 3]


def refuse(log: EventLog, first: int, after: int, size: int = 100) -> None:
    log.append(b"", lines(first, after, size), first, after)


def test_sv_7_refusals_never_push_a_decision_out(log: EventLog) -> None:
    write(log, 0, 5)
    for first in range(5, 10_005, 10):
        refuse(log, first, first + 10, size=1_000)
    write(log, 10_005, 10_007)
    kept = numbers(log, 0, 2**30)
    assert kept[:5] == [0, 1, 2, 3, 4]
    assert kept[-3:] == [10_004, 10_005, 10_006]
    assert 5 not in kept
    assert sum(path.stat().st_size for path in log.directory.glob("refusals-*.jsonl")) <= 2 * 65_536
    page = log.read(3, 250)
    assert [json.loads(event)["seq"] for event in page.events] == [3, 4]
    assert (page.oldest_seq, page.complete_seq, page.next_seq) == (0, kept[5], kept[5])
    assert numbers(log, 10_004) == [10_004, 10_005, 10_006]


def test_sv_7_decisions_and_refusals_are_read_in_the_order_in_which_they_happened(log: EventLog) -> None:
    for number in range(1_000):
        (refuse if number % 3 else write)(log, number, number + 1)
    assert numbers(log, 0, 2**30) == list(range(1_000))
    found: list[int] = []
    while page := numbers(log, len(found), 1_000):
        found += page
    assert found == list(range(1_000))


@pytest.mark.parametrize("last", [write, refuse])
def test_sv_7_numbers_go_on_after_a_restart_whatever_was_recorded_last(
    log: EventLog, last: Callable[[EventLog, int, int], None]
) -> None:
    write(log, 0, 1)
    refuse(log, 1, 2)
    last(log, 2, 4)
    after = again(log)
    assert after.next_seq == 4
    refuse(after, 4, 5)
    write(after, 5, 6)
    assert numbers(after) == [0, 1, 2, 3, 4, 5]
    assert after.read(0, 0).complete_seq == 0
    after.close()


def test_sv_7_the_log_of_an_earlier_release_is_read_on(tmp_path: Path) -> None:
    """It had one series of files, for refusals too."""
    (tmp_path / "events-00000000000000000700.jsonl").write_bytes(lines(700, 710))
    (tmp_path / "events-00000000000000000710.jsonl").write_bytes(lines(710, 720))
    log = EventLog(tmp_path, file_bytes=65_536, files=3)
    log.open()
    refuse(log, 720, 721)
    write(log, 721, 722)
    assert numbers(log) == list(range(700, 722))
    page = log.read(0, 0)
    assert (page.oldest_seq, page.complete_seq, page.next_seq) == (700, 700, 701)
    log.close()


def test_sv_7_what_does_not_fit_into_one_series_does_not_keep_the_other_from_being_written(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append(lines(0, 1), lines(1, 2), 0, 2)
    really = os.write

    def full(descriptor: int, data: bytes) -> int:
        if b'"seq":3' in data:
            raise OSError(28, "No space left on device")
        return really(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(EventsLost, match="no space") as caught:
            log.append(lines(2, 5), lines(5, 7), 2, 7)
    assert caught.value.count == 3
    log.append(lines(8, 9), lines(7, 8), 7, 9)
    assert numbers(log) == [0, 1, 5, 6, 7, 8], "the gap shows that something is missing"


# ------------------------------------------------------------------------------------------------------- recorder


@asynccontextmanager
async def recorder(log: EventLog | None = None, now: int = 1000) -> AsyncIterator[EventRecorder]:
    made = EventRecorder(lambda: now, log, 1000)
    await made.open()
    try:
        yield made
    finally:
        await made.close()


async def recorded(made: EventRecorder) -> list[dict[str, object]]:
    read = await made.read(0, 2**20)
    assert read is not None
    return [json.loads(one) for one in read.events]


async def settled(made: EventRecorder) -> None:
    while made._task is not None:
        await asyncio.sleep(0.001)


async def test_sv_7_an_event_is_one_line_of_json_with_its_time_and_place(tmp_path: Path) -> None:
    async with recorder(EventLog(tmp_path)) as made:
        made.record(7, [Event("move.started", "t", 0, 400, target=(3, 2), who="x"), Event("reassignments.enabled")])
        made.record(8, (Event(name) for name in ("controller.elected",)))
        await settled(made)
        assert await recorded(made) == [
            {
                "seq": 0,
                "at": 1000,
                "server": 1000,
                "epoch": 7,
                "event": "move.started",
                "topic": "t",
                "partition": 0,
                "id": 400,
                "who": "x",
                "target": [3, 2],
            },
            {"seq": 1, "at": 1000, "server": 1000, "epoch": 7, "event": "reassignments.enabled"},
            {"seq": 2, "at": 1000, "server": 1000, "epoch": 8, "event": "controller.elected"},
        ]


async def test_sv_7_ten_thousand_events_do_not_block_the_event_loop_or_flood_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with recorder(EventLog(tmp_path)) as made:
        made.record(1, [Event("move.started", f"topic-{n}", n, target=(1, 2, 3)) for n in range(10_000)])
        turns = 0
        while made._task is not None:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 5
        assert len(list(tmp_path.glob("*.jsonl"))) == 1
        read = await made.read(9_999, 2**20)
        assert read is not None
        assert [json.loads(one)["topic"] for one in read.events] == ["topic-9999"]
    logged = [record.getMessage() for record in caplog.records if "move.started" in record.getMessage()]
    assert len(logged) == LINES + 1
    assert logged[-1].startswith(f"move.started: {10_000 - LINES} more")


async def test_sv_7_a_reader_finds_all_that_was_recorded_before_it_came(tmp_path: Path) -> None:
    async with recorder(EventLog(tmp_path)) as made:
        made.record(1, [Event("move.started", "t", n) for n in range(3_000)])
        read = await made.read(2_999, 2**20)
        assert read is not None
        assert [json.loads(one)["partition"] for one in read.events] == [2_999]


async def test_sv_7_a_full_disk_stops_no_move_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EventLog(tmp_path)
    really = log.append

    def full(decisions: bytes, refusals: bytes, first: int, after: int) -> None:
        raise EventsLost(after - first, OSError(28, "No space left on device"))

    async with recorder(log) as made:
        monkeypatch.setattr(log, "append", full)
        for number in range(3):
            made.record(1, [Event("move.started", "t", number)] * 10)
            await settled(made)
        assert made.lost == 30
        assert sum("no space left" in record.getMessage() for record in caplog.records) == 1
        monkeypatch.setattr(log, "append", really)
        made.record(1, [Event("reassignments.enabled")])
        await settled(made)
        assert [(one["seq"], one["event"]) for one in await recorded(made)] == [(30, "reassignments.enabled")]
        assert sum("takes events again" in record.getMessage() for record in caplog.records) == 1


async def test_sv_7_the_server_warns_and_works_without_a_log_that_it_cannot_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    async with recorder(EventLog(tmp_path / "file")) as made:
        made.record(1, [Event("reassignments.enabled")])
        await settled(made)
        assert await made.read(0, 100) is None
    assert any("no event log is kept" in record.getMessage() for record in caplog.records)
    async with recorder(EventLog(tmp_path / "one")), recorder(EventLog(tmp_path / "one")) as second:
        assert second.event_log is None
    assert any("another process writes there" in record.getMessage() for record in caplog.records)


async def test_sv_7_a_defect_in_one_event_does_not_lose_the_others(tmp_path: Path) -> None:
    def broken() -> Iterable[Event]:
        yield Event("move.started", "t", 0)
        raise ZeroDivisionError

    async with recorder(EventLog(tmp_path)) as made:
        made.record(1, broken())
        made.record(1, [Event("reassignments.enabled")])
        await settled(made)
        assert [one["event"] for one in await recorded(made)] == ["move.started", "reassignments.enabled"]
        assert made.lost == 1


async def test_sv_7_an_event_with_garbage_of_any_length_is_a_line_of_bounded_length(tmp_path: Path) -> None:
    async with recorder(EventLog(tmp_path)) as made:
        made.record(1, [Event("entry.refused", "t" * 10**6, 0, target=tuple(range(10**5)), reason="x" * 10**6)])
        await settled(made)
        read = await made.read(0, 100)
        assert read is not None
        assert len(read.events[0]) < LONGEST
        assert json.loads(read.events[0])["topic"] == "t" * LONGEST_NAME + "… (1000000 characters)"


async def test_sv_7_what_is_as_long_as_its_limit_is_kept_whole_and_one_more_is_cut_off(tmp_path: Path) -> None:
    limits = {"topic": 250, "reason": 1000, "who": 550, "requested_by": 550, "client_id": 280, "route": 280}
    for more in (0, 1):
        async with recorder(EventLog(tmp_path / f"{more}")) as made:
            texts = {name: "x" * (limit + more) for name, limit in limits.items()}
            made.record(1, [replace(Event("move.retargeted", "t", 0), target=tuple(range(100 + more)), **texts)])
            await settled(made)
            [found] = await recorded(made)
        assert found["target"] == [*range(100)]
        for name, limit in limits.items():
            assert found[name] == "x" * limit + (f"… ({limit + 1} characters)" if more else ""), name


async def test_sv_7_each_field_of_an_event_has_a_limit_in_the_log_and_on_standard_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for text in ("t" * 10**6, "\x01" * 10**6, "\U0001f600" * 10**6, "\ud800" * 10**6):
        caplog.clear()
        ids = tuple(range(2**31 - 10**5, 2**31))
        event = Event("move.started", text, 0, 2**63, text, text, text, ids, ids, ids, started=2**63)
        async with recorder(EventLog(tmp_path)) as made:
            made.record(1, [event])
            await settled(made)
            read = await made.read(0, 10**6)
            assert made.lost == 0
        assert read is not None
        assert max(map(len, read.events)) < LONGEST
        assert max(len(record.getMessage()) for record in caplog.records) < 2 * LONGEST, "escapes have ten characters"


async def test_sv_7_an_event_with_half_a_character_is_kept(tmp_path: Path) -> None:
    async with recorder(EventLog(tmp_path)) as made:
        made.record(1, [Event("entry.refused", "a\ud800é", 0, reason="no")])
        await settled(made)
        read = await made.read(0, 100)
        assert read is not None
        assert json.loads(read.events[0])["topic"] == "a\\ud800é"


def refused(number: int, address: str | None = "10.0.0.7") -> Event:
    return Event("move.refused", f"t{number}", 0, who="x", address=address)


async def test_sv_7_refusals_beyond_a_rate_are_counted_and_decisions_are_all_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    count = Counted()
    async with recorder(EventLog(tmp_path)) as made:
        made.counter = count
        for number in range(2_000):
            made.record(1, [refused(number), Event("move.started", f"s{number}", 0)])
        made.record(1, [refused(0, "10.0.0.8")])
    log = EventLog(tmp_path)
    log.open()
    found = [json.loads(one) for one in log.read(0, 2**30).events]
    log.close()
    assert [event["topic"] for event in found if event["event"] == "move.started"] == [f"s{n}" for n in range(2_000)]
    told = [event["topic"] for event in found if event["event"] == "move.refused"]
    assert told == [*(f"t{number}" for number in range(100)), "t0"], "another address has a limit of its own"
    (left_out,) = [event for event in found if event["event"] == "refusals.left_out"]
    assert (left_out["count"], left_out["reason"]) == (1_900, "1900 from 10.0.0.7")
    assert [event["seq"] for event in found] == list(range(2_102)), "no gap: what was left out has no number"
    assert count.events["move.refused"] == 2_001, "the metrics count all"
    shown = [record.getMessage() for record in caplog.records]
    assert sum("move.refused" in text for text in shown) == 101
    assert "refusals.left_out: 1900 from 10.0.0.7" in shown
    assert not any(b"move.started" in path.read_bytes() for path in tmp_path.glob("refusals-*"))
    assert not any(b"refused" in path.read_bytes() for path in tmp_path.glob("events-*"))


async def test_sv_7_what_was_left_out_is_reported_while_the_server_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_recorder, "REPORT_MS", 1)
    async with recorder(EventLog(tmp_path)) as made:
        made.record(1, [refused(number) for number in range(150)])

        async def told() -> bool:
            return (await recorded(made))[-1].get("count") == 50

        await eventually(told)


class Counted:
    """The metrics of a recorder: events by name."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()

    def event(self, event: Event, at: int) -> None:
        self.events[event.event] += 1

    def observe_duration(self, what: str, seconds: float) -> None:
        raise NotImplementedError


def test_sv_7_no_name_or_reason_can_forge_a_line_of_the_log() -> None:
    text = line(Event("entry.refused", "t\n2026-01-01 ERROR: forged", 0, reason="no", who="znode", target=(1,)), 0)
    assert text == "entry.refused t\\n2026-01-01 ERROR: forged-0: to [1]; no (znode)"


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            Event(
                "move.completed",
                "t",
                3,
                who="controller",
                reason="drain",
                target=(4, 5),
                started=1_000,
                copied=3 * 10**8,
            ),
            "move.completed t-3: to [4, 5], 300.0 MB in 3 min 20 s; drain (controller)",
        ),
        (Event("move.completed", "t", 3, target=(4,), started=1_000), "move.completed t-3: to [4], in 3 min 20 s"),
        (Event("move.cancelled", "t", 3, target=(4,), started=1_000), "move.cancelled t-3: to [4], after 3 min 20 s"),
        (Event("move.started", "t", 3, target=(4,), started=200_990), "move.started t-3: to [4]"),
        (Event("throttle.set", broker=5, bytes=5_000_000), "throttle.set broker 5: 5.0 MB/s"),
        (
            Event("throttle.set", broker=5, bytes=700, reason="by somebody else"),
            "throttle.set broker 5: 700 B/s; by somebody else",
        ),
        (Event("throttle.restored", broker=5, reason="no rate"), "throttle.restored broker 5: no rate"),
    ],
)
def test_sv_7_a_line_of_the_log_says_what_moved_how_long_it_took_and_which_rate_holds(event: Event, text: str) -> None:
    assert line(event, 201_000) == text
