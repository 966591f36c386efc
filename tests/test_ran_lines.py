"""The control run of mutants: each line with the tests that run it."""

from pathlib import Path
from shutil import copy
from textwrap import dedent

import pytest

from tests.ran_lines import RanLines, failed_tests

HERE = Path(__file__).parent
CONFTEST = """
from pathlib import Path
from tests.costs import Costs
def pytest_addoption(parser):
    parser.addoption("--costs", type=Path)
def pytest_configure(config):
    config.pluginmanager.register(Costs(config.getoption("--costs")))
"""
CODE = """
FIRST = 1
def one(n):
    if n:
        return FIRST
    return 2
"""
TESTS = """
from code_under_test import one
def test_first(): assert one(True) == 1
def test_second(): assert one(False) == 2
"""


def repository(root: Path, tests: str) -> Path:
    (root / "tests").mkdir()
    for name in ("costs.py", "ran_lines.py"):
        copy(HERE / name, root / "tests" / name)
    for name, text in (("__init__.py", ""), ("conftest.py", CONFTEST), ("test_it.py", tests)):
        (root / "tests" / name).write_text(dedent(text))
    (root / "code_under_test.py").write_text(CODE)
    return root


def test_each_line_has_the_tests_that_run_it_and_each_test_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-skips")  # as .ci/run does: an option of the run that runs this test
    ran = RanLines.found(repository(tmp_path, TESTS), "all", ["code_under_test.py"], ["tests"])
    assert RanLines.read(tmp_path, "all") == ran, "without another run"
    first, second = "tests/test_it.py::test_first", "tests/test_it.py::test_second"
    assert ran.cpu_s.keys() == ran.clock_s.keys() == {first, second}
    by_line = {line: ran.by_tests("code_under_test.py", [line]) for line in (2, 4, 5, 6, 7)}
    assert by_line == {2: set(), 4: {first, second}, 5: {first}, 6: {second}, 7: set()}
    assert ran.by_tests("code_under_test.py", [5, 6]) == ran.by_tests("code_under_test.py") == {first, second}
    assert [ran.at_import("code_under_test.py", [line]) for line in (2, 5, 7)] == [True, False, False]


def test_several_runs_are_one_with_the_lines_and_times_of_all() -> None:
    first = RanLines({"a.py": {1: frozenset({"one"}), 2: frozenset({"one"})}}, {"one": 1.0}, {"one": 1.5})
    lines = {"a.py": {2: frozenset({"two"})}, "b.py": {3: frozenset({"two"})}}
    second = RanLines(lines, {"two": 2.0}, {"two": 2.5}, frozenset({"three"}))
    ran = RanLines.of_all([first, second])
    assert [ran.by_tests("a.py", [line]) for line in (1, 2, 3)] == [{"one"}, {"one", "two"}, set()]
    assert ran.by_tests("b.py") == {"two"}
    assert (ran.cpu_s, ran.clock_s) == ({"one": 1.0, "two": 2.0}, {"one": 1.5, "two": 2.5})
    assert ran.failed == {"three"}


def test_a_run_with_a_test_that_fails_twice_is_an_error_that_names_it(tmp_path: Path) -> None:
    root = repository(tmp_path, TESTS.replace("== 2", "== 3"))
    with pytest.raises(RuntimeError, match=r"tests/test_it\.py::test_second"):
        RanLines.found(root, "all", ["code_under_test.py"], ["tests"])
    with pytest.raises(FileNotFoundError):
        RanLines.read(root, "all")


def test_where_some_may_fail_those_that_do_are_named_and_no_line_has_them(tmp_path: Path) -> None:
    root = repository(tmp_path, TESTS.replace("== 2", "== 3"))
    ran = RanLines.found(root, "all", ["code_under_test.py"], ["tests"], some_may_fail=True)
    first, second = "tests/test_it.py::test_first", "tests/test_it.py::test_second"
    assert ran.failed == {second} == RanLines.read(root, "all").failed
    assert ran.by_tests("code_under_test.py", [4, 5, 6]) == ran.cpu_s.keys() == ran.clock_s.keys() == {first}


def test_a_test_that_fails_once_on_a_busy_machine_is_one_of_a_run_that_passes(tmp_path: Path) -> None:
    flaky = """
        import pathlib
        from code_under_test import one
        def test_second():
            assert one(False) == 2
            been = pathlib.Path("been")
            if not been.exists():
                been.touch()
                raise AssertionError
        """
    ran = RanLines.found(repository(tmp_path, flaky), "all", ["code_under_test.py"], ["tests"])
    assert ran.by_tests("code_under_test.py", [6]) == {"tests/test_it.py::test_second"}


def test_a_run_that_pytest_cannot_do_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no tests ran"):
        RanLines.found(repository(tmp_path, TESTS), "all", ["code_under_test.py"], ["tests/no_such_test.py"])


def test_the_summary_names_what_failed_and_no_line_of_a_log_does() -> None:
    printed = """
ERROR    kafka_reassign_rpc.controller.supervisor:supervisor.py:170 standing by: another one is controller
RERUN tests/a/test_x.py::slow
FAILED tests/a/test_x.py::one[a b] - AssertionError: 1 - 2
ERROR tests/a/test_y.py
1 failed, 1 error in 0.1s
"""
    assert failed_tests(printed) == ["tests/a/test_x.py::one[a b]", "tests/a/test_y.py"]
