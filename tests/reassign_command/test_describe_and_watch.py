"""The pieces that show: sizes, times, bars, the watched screen, completion."""

import io
import shlex
import shutil
import subprocess
from functools import partial

import pytest

from kafka_reassign_rpc.client import ClusterNode, Progress, ProgressSnapshot, TopicPartition, text_format
from kafka_reassign_rpc.reassign_command import action_completion, action_heal
from kafka_reassign_rpc.reassign_command.action_generate import SOME_BROKERS_WITHOUT_RACK, propose
from kafka_reassign_rpc.reassign_command.action_watch import Screen, block, document, summary
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.reassign_command.options import OPTIONS
from kafka_reassign_rpc.reassign_command.output import Output

T = [TopicPartition("t", index) for index in range(30)]


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
    assert text_format.amounts(Progress(10, 40, 3.0, 10.0)) == "10 B of 40 B (25 %), 3 B/s, 10 s left"


def test_240_6_a_json_document_gives_bytes_rate_and_remaining_seconds() -> None:
    move = Progress(10, 40, 2.5, 12.04, {4: 10})
    found = document(ProgressSnapshot({T[3]: move}, Progress(10, None), 0, {}))
    figures = {"done_bytes": 10, "total_bytes": 40, "bytes_per_second": 2, "remaining_seconds": 12.0}
    assert found["moves"] == [{"topic": "t", "partition": 3, **figures, "copied": {"4": 10}, "stalled": None}]
    assert found["total"] == {
        "done_bytes": 10,
        "total_bytes": None,
        "bytes_per_second": None,
        "remaining_seconds": None,
    }


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


def test_240_6_the_screen_shows_those_that_are_furthest_from_their_end() -> None:
    lines = block(snapshot(30), 60, 10)
    assert len(lines) == 8
    assert all(len(line) < 60 for line in lines)
    assert lines[1].startswith("t-0 |")
    assert lines[-1] == "… and 24 more"
    assert len(block(snapshot(3), 80, 24)) == 4
    assert block(snapshot(1), 1, 1)


def test_240_6_one_line_says_how_many_and_who_does_not_answer() -> None:
    assert summary(snapshot(1)) == "1 move in flight, 2 done: 0 B of 100 B (0 %); broker 7 does not answer"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_240_6_a_terminal_is_drawn_over_and_anything_else_gets_a_line_when_something_changed() -> None:
    terminal, plain = Terminal(), io.StringIO()
    for stream in (terminal, plain):
        times = [0.0]
        screen = Screen(Output(stream, as_json=False), partial(max, times))
        for done in (0, 0, 5):
            screen.show(snapshot(2, done))
        times.append(40.0)
        screen.show(snapshot(2, 5))
        screen.say("hm")
        screen.end(snapshot(0), 3.0)
    assert terminal.getvalue().count("\x1b[3A\x1b[J") == 4
    lines = plain.getvalue().splitlines()
    assert [line[:6] for line in lines[:3]] == ["2 move"] * 3
    assert lines[3:] == ["hm", "Nothing moves any more: 2 partitions, 0 B, 3 s."]


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
def test_236_12_bash_completes_every_option() -> None:
    for words, wanted in (
        ("kafka-reassign --reass", ["--reassignment-json-file"]),
        ("kafka-reassign --completion z", ["zsh"]),
        ("kafka-reassign --broker-list 1", []),
        ("kafka-reassign he", ["heal"]),
        ("kafka-reassign heal ''", [f"--{option.name}" for option in action_heal.options()]),
        ("kafka-reassign heal --d", ["--dry-run"]),
        ("kafka-reassign heal --now 3", []),
        ("kafka-reassign ''", [f"--{option.name}" for option in OPTIONS]),
    ):
        script = (
            f"{action_completion.script('bash')}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n"
            'complete -p kafka-reassign >/dev/null && _kafka_reassign && printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert (done.stdout.split(), done.stderr) == (wanted, "")


def test_236_12_zsh_has_a_line_for_every_option_and_other_shells_are_refused() -> None:
    script = action_completion.script("zsh")
    assert script.startswith("#compdef kafka-reassign\n")
    assert all(f"'--{option.name}[" in script for option in (*OPTIONS, *action_heal.options()))
    assert len(shlex.split(script, comments=True)) > len(OPTIONS)  # every quote is closed
    with pytest.raises(CommandFailed, match="bash or zsh"):
        action_completion.script("fish")
