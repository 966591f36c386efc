"""Which tests run which lines of some files, and how long each test takes.

It is a plugin of pytest, too: it names the test that is under way to `coverage`, as the context of the lines that run.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
from coverage import Coverage, CoverageData

AT_IMPORT = ""
"""The context of what runs outside of any test."""
_SETTINGS = """[run]
parallel = true
patch = subprocess
data_file = {data}
include = {files}
disable_warnings = module-not-imported, no-data-collected
"""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    measured = Coverage.current()
    if measured is None:
        return (yield)
    measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measured.switch_context(AT_IMPORT)


def surroundings_of_own_run(root: Path) -> Mapping[str, str]:
    """The environment of a pytest that runs the tests at `root`, from within another run or not: options which that
    one has from its environment (PYTEST_ADDOPTS) mean nothing, or an error, to this one.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return kept | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class RanLines:
    """By file, relative to the repository, and line: the tests that run it, and AT_IMPORT.

    failed   tests that do not pass: they are in nothing else
    """

    lines: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: Mapping[str, float]
    failed: frozenset[str] = frozenset()

    @classmethod
    def found(cls, root: Path, files: Sequence[str], arguments: Sequence[str]) -> Self:
        """Runs the tests that `arguments` of pytest choose, in the repository at `root`, by two processes. Raises
        RuntimeError if pytest cannot run.
        """
        data, costs, settings = root / ".ran", root / ".costs", root / ".ran-settings"
        settings.write_text(_SETTINGS.format(data=data, files="\n  ".join(["", *(str(root / file) for file in files)])))
        coverage = [sys.executable, "-m", "coverage"]
        run = [*coverage, "run", f"--rcfile={settings}", "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
        run += ["-p", "tests.ran_lines", "--numprocesses=2", "--dist=loadfile", f"--costs={costs}", *arguments]
        surroundings = surroundings_of_own_run(root)
        done = subprocess.run(run, cwd=root, env=surroundings, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
        failed = failed_tests(done.stdout)
        combine = [*coverage, "combine", f"--rcfile={settings}", "--quiet"]
        subprocess.run(combine, cwd=root, env=surroundings, capture_output=True, check=True)
        rows = map(json.loads, costs.read_text().splitlines())
        seconds = {row["test"]: row["clock_s"] for row in rows if row["test"] not in failed}
        return cls(_read(root, data), seconds, frozenset(failed))

    def by_tests(self, file: str, lines: Iterable[int]) -> set[str]:
        """The tests that run one of the lines."""
        return self._of(file, lines) & self.seconds.keys()

    def at_import(self, file: str, lines: Iterable[int]) -> bool:
        return AT_IMPORT in self._of(file, lines)

    def _of(self, file: str, lines: Iterable[int]) -> set[str]:
        known = self.lines.get(file, {})
        return {test for line in lines for test in known.get(line, ())}


def failed_tests(printed: str) -> list[str]:
    """As pytest's summary names them, the first that failed first."""
    lines = [line for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return [line.split(" ", 1)[1].split(" - ")[0] for line in lines]


def _read(root: Path, data: Path) -> dict[str, dict[int, frozenset[str]]]:
    found = CoverageData(basename=str(data))
    found.read()
    lines = defaultdict[str, dict[int, frozenset[str]]](dict)
    for file in found.measured_files():
        of_file = found.contexts_by_lineno(file)
        lines[str(Path(file).relative_to(root))] = {line: frozenset(tests) for line, tests in of_file.items()}
    return dict(lines)
