"""The page about mutants: `python -m tests.mutants_page > docs/mutants.md`, from `mutants.jsonl` and
`mutants_control.jsonl`.

`python -m tests.mutants` appends a row for each mutant that it has tried, and one for each control run. By hand comes
`reason` into the rows of those that no test has caught: why the mutant is equivalent, or which test has closed the hole
since.
"""

import fcntl
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.support.counted import counted

FILE, CONTROL_FILE = (Path(__file__).with_name(name) for name in ("mutants.jsonl", "mutants_control.jsonl"))
NOT_CAUGHT, HANGS, NOT_RUN, IMPORT = "NOT CAUGHT", "HANGS", "NO CHEAP TEST RUNS IT", "the import of the tests"
NOT_TESTS = {"", NOT_CAUGHT, HANGS, NOT_RUN}
"""In the place of a test."""
EQUIVALENT, CLOSED = "equivalent", "hole, closed by"
"""How a reason begins."""
HEAD = """<!-- `python -m tests.mutants_page` wrote this page from `tests/mutants.jsonl`. Do not edit it. -->

# What the tests notice

A mutant is one small mistake at a place of the code that a seed draws: another comparison, a condition turned round, a
number one too high, a result that is None. It meets

1. the cheap tests that run its line, the quickest first: of its own room and its like (`USED_BY` in
   `tests/mutants.py`), without stock Kafka and without those that take long;
2. if none of them fails, the other tests of `make test` that run its line (`ALSO` there, of a draw the folders that its
   control runs name), the quickest first, for 15 s of CPU time: a change meets them before it lands.

A test that fails twice has caught it. What hangs (its tests take more than three times as long as with the unchanged
code, and a minute more) makes a run fail, too, and has a column of its own. Some mutants are proven to be equivalent:
no caller can see a difference, and the row says why. Missed is everything else, also what no test runs.

**share = (caught by a cheap test + caught by another test + hangs) / (mutants - equivalent)**, rounded down.

A share is that at the time of its draw, with the tests of that commit; no later draw changes it. `closed` counts those
of the missed for which a test was written since, which was shown to fail with the mutant. That is the state after the
mends and no second share: only a later draw, of mistakes that were not looked at before, gives one. Before a draw the
tests run with the unchanged code. Cheap ones have to pass; others that fail there, since it takes time to note each
line, are asked nothing.

Draws up to seed 1201 asked cheap tests alone. Their table is as it was: the share is what these have caught, of all
mutants; what hangs, is equivalent, or would have met another test counts as not caught.
`python -m tests.mutants --seed N` makes a draw.
"""


class Draw(NamedTuple):
    seed: int
    commit: str


class Found(NamedTuple):
    """A mutant that was tried. `by`: the cheap test that failed, or one of the words above; `also`: the same of the
    other tests of `make test`, and "" if they were not asked. `seconds`: by the clock, with the start of pytest.
    """

    room: str
    file: str
    line: int
    before: str
    after: str
    by: str
    seconds: float
    reason: str = ""
    also: str = ""
    also_s: float = 0.0

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.file, self.line, self.before, self.after

    @property
    def is_caught_cheaply(self) -> bool:
        return self.by not in NOT_TESTS

    @property
    def is_caught_later(self) -> bool:
        return self.also not in NOT_TESTS

    @property
    def hangs(self) -> bool:
        return HANGS in (self.by, self.also)

    @property
    def is_missed(self) -> bool:
        """Or equivalent."""
        return not (self.is_caught_cheaply or self.is_caught_later or self.hangs)

    @property
    def asks_others(self) -> bool:
        """No test can notice what is proven to be equivalent."""
        return self.is_missed and not self.also and not self.reason.startswith(EQUIVALENT)

    @property
    def what(self) -> str:
        file = self.file.partition("/")[2]
        return f"{file}:{self.line}: `{_short(self.before)}` → `{_short(self.after)}`"


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 60 else f"{line[:57]}…"


class Control(NamedTuple):
    """The tests of a folder that have passed with the unchanged code of a commit, and how many have not."""

    commit: str
    folder: str
    tests: int
    cpu_s: float
    failed: int = 0


def keep(draw: Draw, found: Found, file: Path = FILE) -> None:
    with _changed(file) as rows:
        rows.append(_row(draw, found))


def amend(draw: Draw, found: Found, file: Path = FILE) -> None:
    """It takes the place of what was found before of the same mutant."""
    with _changed(file) as rows:
        [at] = [n for n, (of, one) in enumerate(map(_read, rows)) if (of, one.key) == (draw, found.key)]
        rows[at] = _row(draw, found)


def keep_control(run: Control, file: Path = CONTROL_FILE) -> None:
    with _changed(file) as rows:
        rows.append(_line(run._asdict(), run._field_defaults))


