"""Which tests a run has: `pytest --run test`, `gate` or `all`.

test   what README promises a newcomer (`make test`): all tests but those marked `gate` or `release`
gate   what `.ci/run` has on top (`make test-gate`): those marked `gate`; and of those that only `all` has, or has more
       of (`release`, `more`), the files of a fifth, another one for each submission, those that changed or use helpers
       that did, and those of the rooms whose code changed. Of a change in many rooms, a third of these
all    everything (`make test-all`), before a release, or after a change of protocol, api, channel or stock versions

A mark says where a test runs, never what it means: a test with the mark `more` tries more random examples, or starts
stock Kafka beside its recording, where a run is not `test`.
"""

import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

RUNS = ("test", "gate", "all")
PARTS = 5
FEW, SHARE = 2, 3
"""So many rooms a change brings whole; of more, one file in so many: a gate of all that there is takes over an hour."""
ROOT = Path(__file__).parents[1]
CODE, TESTS = "kafka_reassign_rpc", "tests"
_MARKS = re.compile(r"\bmark\.(gate|release|more)\b|\bIN_BROWSER\b")
"""One of them is in each file with tests of the gate. `conftest` refuses a run with a file that hides its marks."""
_IMPORT = re.compile(r"^ *from (tests[\w.]*|\.[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
SITTING = timedelta(hours=6)
"""What was committed within this time before the last commit is the change that the gate looks at: it has been through
no gate yet, or through one that failed."""
PAUSE_S = 30 * 60
"""Nothing is committed for so long while a gate runs: the next commit belongs to another submission."""


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


def is_gate() -> bool:
    """Whether this is a run of what only a gate has on top."""
    return _this.run == "gate" and not _this.records


def records() -> bool:
    """Whether the recordings of stock Kafka are written again."""
    return _this.records


def room(path: str) -> str | None:
    """The folder below `tests` or the package, which mirror each other; None: a file of neither."""
    top, _, below = path.partition("/")
    return below.partition("/")[0] if top in {TESTS, CODE} and "/" in below else None


def chosen(
    files: Iterable[str], number: int, changed: Collection[str], uses: Mapping[str, Collection[str]] | None = None
) -> set[str]:
    """Of the files with tests of `all`: those of the gate of submission `number`, where `changed` has changed. `uses`:
    as `helpers` gives them.
    """
    uses, changed, ordered = uses or {}, {*changed}, sorted({*files})
    rooms = {room(path) for path in changed if path.startswith(f"{CODE}/")} - {None}
    concerned = {file for file in ordered if room(file) in rooms or not changed.isdisjoint(uses.get(file, ()))}
    every = 1 if len({room(file) for file in concerned}) <= FEW else SHARE
    return {
        file
        for at, file in enumerate(ordered)
        if at % PARTS == number % PARTS or file in changed or (file in concerned and at % every == number % every)
    }


def helpers(root: Path = ROOT) -> dict[str, set[str]]:
    """By file of tests: what of its room it imports, also through others, and the fixtures and packages above it."""
    paths = root.joinpath(TESTS).rglob("*.py")
    imports = {str(path.relative_to(root)): {*_imported(path, root)} for path in paths}
    found = {}
    for file in filter(is_test_file, imports):
        used, waiting = set[str](), [file, *_above(file)]
        while waiting:
            if (one := waiting.pop()) in imports and one not in used and room(one) == room(file):
                used.add(one)
                waiting += imports[one]
        found[file] = used - {file}
    return found


def _imported(path: Path, root: Path) -> Iterator[str]:
    """A name that is imported may be a module."""
    for source, names in _IMPORT.findall(path.read_text()):
        below = source.lstrip(".")
        folder = path.parents[len(source) - len(below) - 1] if source.startswith(".") else root
        module = str(folder.joinpath(*filter(None, below.split("."))).relative_to(root))
        yield from (
            f"{module}.py",
            f"{module}/__init__.py",
            *(f"{module}/{name}.py" for name in re.findall(r"\w+", names)),
        )


def _above(file: str) -> Iterator[str]:
    for folder in Path(file).parents:
        yield from (str(folder / "conftest.py"), str(folder / "__init__.py"))


def is_test_file(path: str) -> bool:
    return path.startswith(f"{TESTS}/") and Path(path).name.startswith("test_") and path.endswith(".py")


def may_be_in_gate(path: Path) -> bool:
    """Whether a gate has to read this file: to import all that it has no test of would cost each of its processes ten
    seconds.
    """
    return not is_test_file(f"{TESTS}/{path.name}") or _MARKS.search(path.read_text()) is not None


def hide_their_marks(items: Iterable[pytest.Item]) -> set[Path]:
    """The files with tests of the gate that it would not read."""
    marked = {item.path for item in items if not {"gate", "release", "more"}.isdisjoint(marks_of(item))}
    return {path for path in marked if not may_be_in_gate(path)}


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


def submissions() -> int:
    """How many there were, this one too: of the commits of this checkout, as many groups as pauses tell apart."""
    times = sorted(map(int, _git("log", "--format=%ct").split()))
    return 1 + sum(after - before > PAUSE_S for before, after in pairwise(times))


def changed_files() -> list[str]:
    """What the commits of the last sitting have changed."""
    if not (last := _git("log", "-1", "--format=%cI")):
        return []
    since = (datetime.fromisoformat(last.strip()) - SITTING).isoformat()
    return sorted(set(filter(None, _git("log", f"--since={since}", "--format=", "--name-only").splitlines())))


def _git(*arguments: str) -> str:
    done = subprocess.run(("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""
