"""What the tests notice: `python -m tests.mutants --count 100 --seed 1`.

Each mutant is one small mistake at a random place of the code: another comparison, a condition turned round, a number
that is one too high, a sum that is a difference, a result that is None. In a copy of the repository it meets the tests
that run its line, the quickest first; the first that fails has caught it. Which tests run a line, and how long each
takes, is known from the control run of the unchanged code (`tests.ran_lines`). What runs when a module is imported
meets the tests of the files that import that module.
"""

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.ran_lines import RanLines, failed_tests, surroundings_of_own_run

ROOT = Path(__file__).parents[1]
PACKAGE = "kafka_reassign_rpc"
USED_BY = {
    "core": ("core", "properties", "api", "kraft", "controller"),
    "planner": ("planner",),
    "controller": ("controller", "properties"),
    "protocol": ("protocol", "api"),
}
"""The rooms whose code is changed, and the folders of tests that may notice: of `make test`, without stock Kafka and
without tests that take long.
"""
PURE = ("-m", "not stock and not long")
MOST_S = 60.0
"""Seconds of the control run: a mutant meets as many of its tests, the quickest, as take no longer."""
MOST_FAIL = 5
"""Tests of the control run: on a busy machine one may not be in time."""
STARTS_S, HANGS = 60.0, 5.0
"""A mutant has been noticed, since it hangs, if its tests take so many times as long as in the control run, and so many
seconds more: a busy machine slows both.
"""
OWN, OTHERS, NOT_CAUGHT, NOT_RUN = KINDS = ("tests of its room", "other tests", "not caught", "no test runs it")
_OTHER_COMPARISON = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OTHER_OPERATOR = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}


class Mutant(NamedTuple):
    """`first` and `last` are offsets in the file, in characters."""

    file: str
    line: int
    last_line: int
    first: int
    last: int
    before: str
    after: str

    @property
    def room(self) -> str:
        return self.file.split("/")[1]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: `{_short(self.before)}` → `{_short(self.after)}`"


class Caught(NamedTuple):
    mutant: Mutant
    by: str | None
    """The test that failed first; None: no test has."""
    tried: int
    """How many tests were chosen for it."""

    @property
    def kind(self) -> str:
        """A column of the table."""
        if self.by is None:
            return NOT_CAUGHT if self.tried else NOT_RUN
        return OWN if self.by.startswith(f"tests/{self.mutant.room}/") else OTHERS


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 60 else f"{line[:57]}…"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """All that the file can have. Annotations, log lines and texts stay as they are."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    encoded = source.splitlines()

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(encoded[line - 1].encode()[:column].decode())

    tree = ast.parse(source)
    skipped = {id(inner) for node in ast.walk(tree) for outer in _not_run(node) for inner in ast.walk(outer)}
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr | ast.Return):
            continue
        for after in _changes(node):
            first = offset(node.lineno, node.col_offset)
            last = offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
            end = node.end_lineno or node.lineno
            yield Mutant(file, node.lineno, end, first, last, source[first:last], after)


def _not_run(node: ast.AST) -> Iterator[ast.AST]:
    """Annotations and log lines have no effect; of what a text contains Python 3.11 does not know the place."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("log.")):
        yield node


