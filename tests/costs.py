"""Where the time of the tests goes: `pytest --costs FILE` notes it, `python -m tests.costs FILE` shows it as a page.

A row of FILE for each test: CPU seconds of its process and of all that descend from it, seconds by the clock, JVMs
started. What several tests share counts for the one that runs at the time: trust the figures of files.
"""

import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

KINDS: Mapping[str, frozenset[str]] = {
    "browser": frozenset({"browser"}),
    "stock Kafka": frozenset({"stock"}),
    "Spark": frozenset({"spark", "shared"}),
    "ZooKeeper": frozenset({"zookeeper", "zk", "zk_connect"}),
}
"""By kind: marks and fixtures, one of which a test of the kind has. The first one that fits counts; others are pure,
or start processes of their own.
"""
MOST_FILES = 40
HEAD = """# What the tests cost

CPU seconds are those of
a test's process and of all that descend from it, Java's included; the rest of the clock is waiting.
`tests/budget.py` has what each run may cost, `tests/tiers.py` which run has which test.
"""


class Costs:
    """The plugin: `path` gets a row for each test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jvms = 0
        sys.addaudithook(self._started)

    def _started(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and os.fspath(args[0] or args[1][0]).endswith("java"):
            self._jvms += 1

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        cpu_s, clock_s, jvms = spent_s(os.getpid()), time.monotonic(), self._jvms
        done = yield
        row = {
            "test": item.nodeid,
            "cpu_s": round(spent_s(os.getpid()) - cpu_s, 3),
            "clock_s": round(time.monotonic() - clock_s, 3),
            "jvms": self._jvms - jvms,
            "marks": sorted({mark.name for mark in item.iter_markers()}),
            "kind": kind_of(item),
        }
        with self._path.open("a") as rows:
            rows.write(json.dumps(row) + "\n")
        return done


def spent_s(pid: int) -> float:
    """CPU seconds of a process, of those that it has waited for, and of its living descendants. Linux."""
    process = Path("/proc") / str(pid)
    try:
        times = (process / "stat").read_text().rpartition(")")[2].split()[11:15]
        children = [child for task in (process / "task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:  # it has ended meanwhile
        return 0.0
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK") + sum(spent_s(int(child)) for child in children)


def kind_of(item: pytest.Item) -> str:
    known = {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))
    return next((kind for kind, names in KINDS.items() if names & known), "pure, or processes of its own")


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    of_run = {
        run: [row for row in rows if is_of_run(run, row["marks"])] for run in ("make test", "only in larger runs")
    }
    parts = [HEAD]
    parts += [table("Run", ((run, of) for run, of in of_run.items()))]
    parts += [table("Kind", by(rows, lambda row: row["kind"]))]
    parts += [table("Folder", by(rows, lambda row: "/".join(row["test"].split("/")[:2])))]
    files = by(rows, lambda row: row["test"].partition("::")[0])
    parts += [f"The {MOST_FILES} files that cost most:\n", table("File", files[:MOST_FILES])]
    return "\n".join(parts)


def is_of_run(run: str, marks: Iterable[str]) -> bool:
    return (run == "make test") != bool({"gate", "release"} & set(marks))


def by(rows: Iterable[Mapping[str, Any]], of: Any) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The rows in groups, those that cost most first."""
    groups = defaultdict[str, list[Mapping[str, Any]]](list)
    for row in rows:
        groups[of(row)].append(row)
    return sorted(groups.items(), key=lambda group: -sum(row["cpu_s"] for row in group[1]))


def table(title: str, groups: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> str:
    lines = [f"| {title} | tests | CPU s | s by the clock | JVMs |", "|---|---|---|---|---|"]
    for name, rows in groups:
        sums = Counter[str]()
        for row in rows:
            sums.update({key: row[key] for key in ("cpu_s", "clock_s", "jvms")})
        lines.append(f"| {name} | {len(rows)} | {sums['cpu_s']:.1f} | {sums['clock_s']:.0f} | {sums['jvms']} |")
    return "\n".join(lines) + "\n"


def main(path: str) -> None:
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    print(page(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
