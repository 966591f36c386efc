"""The status line of long jobs: drawn in place on a terminal, now and then a line elsewhere."""

import io
import subprocess
import sys

import pytest

from kafka_reassign_rpc.cli.pipeline_jobs import REPEAT_EVERY_S, Status, run_job
from tests.terminal import Terminal
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def terminal_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TERM", "xterm"), ("COLUMNS", "40"), ("LINES", "24")):
        monkeypatch.setenv(name, value)


def test_sv_1_a_pipe_gets_a_status_line_every_few_seconds_and_each_line_that_stays() -> None:
    now, pipe = 0.0, io.StringIO()
    status = Status(pipe, lambda: now)
    status.show("begins")
    status.say("stays")
    now = REPEAT_EVERY_S
    status.show("goes on")
    status.show("too soon")
    status.clear()
    assert pipe.getvalue() == "stays\ngoes on\n"


def test_sv_1_a_terminal_shows_one_status_line_in_one_row_below_the_lines_that_stay() -> None:
    terminal = Terminal()
    status = Status(terminal)
    status.show("reading [x]")
    status.say("stays [y]")
    status.show("a long status " * 10)
    assert terminal.screen()[0] == "stays [y]"
    [_, drawn] = terminal.screen()
    assert "a long" in drawn
    assert len(drawn) <= 40
    hidden = not terminal.cursor_is_visible
    assert hidden
    status.clear()
    assert terminal.screen() == ["stays [y]"]
    assert terminal.cursor_is_visible
    status.clear()
    assert terminal.screen() == ["stays [y]"]


async def test_sv_1_a_terminal_shows_what_the_job_does_now_and_for_how_long_it_has_been_at_work() -> None:
    now, terminal = 100.0, Terminal()
    status = Status(terminal, lambda: now)
    status.show("reading table 1 of 7")
    assert terminal.screen()[0].endswith(" reading table 1 of 7 0 s")
    now += 75
    status.show("reading table 2 of 7")
    await eventually(lambda: terminal.screen()[0].endswith(" reading table 2 of 7 1 min 15 s"))
    status.show("a long status " * 10)
    await eventually(lambda: "a long" in terminal.screen()[0])
    assert terminal.screen()[0].endswith("… 1 min 15 s"), "the text gives way to the time"
    assert len(terminal.screen()[0]) <= 40
    status.clear()
    assert terminal.screen() == []


def test_sv_1_a_job_that_draws_nothing_does_not_import_rich() -> None:
    program = (
        "import io, sys; from kafka_reassign_rpc.cli.pipeline_jobs import Status; Status(io.StringIO()).show('x');"
        " print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_sv_1_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    now, terminal = 0.0, Terminal()
    status = Status(terminal, lambda: now)
    now = REPEAT_EVERY_S
    status.show("goes on")
    assert terminal.getvalue() == "goes on\n"


def test_sv_1_a_job_that_fails_leaves_no_status_line_and_no_hidden_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()

    def job() -> int:
        Status(terminal).show("starting")
        raise OSError("no disk")

    assert run_job("audit", job) == 1
    assert terminal.screen() == []
    assert terminal.cursor_is_visible
    assert capsys.readouterr().err == "kafka-reassign-rpc audit: no disk\n"
