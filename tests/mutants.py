"""What the tests notice: `python -m tests.mutants --count 100 --seed 1`.

Each mutant is one small mistake at a random place of the code: another comparison, a condition turned round, a number
that is one too high, a sum that is a difference, a result that is None. In a copy of the repository it meets the tests
nearest to it first: those that import its module, then those of its room that start no process, then what `make test`
has of the rooms that use it. The first that fails has caught it. The unchanged code goes first, and must pass.
"""

import argparse
import ast
import os
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

ROOT = Path(__file__).parents[1]
PACKAGE = "kafka_reassign_rpc"
USED_BY = {
    "core": ("core", "properties", "controller", "api"),
    "planner": ("planner", "pipeline"),
    "controller": ("controller", "properties", "faults"),
    "protocol": ("protocol", "api", "server"),
}
"""The rooms whose code is changed, and the folders of tests that may notice."""
LIMIT_S = 900
"""A mutant whose tests take longer has been noticed: it hangs."""
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
    stage: str


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
            yield Mutant(file, node.lineno, first, last, source[first:last], after)


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


def stages(root: Path, mutant: Mutant) -> Iterator[tuple[str, list[str]]]:
    """The name of a stage, and what pytest is called with."""
    folders = [f"tests/{folder}" for folder in USED_BY[mutant.room]]
    module = mutant.file.removesuffix(".py").replace("/", ".")
    parent, _, name = module.rpartition(".")
    near = [
        str(file.relative_to(root))
        for folder in folders
        for file in sorted(root.joinpath(folder).rglob("test_*.py"))
        if (text := file.read_text()) and (module in text or f"from {parent} import {name}" in text)
    ]
    pure = ["-m", "not stock and not long"]
    if near:
        yield "tests of its module", [*pure, *near]
    yield "tests of its room", [*pure, f"tests/{mutant.room}"]
    yield "make test", ["--run", "test", *folders]


def failed_test(root: Path, arguments: Sequence[str]) -> str | None:
    """The first test that fails; None if all pass. Raises RuntimeError if pytest cannot run."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a hang of more than {LIMIT_S} s"
    if done.returncode in (0, 5):
        return None
    found = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if found:
        return found[0].split(" - ")[0]
    if done.returncode in (2, 3, 4) and "Error" in done.stdout + done.stderr:
        return "the import of the tests"
    raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])


def tried(root: Path, mutant: Mutant) -> Caught:
    file = root / mutant.file
    source = file.read_text()
    assert source[mutant.first : mutant.last] == mutant.before
    file.write_text(source[: mutant.first] + mutant.after + source[mutant.last :])
    try:
        for stage, arguments in stages(root, mutant):
            if test := failed_test(root, arguments):
                return Caught(mutant, test, stage)
        return Caught(mutant, None, "")
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
    names = ("tests of its module", "tests of its room", "make test")
    lines = [f"| room | mutants | {' | '.join(names)} | not caught |", f"|---|---|{'---|' * len(names)}---|"]
    for room in [*USED_BY, "all"]:
        of = [one for one in found if room in (one.mutant.room, "all")]
        by = Counter(one.stage for one in of)
        lines.append(f"| {room} | {len(of)} | {' | '.join(str(by[name]) for name in names)} | {by['']} |")
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
        for room in rooms:
            if test := failed_test(root, ["-m", "not stock and not long", f"tests/{room}"]):
                print(f"the unchanged code fails: {test}", file=sys.stderr)
                return 1
        found = []
        for number, mutant in enumerate(drawn(root, rooms, given.count, given.seed), 1):
            began = time.monotonic()
            caught = tried(root, mutant)
            found.append(caught)
            print(
                f"{number:3} {mutant}: {f'caught by {caught.by} ({caught.stage})' if caught.by else 'NOT CAUGHT'},"
                f" {time.monotonic() - began:.0f} s",
                flush=True,
            )
    print(f"\n{table(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
