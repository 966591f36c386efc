"""How the command shows things: sizes, times, bars, the screen of --watch, completion scripts."""

import io
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len

from kafka_reassign_rpc.client import (
    NO_THROTTLE,
    ClusterNode,
    LogDirProgressTracker,
    LogDirs,
    PartitionReassignment,
    Progress,
    ProgressSnapshot,
    Reassignment,
    ReassignmentDescription,
    ReplicaLogDir,
    TopicPartition,
    text_format,
)
from kafka_reassign_rpc.client.move_progress import read_progress
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.reassign_command import action_describe, action_list, action_watch
from kafka_reassign_rpc.reassign_command.action_context import Output
from kafka_reassign_rpc.reassign_command.action_describe import grouped
from kafka_reassign_rpc.reassign_command.action_generate import SOME_BROKERS_WITHOUT_RACK, propose
from kafka_reassign_rpc.reassign_command.action_watch import ProgressReporter, WatchScreen, document, summary
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.reassign_command.main import COMMANDS, main, parser
from kafka_reassign_rpc.reassign_command.options import OPTIONS
from kafka_reassign_rpc.support import quiet_arguments
from tests.python_client.move_documents import move_document
from tests.status_page.views import STEP_S, cluster_of, move, sample, server_of, term_of
from tests.terminal import Terminal

T = [TopicPartition("t", index) for index in range(30)]


