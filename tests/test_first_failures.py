"""Runs of tests that fail at their first attempt, and what is kept of that."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.first_failures import MOST, unmended
from tests.ran_lines import surroundings_of_own_run

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests import first_failures
from tests.conftest import (
    pytest_addoption, pytest_runtest_makereport, pytest_runtest_teardown, pytest_sessionfinish, pytest_terminal_summary
)

def pytest_collection_modifyitems(items):
    first_failures.allow_second_attempts(items)
"""
TESTS = """
import pytest
from tests.first_failures import attempt

pytestmark = pytest.mark.{mark}

@pytest.mark.parametrize("number", range({count}))
def test_that_is_in_time_the_second_time(number, request):
    print("what was seen of number", number)
    assert attempt(request.node) == {passes_at}
"""


SKIPPED = """
import pytest

def test_that_is_skipped():
    pytest.skip("no reason")
"""
WITH_FIXTURES = """
import itertools
import pytest

pytestmark = pytest.mark.browser
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
    directory: Path, *options: str, count: int = 0, passes_at: int = 2, mark: str = "stock", tests: str = TESTS
) -> subprocess.CompletedProcess[str]:
    directory.joinpath("conftest.py").write_text(CONFTEST)
    directory.joinpath("test_some.py").write_text(tests.format(count=count, passes_at=passes_at, mark=mark))
    marks = "markers=stock\nbrowser\nlong"
    options = ("-q", "-p", "no:asyncio", "-o", marks, "--rootdir", str(directory), *options)
    environment = {**surroundings_of_own_run(ROOT), "CI": "true"}
    command = (sys.executable, "-m", "pytest", *options, str(directory))
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_one_that_starts_a_jvm_may_fail_once_and_the_end_of_the_run_shows_why(tmp_path: Path) -> None:
    result = run(tmp_path, count=MOST)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"{MOST} passed, {MOST} rerun" in result.stdout
    assert "failed at the first attempt: test_some.py::test_that_is_in_time_the_second_time[1]" in result.stdout
    assert "what was seen of number 1" in result.stdout
    *_, last, _ = result.stdout.splitlines()  # the closing line is pytest's
    last_test = f"test_some.py::test_that_is_in_time_the_second_time[{MOST - 1}]"
    assert last == f"first failure: {last_test}: assert 1 == 2"


def test_a_second_attempt_has_fresh_fixtures_but_for_those_of_the_whole_run(tmp_path: Path) -> None:
    result = run(tmp_path, tests=WITH_FIXTURES)
    assert (result.returncode, result.stderr) == (0, "")
    assert "4 passed, 1 rerun" in result.stdout


@pytest.mark.parametrize(
    ("count", "passes_at", "mark", "said"),
    [
        (1, 3, "stock", "1 failed, 1 rerun"),
        (1, 2, "long", "1 failed"),
        (MOST + 1, 2, "browser", f"{MOST + 1} tests failed at their first attempt, at most {MOST} may"),
    ],
    ids=["fails twice", "starts nothing of others", "many fail once"],
)
def test_a_run_fails_all_the_same(tmp_path: Path, count: int, passes_at: int, mark: str, said: str) -> None:
    result = run(tmp_path, count=count, passes_at=passes_at, mark=mark)
    assert result.returncode == 1
    assert said in result.stdout


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--no-skips"], 1)])
def test_a_skipped_test_fails_the_run_where_nothing_may_be_missing(
    tmp_path: Path, options: list[str], code: int
) -> None:
    assert run(tmp_path, *options, tests=SKIPPED).returncode == code


TODAY = datetime(2026, 3, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([("a", "2026-03-30", None), ("b", "2026-03-31", None)], []),
        ([("a", "2026-03-02", None), ("b", "2026-03-30", None), ("a", "2026-03-31", None)], ["a"]),
        ([("a", "2026-02-28", None), ("a", "2026-03-31", None)], []),
        ([("a", "2026-03-30", None), ("a", "2026-03-31", "1a2b3c4")], []),
        ([("a", "2026-03-30", "1a2b3c4"), ("a", "2026-03-31", None)], ["a"]),
    ],
    ids=["once each", "twice", "long ago", "mended", "mended in vain"],
)
def test_a_test_that_failed_first_twice_in_thirty_days_is_named_unless_it_was_mended_since(
    rows: list[tuple[str, str, str | None]], found: list[str]
) -> None:
    assert unmended([{"test": test, "date": date, "mended": by} for test, date, by in rows], TODAY) == found
