"""The status line of long jobs: drawn in place on a terminal, now and then a line elsewhere."""

import io

import pytest

from kafka_reassign_rpc.cli.pipeline_jobs import run_job
from kafka_reassign_rpc.cli.status_line import REPEAT_EVERY_S, Status
from tests.terminal import Terminal


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
    assert "a long status" in drawn
    assert len(drawn) <= 40
    hidden = not terminal.cursor_is_visible
    assert hidden
    status.clear()
    assert terminal.screen() == ["stays [y]"]
    assert terminal.cursor_is_visible
    status.clear()
    assert terminal.screen() == ["stays [y]"]


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
