"""The page about mutants: `python -m tests.mutants_page > docs/mutants.md`, from `mutants.jsonl` and
`mutants_control.jsonl`.

`python -m tests.mutants` appends a row for each mutant that it has tried, and one for each control run. By hand comes
`reason` into the rows of those that no test has caught: why the mutant is equivalent, or which test has closed the hole
since.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.support.counted import counted

FILE, CONTROL_FILE = (Path(__file__).with_name(name) for name in ("mutants.jsonl", "mutants_control.jsonl"))
NOT_CAUGHT, HANGS, NOT_RUN, IMPORT = "NOT CAUGHT", "HANGS", "NO CHEAP TEST RUNS IT", "the import of the tests"
"""In the place of a test."""
EQUIVALENT, CLOSED = "equivalent", "hole, closed by"
"""How a reason begins."""
HEAD = """<!-- `python -m tests.mutants_page` wrote this page from `tests/mutants.jsonl`. Do not edit it. -->

# What the tests notice

A mutant is one small mistake at a place of the code that a seed draws: another comparison, a condition turned round, a
number one too high, a result that is None. It meets the cheap tests that run its line, the quickest first: of its own
room and its like (`USED_BY` in `tests/mutants.py`), without stock Kafka and without those that take long. One of them
fails twice: the mutant is caught. All others count as not caught: also those that hang, that change nothing
(equivalent) or that no cheap test runs.

A share is that at the time of its draw, rounded down, with the tests of that commit; no later draw changes it. What
became of the mutants that were not caught has columns of its own: `closed` counts holes for which a test was written
since, which was shown to fail with the mutant. That is the state after the mends and no second share: only a later
draw, of mistakes that were not looked at before, gives one. Before a draw the tests run with the unchanged code, and
have to pass (the control runs).
`python -m tests.mutants --seed N` makes a draw.
"""


class Draw(NamedTuple):
    seed: int
    commit: str


class Found(NamedTuple):
    """A mutant that was tried. `by`: the test that failed, or one of the words above. `seconds`: by the clock, with
    the start of pytest.
    """

    room: str
    file: str
    line: int
    before: str
    after: str
    by: str
    seconds: float
    reason: str = ""

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.file, self.line, self.before, self.after

    @property
    def is_caught(self) -> bool:
        return self.by not in {NOT_CAUGHT, HANGS, NOT_RUN}

    @property
    def what(self) -> str:
        file = self.file.partition("/")[2]
        return f"{file}:{self.line}: `{_short(self.before)}` → `{_short(self.after)}`"


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 60 else f"{line[:57]}…"


class Control(NamedTuple):
    """The tests of a folder with the unchanged code of a commit: all have passed."""

    commit: str
    folder: str
    tests: int
    cpu_s: float


def keep(draw: Draw, found: Found, file: Path = FILE) -> None:
    _append(draw._asdict() | found._asdict(), file)


def keep_control(run: Control, file: Path = CONTROL_FILE) -> None:
    _append(run._asdict(), file)


def _append(row: Mapping[str, object], file: Path) -> None:
    with file.open("a") as rows:
        rows.write(json.dumps({name: value for name, value in row.items() if value != ""}, ensure_ascii=False) + "\n")


def read_control(file: Path = CONTROL_FILE) -> list[Control]:
    return [Control(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def read(file: Path = FILE) -> dict[Draw, list[Found]]:
    draws: dict[Draw, list[Found]] = {}
    for row in map(json.loads, file.read_text().splitlines() if file.exists() else ()):
        draw = Draw(row.pop("seed"), row.pop("commit"))
        draws.setdefault(draw, []).append(Found(**row))
    return draws


def shares(found: Sequence[Found]) -> str:
    """By room: how many were drawn and caught, and what became of the others."""
    lines = ["| room | mutants | caught | share | equivalent | closed | open |", "|---|---|---|---|---|---|---|"]
    for room in [*dict.fromkeys(one.room for one in found), "all"]:
        of = [one for one in found if room in (one.room, "all")]
        caught = sum(one.is_caught for one in of)
        equivalent, closed = (sum(one.reason.startswith(how) for one in of) for how in (EQUIVALENT, CLOSED))
        left = len(of) - caught - equivalent - closed
        lines.append(
            f"| {room} | {len(of)} | {caught} | {100 * caught // len(of)} % | {equivalent} | {closed} | {left} |"
        )
    return "\n".join(lines)


def page(draws: Mapping[Draw, Sequence[Found]], control: Sequence[Control]) -> str:
    parts = [HEAD]
    for draw, found in draws.items():
        of_draw = [one for one in control if one.commit == draw.commit]
        runs = [f"{one.folder} {counted(one.tests, 'test')}, {one.cpu_s:.0f} s" for one in of_draw]
        parts += [f"## Seed {draw.seed}, commit {draw.commit}\n", shares(found), ""]
        parts += [f"Control runs of this commit (CPU seconds), all passed: {'; '.join(runs)}.\n", *_rows(found), ""]
    return "\n".join(parts).rstrip() + "\n"


def _rows(found: Iterable[Found]) -> Iterator[str]:
    """Those that were not caught come first."""
    yield from ("| mutant | caught by, or why not | s |", "|---|---|---|")
    for one in sorted(found, key=lambda one: (one.is_caught, one.room, one.file, one.line)):
        by = (
            f"`{one.by.removeprefix('tests/')}`" if one.is_caught else f"**{one.by}**: {one.reason or 'not yet judged'}"
        )
        yield f"| {_cell(one.what)} | {_cell(by)} | {one.seconds:.0f} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(read(), read_control()), end="")
