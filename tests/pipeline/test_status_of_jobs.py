"""What long jobs say of the step that they are at: in one line of a terminal, which goes at the end."""

import sys
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli import pipeline_jobs
from kafka_reassign_rpc.cli.main import main
from tests.pipeline.test_audit import event, write_event_file, write_snapshot
from tests.pipeline.test_export import run
from tests.pipeline.test_plan_room import write_snapshot as write_lost_broker
from tests.terminal import Terminal

pytestmark = pytest.mark.gate

SNAPSHOT = [("t", 0, [1, 2, 3], [1, 2, 3])]


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets each step, not one every few seconds."""
    monkeypatch.setattr(pipeline_jobs, "REPEAT_EVERY_S", 0.0)


@pytest.mark.usefixtures("shared", "every_step")
def test_dp_5_an_audit_says_what_it_is_at(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "s", 5, SNAPSHOT)
    code, _, err = run("audit", "--snapshot", str(tmp_path / "s"), "--out", str(tmp_path / "audit"))
    steps = err.splitlines()
    assert code in (0, 3)
    assert steps == ["reading 1 snapshot", "writing the tables", "drawing the report"]


@pytest.mark.usefixtures("shared", "every_step")
def test_dp_5_history_says_what_it_is_at(tmp_path: Path) -> None:
    write_event_file(tmp_path / "events", [event(0, "move.started", 1, topic="t", partition=0)])
    code, _, err = run("history", "--events", str(tmp_path / "events"), "--master", "local[2]")
    assert code == 0
    assert err.splitlines() == ["starting Spark", "reading the events"]


@pytest.mark.usefixtures("shared", "every_step")
def test_dp_2_plan_verify_says_what_it_is_at(tmp_path: Path) -> None:
    write_lost_broker(tmp_path / "s")
    assert run("plan", "heal", "--snapshot", str(tmp_path / "s"), "--out", str(tmp_path / "p"))[0] == 0
    code, _, err = run("plan", "verify", "--snapshot", str(tmp_path / "s"), "--plan", str(tmp_path / "p"))
    assert (code, err.splitlines()) == (0, ["verifying 1 move in 1 batch"])


@pytest.mark.usefixtures("every_step")
def test_dp_1_an_export_of_events_says_how_many_it_has_read(bootstrap: str, tmp_path: Path) -> None:
    code, out, err = run("export", "--bootstrap-server", bootstrap, "--events", str(tmp_path / "events"))
    count = out.split(": ")[1].split()[0]
    assert code == 0
    assert err.splitlines()[0] == "reading the events of server 1000"
    assert err.splitlines()[-1] == f"reading the events of server 1000: {count} new events so far"


@pytest.mark.usefixtures("shared")
def test_dp_2_a_terminal_shows_the_step_in_one_line_that_goes_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_snapshot(tmp_path / "s", 5, SNAPSHOT)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "40"), ("LINES", "24")):
        monkeypatch.setenv(name, value)
    assert main(["audit", "--snapshot", str(tmp_path / "s")]) in (0, 3)
    assert "reading 1 snapshot" in terminal.getvalue()
    assert terminal.screen() == []
    assert terminal.cursor_is_visible
