"""What a run costs: its own processes and theirs."""

import os
import sys

import pytest

from tests import budget
from tests.budget import BUDGETS, verdict


def test_the_line_names_cost_and_budget_and_a_run_over_it_fails() -> None:
    most = 60 * BUDGETS["test"].cpu_min
    line = "test: 15.0 of 15 CPU minutes (goal: 15), 9.0 minutes by the clock (goal: 10)"
    assert verdict("test", most, 540) == (line, True)
    assert verdict("test", most + 1, 540) == (f"{line}: over its budget", False)


SPENDS = "import time\nwhile time.process_time() < 0.7: pass"
"""Seconds of CPU."""


@pytest.mark.parametrize(("seconds", "code", "ends_with"), [(60, 0, 0), (60, 3, 3), (0.5, 0, 1), (0.5, 3, 3)])
def test_the_processes_of_its_processes_count_and_a_failure_stays_one(
    seconds: float, code: int, ends_with: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPENDS!r}]); sys.exit({code})"
    monkeypatch.setitem(budget.BUDGETS, "check", budget.Budget(cpu_min=seconds / 60, goal_min=1, wall_min=1))
    times, before = os.times, os.times()
    monkeypatch.setattr(os, "times", lambda: since(before, times()))
    assert budget.run("check", (sys.executable, "-c", child)) == ends_with
    assert capfd.readouterr().err.rstrip().endswith("over its budget") == (seconds < 1)


def since(before: os.times_result, now: os.times_result) -> os.times_result:
    return os.times_result(then - former for former, then in zip(before, now, strict=True))