@pytest.fixture(autouse=True)
def terminal_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not depend on the terminal on which they run."""
    for name, value in (("TERM", "xterm"), ("COLUMNS", "90"), ("LINES", "24")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_960, "1.0 MB"), (2.5e15, "2.5 PB")],
)
def test_240_6_sizes_have_decimal_units(count: float, text: str) -> None:
    assert text_format.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (3600, "1 h 0 min"), (90_000, "1 d 1 h")],
)
def test_240_6_times_have_two_units(seconds: float, text: str) -> None:
    assert text_format.duration(seconds) == text


def test_240_6_bars_have_their_width_whatever_the_share() -> None:
    assert text_format.bar(0.5, 4) == "██  "
    assert text_format.bar(0.54, 4) == "██▏ "
    for share in (None, 0.0, 0.999, 1.0):
        assert len(text_format.bar(share, 7)) == 7


def test_240_6_only_what_is_all_there_is_100_percent() -> None:
    assert "(99 %)" in text_format.amounts(Progress(9_999, 10_000))
    assert text_format.amounts(Progress(5, None)) == "5 B of an unknown size"
    assert text_format.amounts(Progress(None, None)) == "size unknown"
    assert text_format.amounts(Progress(10, 40, 3.0, 10.0)) == "10 B of 40 B (25 %), 3 B/s, 10 s left"


def test_240_6_a_json_document_gives_bytes_rate_and_remaining_seconds() -> None:
    move = Progress(10, 40, 2.5, 12.04, {4: 10})
    found = document(ProgressSnapshot({T[3]: move}, Progress(10, None), 0, {}))
    figures = {"done_bytes": 10, "total_bytes": 40, "bytes_per_second": 2, "remaining_seconds": 12.0}
    assert found["moves"] == [
        {
            "topic": "t",
            "partition": 3,
            **figures,
            "no_estimate": None,
            "copied": {"4": 10},
            "stalled": None,
            "waits_for": None,
        }
    ]
    assert found["total"] == {
        "done_bytes": 10,
        "total_bytes": None,
        "bytes_per_second": None,
        "remaining_seconds": None,
        "no_estimate": None,
    }


def description(topic: str, index: int, at: int) -> ReassignmentDescription:
    name = Reassignment(TopicPartition(topic, index), 4_294_967_321)
    throttles = dict.fromkeys((1001, 1002, 1003, 1004), 5_000_000)
    return ReassignmentDescription(name, at, 1000, NO_THROTTLE, throttles)


def test_240_1_the_moves_of_a_request_are_listed_together() -> None:
    moves = [
        (description("b", 0, 5_000), "rpc", "drain"), (description("a", 1, 1_500), "rpc", ""),
        (description("a", 0, 3_000), "rpc", ""), (description("c", 0, 5_100), "rpc", "drain"),
        (description("c", 1, 9_000), "rpc", "drain"), (description("d", 0, 1_500), "heal", ""),
    ]  # fmt: skip
    listed = {
        one.reassignment.topic_partition: PartitionReassignment((1,), route=route, reason=reason)
        for one, route, reason in moves
    }
    groups = grouped([one for one, *_ in moves], listed)
    names = [[str(one.reassignment.topic_partition) for one in group] for group in groups]
    assert sorted(names) == [["a-0", "a-1"], ["b-0", "c-0"], ["c-1"], ["d-0"]]
    assert names[-2:] == [["b-0", "c-0"], ["c-1"]], "the oldest first"


def waiting_document(topic: str, index: int, waits_for: str) -> SimpleNamespace:
    return SimpleNamespace(topic=topic, partition=index, waits_for=waits_for)


def pages_of(*found: SimpleNamespace) -> Callable[..., SimpleNamespace]:
    def page(*, state: str, limit: int, offset: int) -> SimpleNamespace:
        assert state == "waiting"
        return SimpleNamespace(count=len(found), moves=found[offset : offset + limit])

    return page


def test_240_1_a_description_says_of_each_of_many_moves_what_it_waits_for() -> None:
    many = [waiting_document("w", at, f"place {at}") for at in range(2 * action_describe.MOVES_PER_PAGE + 1)]
    client: Any = SimpleNamespace(moves=pages_of(*many))
    found = action_describe.why_they_wait(client)
    assert found == {TopicPartition("w", at): f"place {at}" for at in range(len(many))}


def test_240_1_a_description_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    topic = "t" * 60
    waiting = PartitionReassignment((1,), tuple(range(1000, 1040)), state="waiting", reason="why " * 100, route="queue")
    reason = "drain " * 100
    moving = PartitionReassignment((1001, 1002, 1003, 1), (1001, 1002), (1,), id=4_294_967_321, reason=reason)
    found = description(topic, 0, 1_500)
    figures = {"bytes_total": 2 * 10**15, "bytes_copied": 1, "copied": {1001: 1, 1002: 0}, "remaining_ms": 10**9}
    told = move_document((topic, 0), **figures, stalled="because " * 50)
    client: Any = SimpleNamespace(
        describe_reassignments=lambda _=None: {found.reassignment: found},
        list_partition_reassignments=lambda _=None: {
            found.reassignment.topic_partition: moving,
            TopicPartition("w", 0): waiting,
        },
        moves_in_flight=lambda _: [told],
        describe_log_dirs=lambda _: [],
        moves=pages_of(waiting_document("w", 0, "a window: 22:00-04:00, opens in 2 h")),
    )
    context: Any = SimpleNamespace(client=client, output=Output(sys.stdout, as_json=False))
    action_describe.run(context)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    shown = " ".join(" ".join(lines).split())
    assert f"1 move by rpc, started 1970-01-01 00:00:01 UTC: {reason.strip()} {topic}-0, id 4294967321" in shown
    assert "1 waiting move by queue: why why" in shown
    assert "w-0, adds 1000, " in shown
    assert "1039, waits for a window: 22:00-04:00, opens in 2 h" in shown
    assert "1 B of 2.0 PB, 11 d 13 h left; to 1001 (5.0 MB/s), 1002 (5.0 MB/s)" in shown
    assert "1003 (" not in shown, "it holds the partition already"
    assert f"{topic}-0 is stalled: because because" in shown


def test_240_1_a_reason_in_wide_characters_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "\u78c1\u76d8" * 60 + " a"
    found = description("t", 0, 1_500)
    move = PartitionReassignment((1001, 1), (1001,), (1,), id=4_294_967_321, reason=reason)
    client: Any = SimpleNamespace(
        describe_reassignments=lambda _=None: {found.reassignment: found},
        list_partition_reassignments=lambda _=None: {found.reassignment.topic_partition: move},
        describe_log_dirs=lambda _: [],
        moves_in_flight=lambda _: [],
        moves=pages_of(waiting_document("w", 0, "a window: 22:00-04:00, opens in 2 h")),
    )
    context: Any = SimpleNamespace(client=client, output=Output(sys.stdout, as_json=False))
    action_describe.run(context)
    lines = capsys.readouterr().out.splitlines()
    wide = [line for line in lines if "\u78c1" in line]
    assert len(wide) == 4
    assert [cell_len(line) for line in wide[:-1]] == [80, 80, 80]
    assert sum(line.count("\u78c1") for line in wide) == 60


def test_240_1_a_longest_name_stays_whole_and_a_longest_word_of_a_reason_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [f"{'n' * 244}{number:05d}" for number in range(2_000)]
    reason = f"\x1b[31m\n{'W' * 1000}"[:1000]
    move = PartitionReassignment((1001, 1), (1001,), (1,), id=4_294_967_321, reason=reason)
    described = [description(name, 0, 1_500) for name in names]
    client: Any = SimpleNamespace(
        describe_reassignments=lambda _=None: {one.reassignment: one for one in described},
        list_partition_reassignments=lambda _=None: {one.reassignment.topic_partition: move for one in described},
        describe_log_dirs=lambda _: [],
        moves_in_flight=lambda _: [],
        moves=pages_of(waiting_document("w", 0, "a window: 22:00-04:00, opens in 2 h")),
    )
    context: Any = SimpleNamespace(client=client, output=Output(sys.stdout, as_json=False))
    action_describe.run(context)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() for line in lines), "no line end, and nothing that a terminal obeys"
    long = [line for line in lines if len(line) > 80]
    assert long == [f"  {name}-0," for name in names], "names can be copied whole; nothing else is longer"
    assert len(lines) < 4 * len(names)

    action_list.run(context)
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 1 + len(names), "one line each"
    assert all(line.isprintable() for line in listed)
    assert listed[1].startswith(f"{names[0]}-0: replicas: 1001,1.")
    assert listed[1].endswith("W" * 900)


def test_240_6_a_move_that_does_not_get_on_says_why() -> None:
    stalled = Progress(10, 40, 0.0, stalled="broker 4 is dead")
    assert text_format.amounts(stalled) == "10 B of 40 B (25 %), 0 B/s; stalled: broker 4 is dead"
    seen = ProgressSnapshot({T[0]: stalled, T[1]: Progress(1, 1)}, Progress(11, 41), 0, {})
    assert summary(seen).startswith("2 moves in flight, 1 stalled: ")
    assert document(seen)["stalled"] == 1
    assert [move["stalled"] for move in document(seen)["moves"]] == ["broker 4 is dead", None]


def snapshot(count: int, done: int = 0) -> ProgressSnapshot:
    moves = {T[index]: Progress(index, 100) for index in range(count)}
    return ProgressSnapshot(moves, Progress(done, 100 * max(1, count)), 2, {7: "gone"})


def drawn(shown: ProgressSnapshot, monkeypatch: pytest.MonkeyPatch, columns: int, rows: int) -> list[str]:
    """The screen of a terminal of this size."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(rows))
    terminal = Terminal()
    screen = WatchScreen(terminal)
    screen.show(summary(shown), shown)
    screen.close(erase=False)
    assert terminal.cursor_is_visible
    return terminal.screen()


