"""A run of tests with three processes, as CI and as a developer would run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scheduling import PATIENT

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests.conftest import pytest_collection_finish
from tests.scheduling import Units

def pytest_xdist_make_scheduler(config, log):
    return Units(config, log, ())
"""
TEST = """
import os
import pytest

@pytest.mark.parametrize("number", range(3))
def test_something(number):
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(f"{os.environ['PYTEST_XDIST_WORKER']} {os.nice(0)} {__file__.split('/')[-2]}\\n")
"""
ROOMS = ("core", "faults")


def run_of(folder: Path, ci: str) -> set[tuple[str, int, str]]:
    """For each process of the run: its name, by how much its priority is lower, and a room of which it had tests."""
    (folder / "conftest.py").write_text(CONFTEST)
    for room in ROOMS:
        (folder / "tests" / room).mkdir(parents=True)
        for number in range(4):
            (folder / "tests" / room / f"test_{room}_{number}.py").write_text(TEST)
    seen = folder / "seen"
    options = ["--numprocesses", "3", "--dist", "loadfile", "-p", "no:cacheprovider", "--import-mode", "importlib"]
    environment = {**os.environ, "CI": ci, "SEEN": str(seen), "PYTHONPATH": str(ROOT)}
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--rootdir={folder}", *options, str(folder)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in seen.read_text().splitlines()]
    assert len(lines) == 24, "each test ran once"
    own = os.nice(0)
    return {(process, int(niceness) - own, room) for process, niceness, room in lines}


def test_in_ci_a_third_process_of_low_priority_has_only_tests_that_no_clock_hurries(
    tmp_path: Path,
) -> None:
    found = run_of(tmp_path, "true")
    assert {one[1:] for one in found if one[0] == PATIENT} == {(10, "core")}
    assert {niceness for process, niceness, _ in found if process != PATIENT} == {0}
    assert "faults" in {room for process, _, room in found if process != PATIENT}


@pytest.mark.parametrize("ci", ["", "false"])
def test_elsewhere_all_processes_are_alike(ci: str, tmp_path: Path) -> None:
    assert {niceness for _, niceness, _ in run_of(tmp_path, ci)} == {0}
