"""Where the time of the tests goes: `pytest --costs FILE` notes it, `python -m tests.costs FILE` shows it as a page.

A row of FILE for each test: CPU seconds of its process and of all that descend from it, seconds by the clock, JVMs
started. What several tests share counts for the one that runs at the time: trust the figures of files. A process that
lives for less than `LOOK_S` may be missed.
"""

import json
import os
import sys
import threading
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
LOOK_S = 0.25
HEAD = """<!-- `python -m tests.costs FILE` wrote this page from a run with `--costs FILE`. Do not edit it. -->

# What the tests cost

CPU seconds are those of
a test's process and of all that descend from it, Java's included; the rest of the clock is waiting.
`tests/budget.py` has what each run may cost, `tests/tiers.py` which run has which test.
"""


class Costs:
    """The plugin: `path` gets a row for each test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._processes = Processes(os.getpid())
        self._ended = threading.Event()
        threading.Thread(target=self._keep_looking, daemon=True).start()

    def _keep_looking(self) -> None:
        while not self._ended.wait(LOOK_S):
            self._processes.look()

    def pytest_unconfigure(self) -> None:
        self._ended.set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        (cpu_s, jvms), clock_s = self._processes.look(), time.monotonic()
        done = yield
        cpu_after_s, jvms_after = self._processes.look()
        row = {
            "test": item.nodeid,
            "cpu_s": round(cpu_after_s - cpu_s, 3),
            "clock_s": round(time.monotonic() - clock_s, 3),
            "jvms": jvms_after - jvms,
            "marks": sorted({mark.name for mark in item.iter_markers()}),
            "kind": kind_of(item),
        }
        with self._path.open("a") as rows:
            rows.write(json.dumps(row) + "\n")
        return done


class Processes:
    """A process and all that descend from it. What has ended counts as it was seen last, whoever has waited for it: a
    JVM that was killed, or a worker of Spark, is in no sum of times that its parents have. Linux.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._spent_s: dict[tuple[int, str], float] = {}
        """By id and start: ids are used again."""
        self._jvms: set[tuple[int, str]] = set()
        self._living: set[int] = set()

    def look(self) -> tuple[float, int]:
        """CPU seconds so far, and how many JVMs there were."""
        with self._lock:
            todo, seen = [self._root, *self._living], set[int]()
            while todo:
                if (pid := todo.pop()) not in seen:
                    seen.add(pid)
                    todo += self._note(pid)
            return sum(self._spent_s.values()), len(self._jvms)

    def _note(self, pid: int) -> Iterable[int]:
        """Returns its children."""
        process = Path("/proc") / str(pid)
        try:
            name, _, rest = (process / "stat").read_text().partition("(")[2].rpartition(")")
            children = [
                int(one) for task in (process / "task").iterdir() for one in (task / "children").read_text().split()
            ]
        except OSError:  # it has ended meanwhile
            self._living.discard(pid)
            return ()
        fields = rest.split()
        key = pid, fields[19]
        self._spent_s[key] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        self._living.add(pid)
        if name == "java":
            self._jvms.add(key)
        return children


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
    parts += [table("Folder", by(rows, lambda row: folder(file_of(row))))]
    files = by(rows, file_of)
    parts += [f"The {MOST_FILES} files that cost most:\n", table("File", files[:MOST_FILES])]
    return "\n".join(parts)


def file_of(row: Mapping[str, Any]) -> str:
    name: str = row["test"]
    return name.partition("::")[0]


def folder(file: str) -> str:
    """The one below `tests` that has the file; `tests` for what lies directly there."""
    return "/".join(file.split("/")[:-1][:2])


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