def test_240_6_the_screen_shows_the_moves_that_are_furthest_from_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn(snapshot(30), monkeypatch, 60, 10)
    assert len(lines) == 9, "the cursor needs a line, too"
    assert all(len(line) <= 60 for line in lines)
    assert lines[0].startswith("30 moves in flight, 2 ended: ")
    assert [line.split()[0] for line in lines[2:8]] == [f"t-{number}" for number in range(6)]
    assert lines[-1] == "… and 24 more"
    assert len(drawn(snapshot(3), monkeypatch, 80, 24)) == 5
    assert drawn(snapshot(1), monkeypatch, 1, 1)


def test_240_6_a_row_of_the_screen_has_the_partition_a_bar_and_the_progress_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unknown, stalled = Progress(5, None), Progress(50, 100, 0.0, stalled="broker [4] is dead")
    shown = ProgressSnapshot({T[0]: stalled, T[1]: unknown}, Progress(55, 100), 0, {})
    monkeypatch.setenv("NO_COLOR", "1")
    _, heading, *rows = drawn(shown, monkeypatch, 120, 24)
    assert heading.split() == ["Partition", "Progress", "Copied"]
    assert rows[0].split(maxsplit=2)[:2] == ["t-0", "━" * 12]
    assert rows[0].endswith("50 B of 100 B (50 %), 0 B/s; stalled: broker [4] is dead")
    assert rows[1].split(maxsplit=2) == ["t-1", "?" * 24, "5 B of an unknown size"]
    assert drawn(shown, monkeypatch, 40, 24)[2].startswith("t-0 "), "where there is no room the words are cut off"


