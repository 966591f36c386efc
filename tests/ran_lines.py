"""Which tests run which lines of some files, and how long each test takes.

It is a plugin of pytest, too: it names the test that is under way to `coverage`, as the context of the lines that run.
"""

import json
import os
import re
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
    one has from its environment (PYTEST_ADDOPTS) mean nothing, or an error, to this one. What it compiles it may keep.
    """
    left_out = ("PYTEST_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return kept | {"PYTHONPATH": str(root)}


@dataclass(frozen=True)
class RanLines:
    """lines      by file, relative to the repository, and line: the tests that run it, and AT_IMPORT
    cpu_s      of each test: what else the machine has to do matters little
    clock_s    of each test
    failed     with the unchanged code: they are in neither of the two
    """

    lines: Mapping[str, Mapping[int, frozenset[str]]]
    cpu_s: Mapping[str, float]
    clock_s: Mapping[str, float]
    failed: frozenset[str] = frozenset()

    @classmethod
    def found(
        cls, root: Path, name: str, files: Sequence[str], arguments: Sequence[str], *, some_may_fail: bool = False
    ) -> Self:
        """Runs the tests that `arguments` of pytest choose, in the repository at `root`, by two processes, and keeps
        there what `read` gives for the name. A test may fail once, on a busy machine. Raises RuntimeError if pytest
        cannot run, or if a test fails twice where none may; where some may, those that do are
        `failed` and no tests of lines.
        """
        data, costs, settings = root / f".ran-{name}", root / ".costs", root / ".ran-settings"
        settings.write_text(_SETTINGS.format(data=data, files="\n  ".join(["", *(str(root / file) for file in files)])))
        coverage = [sys.executable, "-m", "coverage"]
        run = [*coverage, "run", f"--rcfile={settings}", "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
        run += ["-p", "tests.ran_lines", "--numprocesses=2", "--dist=loadfile", "--reruns=1", f"--costs={costs}"]
        surroundings = surroundings_of_own_run(root)
        subprocess.run([*coverage, "erase", f"--rcfile={settings}"], cwd=root, env=surroundings, check=True)
        costs.unlink(missing_ok=True)
        done = subprocess.run(
            [*run, *arguments], cwd=root, env=surroundings, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
        failed = failed_tests(done.stdout)
        if failed and not some_may_fail:
            raise RuntimeError("\n".join(["these fail with the unchanged code:", *failed]))
        combine = [*coverage, "combine", f"--rcfile={settings}", "--quiet"]
        subprocess.run(combine, cwd=root, env=surroundings, capture_output=True, check=True)
        root.joinpath(f".failed-{name}").write_text("".join(f"{test}\n" for test in failed))
        costs.rename(root / f".costs-{name}")
        return cls.read(root, name)

    @classmethod
    def read(cls, root: Path, name: str) -> Self:
        """What an earlier call of `found` has kept. Raises FileNotFoundError if there was none."""
        rows = [*map(json.loads, (root / f".costs-{name}").read_text().splitlines())]
        failed = frozenset((root / f".failed-{name}").read_text().splitlines())
        passed = [row for row in rows if row["test"] not in failed]
        cpu_s, clock_s = ({row["test"]: row[column] for row in passed} for column in ("cpu_s", "clock_s"))
        return cls(_read(root, root / f".ran-{name}"), cpu_s, clock_s, failed)

    @classmethod
    def of_all(cls, runs: Iterable[Self]) -> Self:
        lines = defaultdict[str, defaultdict[int, frozenset[str]]](lambda: defaultdict(frozenset))
        cpu_s, clock_s, failed = dict[str, float](), dict[str, float](), frozenset[str]()
        for run in runs:
            cpu_s |= run.cpu_s
            clock_s |= run.clock_s
            failed |= run.failed
            for file, of_file in run.lines.items():
                for line, tests in of_file.items():
                    lines[file][line] |= tests
        return cls(lines, cpu_s, clock_s, failed)

    def by_tests(self, file: str, lines: Iterable[int] | None = None) -> set[str]:
        """The tests that run one of the lines; without lines: any of the file."""
        return self._of(file, self.lines.get(file, {}) if lines is None else lines) & self.cpu_s.keys()

    def at_import(self, file: str, lines: Iterable[int]) -> bool:
        return AT_IMPORT in self._of(file, lines)

    def _of(self, file: str, lines: Iterable[int]) -> set[str]:
        known = self.lines.get(file, {})
        return {test for line in lines for test in known.get(line, ())}


def failed_tests(printed: str) -> list[str]:
    """As pytest's summary names them, the first that failed first. Log lines begin with a level and more spaces."""
    return re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", printed, re.MULTILINE)


def _read(root: Path, data: Path) -> dict[str, dict[int, frozenset[str]]]:
    found = CoverageData(basename=str(data))
    found.read()
    lines = defaultdict[str, dict[int, frozenset[str]]](dict)
    for file in found.measured_files():
        of_file = found.contexts_by_lineno(file)
        lines[str(Path(file).relative_to(root))] = {line: frozenset(tests) for line, tests in of_file.items()}
    return dict(lines)
