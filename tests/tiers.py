"""Which tests a run has: `pytest --run test`, `gate` or `all`.

test   what README promises a newcomer (`make test`): all tests but those marked `gate` or `release`
gate   what `.ci/run` has on top (`make test-gate`): those marked `gate`; and of those that only `all` has, or has more
       of (`release`, `more`), the files of a fifth, which the number of commits chooses, those that changed, and
       those of the rooms whose code changed
all    everything (`make test-all`), before a release, or after a change of protocol, api, channel or stock versions

A mark says where a test runs, never what it means: a test with the mark `more` tries more random examples, or starts
stock Kafka beside its recording, where a run is not `test`.
"""

import re
import subprocess
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

RUNS = ("test", "gate", "all")
PARTS = 5
ROOT = Path(__file__).parents[1]
_IMPORT = re.compile(r"^ *from (tests(?:\.\w+)*\.test_\w+) import", re.MULTILINE)
SITTING = timedelta(hours=6)
"""What was committed within this time before the last commit is the change that the gate looks at."""


@dataclass
class _This:
    """This run. Decorators of tests ask for it while they are imported."""

    run: str = RUNS[0]
    records: bool = False


_this = _This()


def begin(run: str, *, records: bool) -> None:
    _this.run, _this.records = run, records


def does_more() -> bool:
    """Whether tests marked `more` do all that they can."""
    return _this.run != RUNS[0] or _this.records


def is_whole() -> bool:
    """Whether this is a run of everything."""
    return _this.run == RUNS[-1]


def records() -> bool:
    """Whether the recordings of stock Kafka are written again."""
    return _this.records


def room(path: str) -> str | None:
    """The folder below `tests` or the package, which mirror each other; None: a file of neither."""
    top, _, below = path.partition("/")
    return below.partition("/")[0] if top in {"tests", "kafka_reassign_rpc"} and "/" in below else None


def chosen(files: Iterable[str], number: int, changed: Collection[str], used: Collection[str] = ()) -> set[str]:
    """Of the files with tests of `all`: those of the gate after `number` commits, where `changed` has changed. A file
    of tests chooses itself alone, unless it is `used` by others.
    """
    own = {path for path in changed if is_test_file(path) and path not in used}
    rooms = {room(path) for path in changed if path not in own} - {None}
    return {
        file
        for at, file in enumerate(sorted(set(files)))
        if at % PARTS == number % PARTS or file in own or room(file) in rooms
    }


def is_test_file(path: str) -> bool:
    return path.startswith("tests/") and Path(path).name.startswith("test_") and path.endswith(".py")


def used_by_others(root: Path = ROOT) -> set[str]:
    """The files of tests from which others import."""
    imports = (_IMPORT.findall(file.read_text()) for file in root.joinpath("tests").rglob("*.py"))
    return {f"{name.replace('.', '/')}.py" for names in imports for name in names}


def file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def is_in(run: str, file: str, marks: Collection[str], in_gate: Collection[str]) -> bool:
    """Whether a run has a test. `in_gate`: what `chosen` gives."""
    match run:
        case "test":
            return not {"gate", "release"} & set(marks)
        case "gate":
            return "gate" in marks or (_in_all(marks) and file in in_gate)
    return True


def left_out(items: Iterable[pytest.Item], run: str, in_gate: Collection[str]) -> list[pytest.Item]:
    return [item for item in items if not is_in(run, file_of(item), marks_of(item), in_gate)]


def files_of_all(items: Iterable[pytest.Item]) -> set[str]:
    """The files with tests that only a run of everything has, or has whole."""
    return {file_of(item) for item in items if _in_all(marks_of(item))}


def marks_of(item: pytest.Item) -> set[str]:
    return {mark.name for mark in item.iter_markers()}


def _in_all(marks: Collection[str]) -> bool:
    return not {"release", "more"}.isdisjoint(marks)


def commits() -> int:
    """The number of commits of this checkout; 0 where it is no checkout."""
    return int(_git("rev-list", "--count", "HEAD") or 0)


def changed_files() -> list[str]:
    """What the commits of the last sitting have changed."""
    if not (last := _git("log", "-1", "--format=%cI")):
        return []
    since = (datetime.fromisoformat(last.strip()) - SITTING).isoformat()
    return sorted(set(filter(None, _git("log", f"--since={since}", "--format=", "--name-only").splitlines())))


def _git(*arguments: str) -> str:
    done = subprocess.run(("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""