def test_240_6_at_80_columns_a_row_ends_with_the_rate_and_the_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    progress = Progress(136_600_000, 150_000_000, 997_400.0, 73.0)
    shown = ProgressSnapshot({T[0]: progress}, progress, 0, {})
    for columns, filled in ((80, 9), (120, 21)):  # 91 % of 10 cells, and of 24
        row = drawn(shown, monkeypatch, columns, 24)[2]
        assert row.endswith("136.6 MB of 150.0 MB (91 %), 997.4 kB/s, 1 min 13 s left")
        assert row.count("━") == filled


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_240_6_the_longest_names_leave_room_for_the_bar_and_the_words(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    progress = Progress(136_600_000, 150_000_000, 997_400.0, 73.0)
    names = [TopicPartition(f"{'n' * 244}{number:05d}", 7) for number in range(20_000)]
    lines = drawn(ProgressSnapshot(dict.fromkeys(names, progress), progress, 0, {}), monkeypatch, columns, 24)
    assert len(lines) == 23
    assert max(map(len, lines)) <= columns
    assert lines[-1] == "… and 19980 more"
    for number, row in enumerate(lines[2:-1]):
        name, bar, words = row.split(maxsplit=2)
        assert name.startswith("nnnnn")
        assert name.endswith(f"{number}-7"), "rows can be told apart"
        assert set(bar) <= set("━╸")
        assert words == "136.6 MB of 150.0 MB (91 %), 997.4 kB/s, 1 min 13 s left"


def test_240_6_one_line_says_how_many_and_who_does_not_answer() -> None:
    assert summary(snapshot(1)) == "1 move in flight, 2 ended: 0 B of 100 B (0 %); broker 7 does not answer"


class Ending:
    """A server whose one move, to broker 3, ends after the first look; by then its own sums begin at 0 again."""

    def __init__(self, *, tells_sizes: bool = True) -> None:
        self.tells_sizes = tells_sizes
        move = PartitionReassignment((3, 1), (3,), (1,), id=7)
        self.listed = [{TopicPartition("t", 0): move}, {}]

    def list_partition_reassignments(self, _: Any = None) -> Any:
        return self.listed.pop(0)

    def moves_in_flight(self, _: Any = None) -> Any:
        return []

    def describe_log_dirs(self, asked: Any) -> Any:
        held = {1: 5_000_000, 3: 1_000_000}
        if not self.tells_sizes:
            return [LogDirs(one, error="no answer") for one in asked]
        return [LogDirs(one, {TopicPartition("t", 0): ReplicaLogDir(size=held[one])}) for one in asked]

    def status(self) -> Status:
        return status_of(server_of(term_of(cluster_of({}))), at=1, version="1", full=True)


@pytest.mark.parametrize(("tells_sizes", "size"), [(True, "5.0 MB"), (False, "an unknown size")])
def test_240_6_the_last_line_has_the_bytes_that_were_watched_whatever_the_server_still_knows(
    tells_sizes: bool, size: str
) -> None:
    stream = io.StringIO()
    context: Any = SimpleNamespace(client=Ending(tells_sizes=tells_sizes), output=Output(stream, as_json=False))
    action_watch.follow(context, None, clock=lambda: 0.0, sleep=lambda _: None)
    assert stream.getvalue().splitlines()[-1] == f"Nothing moves any more: 1 partition, {size}, 0 s."


def test_240_6_where_nothing_moves_the_line_says_that_and_no_share() -> None:
    nothing = ProgressSnapshot({}, Progress(0, 0, None, 0.0), 0, {})
    assert summary(nothing) == "Nothing moves."
    assert summary(replace(nothing, waiting=3, finished=2)) == "Nothing moves, 3 waiting, 2 ended."


def test_240_6_a_terminal_is_drawn_over_and_anything_else_gets_a_line_when_something_changed() -> None:
    terminal, plain = Terminal(), io.StringIO()
    for stream in (terminal, plain):
        times = [0.0]
        with ProgressReporter(Output(stream, as_json=False), partial(max, times)) as reporter:
            for done in (0, 0, 5):
                reporter.show(snapshot(2, done))
            times.append(40.0)
            reporter.show(snapshot(2, 5))
            reporter.print_line("hm [x]")
            if stream is terminal:
                assert [line.split()[0] for line in terminal.screen()] == ["hm", "2", "Partition", "t-0", "t-1"]
            reporter.end(snapshot(0), 3.0)
    end = "Nothing moves any more: 2 partitions, 0 B, 3 s."
    assert terminal.screen() == ["hm [x]", end]
    assert terminal.cursor_is_visible
    lines = plain.getvalue().splitlines()
    assert [line[:6] for line in lines[:3]] == ["2 move"] * 3
    assert lines[3:] == ["hm [x]", end]
    assert "\x1b" not in plain.getvalue()


def test_240_6_what_was_drawn_stays_and_the_cursor_is_back_where_watch_is_interrupted() -> None:
    terminal = Terminal()

    def watch() -> None:
        with ProgressReporter(Output(terminal, as_json=False), lambda: 0.0) as reporter:
            reporter.show(snapshot(2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch()
    assert [line.split()[0] for line in terminal.screen()] == ["2", "Partition", "t-0", "t-1"]
    assert terminal.cursor_is_visible


def test_240_6_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    with ProgressReporter(Output(terminal, as_json=False), lambda: 0.0) as reporter:
        reporter.show(snapshot(2))
    assert terminal.getvalue() == summary(snapshot(2)) + "\n"


def test_236_12_generate_keeps_the_replication_factor_of_the_first_partition() -> None:
    nodes = [ClusterNode(id_, "h", 1, rack) for id_, rack in ((1, "a"), (2, "b"), (3, None))]
    current = {T[0]: (1, 2), T[1]: (3,), TopicPartition("u", 0): (5,)}
    found = propose(current, nodes, rack_aware=False, below=lambda _: 0)
    assert found == {T[0]: (1, 2), T[1]: (2, 3), TopicPartition("u", 0): (1,)}
    with pytest.raises(CommandFailed, match=SOME_BROKERS_WITHOUT_RACK):
        propose(current, nodes, rack_aware=True)
    with pytest.raises(CommandFailed, match="larger than available brokers: 0"):
        propose(current, [], rack_aware=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_236_12_bash_completes_every_command_and_option() -> None:
    bash = quiet_arguments.script(parser(), "bash")
    for words, wanted in (
        ("kafka-reassign --reass", ["--reassignment-json-file"]),
        ("kafka-reassign --completion z", ["zsh"]),
        ("kafka-reassign --broker-list 1", []),
        ("kafka-reassign he", ["heal"]),
        ("kafka-reassign se", ["settings"]),
        ("kafka-reassign settings --m", ["--move"]),
        ("kafka-reassign heal --d", ["--dry-run"]),
        ("kafka-reassign heal --now 3", []),
        ("kafka-reassign ''", [*COMMANDS]),
        ("kafka-reassign --", [f"--{option.name}" for option in OPTIONS]),
        # As in the README: options before the command. Bash divides words at colons and equals signs.
        ("kafka-reassign --bootstrap-server localhost : 9092 mo", ["move"]),
        ("kafka-reassign --bootstrap-server localhost : 9092 move payments --th", ["--throttle"]),
        ("kafka-reassign --command-config = f --json settings --m", ["--move"]),
    ):
        script = (
            f"{bash}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n"
            'complete -p kafka-reassign >/dev/null && _shtab_kafka_reassign && printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert (done.stdout.split(), done.stderr) == (wanted, ""), words


def test_236_12_each_shell_has_every_option_of_every_command_and_other_shells_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = parser()
    for shell in quiet_arguments.SHELLS:
        assert main(["--completion", shell]) == 0
        script = capsys.readouterr().out
        if shell == "zsh":
            assert script.startswith("#compdef kafka-reassign\n")
        for where, one in (("", root), *root.commands().items()):
            assert where in script
            for name in (name for action in one._actions for name in action.option_strings if name.startswith("--")):
                assert re.search(rf"\b{name[2:]}\b", script), (shell, where, name)
    fish = quiet_arguments.script(parser(), "fish").splitlines()
    for name, one in root.commands().items():
        said = [line for line in fish if f" -n '_shtab_kafka_reassign_using {name}'" in line and " -l " in line]
        assert len(said) == len([action for action in one._actions if action.option_strings]), name
    assert main(["--completion", "ksh"]) == 1
    assert "expected one of bash, zsh, fish, tcsh, got" in capsys.readouterr().err


def status_after(copied: int, ended: int = 0) -> Status:
    """Of a server with one move of 10,000 bytes in flight, and `ended` ones of 500 that are over."""
    cluster, tracker = cluster_of({"t": {0: move((1,), (3,))}}), ProgressTracker(10 * STEP_S)
    for turn, size in enumerate((0, copied)):
        sample(tracker, cluster, turn * STEP_S, {1: {"t": {0: 10_000}}, 3: {"t": {0: size}}})
    for _ in range(ended):
        tracker.sums.all.end(500)
    return status_of(server_of(term_of(cluster, tracker)), at=1, version="1", full=True)


class Sampling(Ending):
    """A server that takes a sample between two questions: the first description is older than its document."""

    def __init__(self, status: Status, copied: Sequence[int]) -> None:
        super().__init__()
        self.asked = 0
        self._status, self._copied = status, copied
        [(name, moving)] = self.listed[0].items()
        self._name, self._moving = name, moving
        self.ends = False

    def list_partition_reassignments(self, _: Any = None) -> Any:
        return {} if self.ends else {self._name: self._moving}

    def moves_in_flight(self, _: Any = None) -> Any:
        copied = self._copied[min(self.asked, len(self._copied) - 1)]
        self.asked += 1
        return [move_document(self._name, bytes_total=10_000, bytes_copied=copied, copied={3: copied})]

    def status(self) -> Status:
        return self._status


def test_240_6_headline_and_rows_of_a_look_are_of_one_sample() -> None:
    server = Sampling(status_after(3000), [2000, 3000])
    _, seen = read_progress(server, LogDirProgressTracker(), 0.0, with_document=True)
    assert [one.done for one in seen.moves.values()] == [3000]
    assert (server.asked, seen.total.done) == (2, 3000)
    never = Sampling(status_after(3000), [2000])
    _, seen = read_progress(never, LogDirProgressTracker(), 0.0, with_document=True)
    assert (never.asked, seen.total.done) == (3, 3000), "not without end"


def test_240_6_a_watch_ends_with_the_sums_that_it_showed(capsys: pytest.CaptureFixture[str]) -> None:
    """Two moves were over before it began."""
    server = Sampling(status_after(4000, ended=2), [4000])
    output, tracker = Output(sys.stdout, as_json=False), LogDirProgressTracker()
    with ProgressReporter(output, lambda: 0.0) as reporter:
        reporter.show(read_progress(server, tracker, 0.0, with_document=True)[1])
        server.ends = True
        reporter.end(read_progress(server, tracker, 1.0, with_document=True)[1], 5.0)
    shown, end = capsys.readouterr().out.splitlines()
    assert shown.startswith("1 move in flight, 2 ended: 5.0 kB of 11.0 kB (45 %)")
    assert end == "Nothing moves any more: 3 partitions, 11.0 kB, 5 s."