@contextmanager
def _changed(file: Path) -> Iterator[list[str]]:
    """Its lines, for one who changes them alone."""
    with file.open("a+") as rows:
        fcntl.flock(rows, fcntl.LOCK_EX)
        rows.seek(0)
        lines = rows.read().splitlines()
        yield lines
        rows.truncate(0)
        rows.write("".join(f"{line}\n" for line in lines))


def _row(draw: Draw, found: Found) -> str:
    return _line(draw._asdict() | found._asdict(), found._field_defaults)


def _line(row: Mapping[str, object], defaults: Mapping[str, object]) -> str:
    told = {name: value for name, value in row.items() if name not in defaults or value != defaults[name]}
    return json.dumps(told, ensure_ascii=False)


def _read(line: str) -> tuple[Draw, Found]:
    row = json.loads(line)
    return Draw(row.pop("seed"), row.pop("commit")), Found(**row)


def read_control(file: Path = CONTROL_FILE) -> list[Control]:
    return [Control(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def read(file: Path = FILE) -> dict[Draw, list[Found]]:
    draws: dict[Draw, list[Found]] = {}
    for draw, found in map(_read, file.read_text().splitlines() if file.exists() else ()):
        draws.setdefault(draw, []).append(found)
    return draws


def shares(found: Sequence[Found]) -> str:
    """By room: how many were drawn and caught, and what became of the others."""
    rooms = {room: [one for one in found if one.room == room] for room in dict.fromkeys(one.room for one in found)}
    row = _cheap_alone if any(one.asks_others for one in found) else _of_all_tests
    rows = [{"room": room, **row(of)} for room, of in (rooms | {"all": found}).items()]
    head = [f"| {' | '.join(rows[0])} |", f"|{'---|' * len(rows[0])}"]
    return "\n".join([*head, *(f"| {' | '.join(map(str, one.values()))} |" for one in rows)])


def _of_all_tests(of: Sequence[Found]) -> dict[str, object]:
    cheap, hang = sum(one.is_caught_cheaply for one in of), sum(one.hangs for one in of)
    other = sum(one.is_caught_later for one in of)
    equivalent, closed = _judged([one for one in of if one.is_missed])
    missed = len(of) - cheap - other - hang - equivalent
    return {
        "mutants": len(of),
        "by a cheap test": cheap,
        "by another test": other,
        "hangs": hang,
        "equivalent": equivalent,
        "missed": missed,
        "share": _share(cheap + other + hang, len(of) - equivalent),
        "closed": closed,
        "open": missed - closed,
    }


def _cheap_alone(of: Sequence[Found]) -> dict[str, object]:
    """Of a draw that asked cheap tests alone."""
    caught = sum(one.is_caught_cheaply for one in of)
    equivalent, closed = _judged(of)
    return {
        "mutants": len(of),
        "caught": caught,
        "share": _share(caught, len(of)),
        "equivalent": equivalent,
        "closed": closed,
        "open": len(of) - caught - equivalent - closed,
    }


def _judged(of: Iterable[Found]) -> tuple[int, int]:
    reasons = [one.reason for one in of]
    return sum(one.startswith(EQUIVALENT) for one in reasons), sum(one.startswith(CLOSED) for one in reasons)


def _share(part: int, whole: int) -> str:
    return f"{100 * part // whole} %" if whole else "-"


def page(draws: Mapping[Draw, Sequence[Found]], control: Sequence[Control]) -> str:
    parts = [HEAD]
    for draw, found in draws.items():
        runs = "; ".join(_run(one) for one in control if one.commit == draw.commit)
        parts += [f"## Seed {draw.seed}, commit {draw.commit}\n", shares(found), ""]
        parts += [f"Control runs of this commit (CPU seconds): {runs}.\n", *_rows(found), ""]
    return "\n".join(parts).rstrip() + "\n"


def _run(run: Control) -> str:
    failed = f", {run.failed} left out" if run.failed else ""
    return f"{run.folder} {counted(run.tests, 'test')}, {run.cpu_s:.0f} s{failed}"


def _rows(found: Iterable[Found]) -> Iterator[str]:
    """Those that no cheap test caught come first."""
    yield from ("| mutant | caught by, or why not | s |", "|---|---|---|")
    order = sorted(found, key=lambda one: (*_caught(one), one.room, one.file, one.line))
    yield from (f"| {_cell(one.what)} | {_cell(_by(one))} | {one.seconds + one.also_s:.0f} |" for one in order)


def _caught(one: Found) -> tuple[bool, bool, bool]:
    return one.is_caught_cheaply, one.is_caught_later, one.hangs


def _by(one: Found) -> str:
    if one.is_caught_cheaply or one.is_caught_later:
        test = one.by if one.is_caught_cheaply else one.also
        return f"`{test.removeprefix('tests/')}`{'' if one.is_caught_cheaply else ', no cheap test'}"
    return f"**{HANGS if one.hangs else one.by}**: {one.reason or 'not yet judged'}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(read(), read_control()), end="")