def _changes(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in _OTHER_COMPARISON:
            yield f"({ast.unparse(ast.Compare(left, [_OTHER_COMPARISON[type(operator)]()], [right]))})"
        case ast.BoolOp(operator, values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.BinOp(left, operator, right) if type(operator) in _OTHER_OPERATOR:
            if not any(isinstance(side, ast.JoinedStr | ast.List | ast.Tuple) for side in (left, right)):
                yield f"({ast.unparse(ast.BinOp(left, _OTHER_OPERATOR[type(operator)](), right))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test, body, otherwise):
            yield f"({ast.unparse(ast.IfExp(ast.UnaryOp(ast.Not(), test), body, otherwise))})"
        case ast.Constant(bool(value)):
            yield str(not value)
        case ast.Constant(int(value)):
            yield str(value + 1)
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield "return None"


def drawn(root: Path, rooms: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Each place has the same chance."""
    files = sorted(file for room in rooms for file in root.joinpath(PACKAGE, room).rglob("*.py"))
    known = [mutant for file in files for mutant in mutants_of(str(file.relative_to(root)), file.read_text())]
    return random.Random(seed).sample(known, min(count, len(known)))


def chosen_for(root: Path, mutant: Mutant, ran: RanLines) -> list[str]:
    """The quickest first."""
    lines = range(mutant.line, mutant.last_line + 1)
    found = ran.by_tests(mutant.file, lines)
    if not found and ran.at_import(mutant.file, lines):
        near = importing(root, mutant)
        found = {test for test in ran.seconds if test.partition("::")[0] in near}
    chosen, left_s = list[str](), MOST_S
    for test in sorted(found, key=lambda one: (ran.seconds[one], one)):
        left_s -= ran.seconds[test]
        if chosen and left_s < 0:
            break
        chosen.append(test)
    return chosen


def importing(root: Path, mutant: Mutant) -> set[str]:
    """The files of tests that import its module."""
    module = mutant.file.removesuffix(".py").replace("/", ".")
    parent, _, name = module.rpartition(".")
    return {
        str(file.relative_to(root))
        for folder in USED_BY[mutant.room]
        for file in root.joinpath("tests", folder).rglob("test_*.py")
        if (text := file.read_text()) and (module in text or f"from {parent} import {name}" in text)
    }


def failed_test(root: Path, tests: Sequence[str], limit_s: float) -> str | None:
    """The first test that fails; None if all pass. Raises RuntimeError if pytest cannot run."""
    chosen = root / "chosen-tests"
    chosen.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", f"@{chosen}"]
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=surroundings_of_own_run(root),
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a hang of more than {limit_s:.0f} s"
    if done.returncode == 0:
        return None
    if found := failed_tests(done.stdout):
        return found[0]
    if done.returncode in (2, 3, 4) and "Error" in done.stdout + done.stderr:
        return "the import of the tests"
    raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])


def tried(root: Path, mutant: Mutant, ran: RanLines) -> Caught:
    file = root / mutant.file
    source = file.read_text()
    assert source[mutant.first : mutant.last] == mutant.before
    tests = chosen_for(root, mutant, ran)
    if not tests:
        return Caught(mutant, None, 0)
    file.write_text(source[: mutant.first] + mutant.after + source[mutant.last :])
    try:
        limit_s = STARTS_S + HANGS * sum(ran.seconds[test] for test in tests)
        return Caught(mutant, failed_test(root, tests, limit_s), len(tests))
    finally:
        file.write_text(source)


def copied(to: Path) -> Path:
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.split("\0")
    for name in filter(None, files):
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    for name in (".jars", ".venv"):
        if ROOT.joinpath(name).exists():
            to.joinpath(name).symlink_to(ROOT / name)
    return to


def table(found: Sequence[Caught]) -> str:
    lines = [f"| room | mutants | {' | '.join(KINDS)} |", f"|---|---|{'---|' * len(KINDS)}"]
    for room in [*USED_BY, "all"]:
        of = [one for one in found if room in (one.mutant.room, "all")]
        by = Counter(one.kind for one in of)
        lines.append(f"| {room} | {len(of)} | {' | '.join(str(by[kind]) for kind in KINDS)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="how many mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default: %(default)s)")
    parser.add_argument("--room", action="append", choices=USED_BY, help="of these rooms alone; may be repeated")
    given = parser.parse_args()
    rooms = given.room or list(USED_BY)
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        root = copied(Path(directory))
        mutants = drawn(root, rooms, given.count, given.seed)
        files = sorted({mutant.file for mutant in mutants})
        folders = sorted({f"tests/{folder}" for mutant in mutants for folder in USED_BY[mutant.room]})
        began = time.monotonic()
        ran = RanLines.found(root, files, [*PURE, *folders])
        for test in sorted(ran.failed):
            print(f"{test} fails with the unchanged code: no mutant meets it", flush=True)
        if len(ran.failed) > MOST_FAIL:
            print(f"more than {MOST_FAIL} fail with the unchanged code: mend them first", file=sys.stderr)
            return 1
        print(f"control run: {len(ran.seconds)} tests, {time.monotonic() - began:.0f} s", flush=True)
        found = []
        for number, mutant in enumerate(mutants, 1):
            began = time.monotonic()
            caught = tried(root, mutant, ran)
            found.append(caught)
            by = f"caught by {caught.by}" if caught.by else caught.kind.upper()
            took = f"{caught.tried} tests, {time.monotonic() - began:.0f} s"
            print(f"{number:3} {mutant}: {by}, {took}", flush=True)
    print(f"\n{table(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
