"""A run of tests that fail at their first attempt, as CI would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.second_attempts import MOST_ALONE, MOST_RERUNS

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests import second_attempts
from tests.conftest import pytest_runtest_makereport, pytest_runtest_teardown, pytest_sessionfinish

def pytest_collection_modifyitems(items):
    second_attempts.allow(items)
"""
TESTS = """
import pytest
from tests.second_attempts import attempt

@pytest.mark.parametrize("number", range({count}))
def test_that_is_in_time_the_second_time(number, request):
    print("what was seen of number", number)
    assert attempt(request.node) == {passes_at}
"""


FAIL_UNTIL_ALONE = """
import os
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_that_passes_alone(number):
    assert "ALONE" in os.environ
"""
ONE_IS_SKIPPED = (
    FAIL_UNTIL_ALONE
    + """
def test_that_is_skipped():
    pytest.skip("no reason")
"""
)

WITH_FIXTURES = """
import itertools
import pytest

runs, modules, left = itertools.count(1), itertools.count(1), []

@pytest.fixture(scope="session")
def of_the_run():
    return next(runs)

@pytest.fixture(scope="module")
def of_the_module(of_the_run):
    number = next(modules)
    yield number
    left.append(number)

def test_before(of_the_module):
    assert of_the_module == 1

def test_that_passes_on_a_fresh_module(of_the_run, of_the_module):
    assert (of_the_run, of_the_module, left) == (1, 2, [1])

def test_after(of_the_run, of_the_module):
    assert (of_the_run, of_the_module, left) == (1, 2, [1])

def test_after_that(of_the_module):
    assert of_the_module == 2
"""


def run(
    directory: Path, *options: str, count: int = 0, passes_at: int = 2, ci: str = "true", tests: str = TESTS
) -> subprocess.CompletedProcess[str]:
    directory.joinpath("conftest.py").write_text(CONFTEST)
    directory.joinpath("test_some.py").write_text(tests.format(count=count, passes_at=passes_at))
    options = ("-q", "-p", "no:asyncio", "--rootdir", str(directory), *options)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**inherited, "CI": ci, "PYTHONPATH": str(ROOT)}
    command = (sys.executable, "-m", "pytest", *options, str(directory))
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_in_ci_a_test_may_fail_once_and_the_end_of_the_run_shows_why(tmp_path: Path) -> None:
    result = run(tmp_path, count=MOST_RERUNS)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"{MOST_RERUNS} passed, {MOST_RERUNS} rerun" in result.stdout
    assert "failed at the first attempt: test_some.py::test_that_is_in_time_the_second_time[4]" in result.stdout
    assert "assert 1 == 2" in result.stdout
    assert "what was seen of number 4" in result.stdout


def test_a_second_attempt_has_fresh_fixtures_but_for_those_of_the_whole_run(tmp_path: Path) -> None:
    result = run(tmp_path, tests=WITH_FIXTURES)
    assert (result.returncode, result.stderr) == (0, "")
    assert "4 passed, 1 rerun" in result.stdout


@pytest.mark.parametrize(
    ("count", "passes_at", "ci", "said"),
    [
        (1, 3, "true", "1 failed, 1 rerun"),
        (1, 2, "", "1 failed"),
        (MOST_RERUNS + 1, 2, "true", f"{MOST_RERUNS + 1} tests failed at the first attempt, at most {MOST_RERUNS} may"),
    ],
    ids=["fails twice", "not in CI", "many fail once"],
)
def test_a_run_fails_all_the_same(tmp_path: Path, count: int, passes_at: int, ci: str, said: str) -> None:
    result = run(tmp_path, count=count, passes_at=passes_at, ci=ci)
    assert result.returncode == 1
    assert said in result.stdout


@pytest.mark.parametrize(
    ("tests", "count", "passes"),
    [(FAIL_UNTIL_ALONE, MOST_ALONE, True), (FAIL_UNTIL_ALONE, MOST_ALONE + 1, False), (ONE_IS_SKIPPED, 1, False)],
    ids=["few", "many", "one was skipped"],
)
def test_what_fails_twice_gets_a_last_attempt_alone_unless_more_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tests: str, count: int, passes: bool
) -> None:
    result = run(tmp_path, count=count, tests=tests)
    assert (result.returncode, f"{count} failed" in result.stdout) == (1, True)
    monkeypatch.setenv("ALONE", "yes")
    [command] = re.findall(r"^test-alone:.*\n\t\$\(PYTEST\) (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert (run(tmp_path, *command.split(), count=count, tests=tests).returncode == 0) == passes
