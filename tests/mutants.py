"""What the tests notice: `python -m tests.mutants --count 25 --seed 1`.

Each mutant is one small mistake at a random place of the code: another comparison, a condition turned round, a number
that is one too high, a sum that is a difference, a result that is None. In a copy of a commit it meets the tests that
run its line, the quickest first; the first that fails twice has caught it. Which tests run a line, and how long each
takes, is known from the control runs of the unchanged code (`tests.ran_lines`), which have to pass. What runs when a
module is imported meets the tests that import that module or run a line of it.

What no cheap test caught meets the other tests of `make test` that run its line (`ALSO`), the quickest first. Missed is
what none of them has failed of, also what no test runs. The copy with its control runs is kept, and what was found is
in `tests/mutants.jsonl`: a run that was ended goes on where it was. `tests.mutants_page` makes docs/mutants.md of it.
"""

import argparse
import ast
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests import mutants_page
from tests.mutants_page import Found
from tests.ran_lines import RanLines, failed_tests, surroundings_of_own_run

ROOT = Path(__file__).parents[1]
PACKAGE = "kafka_reassign_rpc"
USED_BY = {
    "planner": ("planner",),
    "protocol": ("protocol", "api"),
    "core": ("core", "properties", "api"),
    "controller": ("controller", "properties"),
}
"""The rooms whose code is changed, and the folders of tests that may notice: of `make test`, without stock Kafka and
without tests that take long. What decides has to be noticed by tests that start nothing.
"""
ALSO = (
    *("kraft", "transport", "fleet", "controller_channel", "zookeeper", "preflight", "python_client", "leaving"),
    *("reassign_command", "security", "cli", "server", "status_page", "watch", "examples", "fuzz", "interop"),
    *("campaign", "faults", "pipeline", "mixed_clusters", "migration", "foreign_clients"),
)
"""The other folders of `make test` whose tests run code of these rooms. Which lines run in the processes that a test
starts is not known.
"""
CHEAP = ("-m", "not stock and not long")
MOST_S, ALSO_MOST_S = 30.0, 15.0
"""CPU seconds of the control run: a mutant meets as many of its cheap tests, the quickest, as take no longer; and as
many others.
"""
STARTS_S, HANGS = 60.0, 3.0
"""A mutant hangs if its tests take so many times as long as in the control run, by the clock, and so many seconds more:
a busy machine slows both.
"""
AT_ONCE = 2
"""Rooms whose mutants are tried at the same time."""
_PLUGIN = """from hypothesis import Phase, settings

find = (Phase.explicit, Phase.reuse, Phase.generate)
settings.register_profile("mutants", max_examples=50, deadline=None, derandomize=True, phases=find)
"""
"""To make an example small that fails takes a minute, and tells nothing here."""
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

    def found(self, by: str, seconds: float) -> Found:
        return Found(self.room, self.file, self.line, self.before, self.after, by, round(seconds, 1))

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.found("", 0).key


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


def drawn(root: Path, room: str, count: int, seed: int) -> list[Mutant]:
    """Each place has the same chance."""
    files = sorted(str(file.relative_to(root)) for file in root.joinpath(PACKAGE, room).rglob("*.py"))
    known = [mutant for file in files for mutant in mutants_of(file, root.joinpath(file).read_text())]
    return random.Random(seed).sample(known, min(count, len(known)))


def chosen_for(root: Path, mutant: Mutant, ran: RanLines, asked: RanLines | None = None) -> list[str]:
    """The quickest first. `asked`: a run of tests that the mutant has met before, as many as this gives for it."""
    before = () if asked is None else chosen_for(root, mutant, asked)
    lines = range(mutant.line, mutant.last_line + 1)
    found = ran.by_tests(mutant.file, lines)
    if not found and ran.at_import(mutant.file, lines):
        near = importing(root, mutant)
        found = {test for test in ran.cpu_s if test.partition("::")[0] in near} | ran.by_tests(mutant.file)
    chosen, left_s = list[str](), MOST_S if asked is None else ALSO_MOST_S
    for test in sorted(found.difference(before), key=lambda one: (ran.cpu_s[one], ran.clock_s[one], one)):
        left_s -= ran.cpu_s[test]
        if chosen and left_s < 0:
            break
        chosen.append(test)
    return chosen


def importing(root: Path, mutant: Mutant) -> set[str]:
    """The files of tests that import its module, by itself or as one of its room."""
    module = mutant.file.removesuffix(".py").replace("/", ".")
    parent, _, name = module.rpartition(".")
    named = (module, f"from {parent} import {name}", f'modules_of("{mutant.room}")')
    return {
        str(file.relative_to(root))
        for file in root.joinpath("tests").rglob("test_*.py")
        if (text := file.read_text()) and any(one in text for one in named)
    }


def failed_test(root: Path, tests: Sequence[str], limit_s: float) -> str:
    """The first test that fails twice; "" if there is none; HANGS. Raises RuntimeError if pytest cannot run."""
    chosen = root / "chosen-tests"
    chosen.write_text("\n".join(tests))
    (root / "mutants_plugin.py").write_text(_PLUGIN)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--reruns=1", "-p", "no:cacheprovider", "--no-header"]
    command += ["-p", "mutants_plugin", "--hypothesis-profile=mutants", f"@{chosen}"]
    with subprocess.Popen(
        command,
        cwd=root,
        env={**surroundings_of_own_run(root), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            printed, _ = run.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return mutants_page.HANGS
        finally:  # also processes that its tests have left
            _end_group(run.pid)
    if found := failed_tests(printed):
        return found[0]
    if run.returncode in (0, 1):  # 1: too many that passed the second time
        return ""
    if "Error" in printed:
        return mutants_page.IMPORT
    raise RuntimeError(printed[-4000:])


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def tried(root: Path, mutant: Mutant, ran: RanLines, asked: RanLines | None = None) -> Found:
    """`asked`: as of `chosen_for`."""
    file = root / mutant.file
    source, before = file.read_text(), file.stat()
    assert source[mutant.first : mutant.last] == mutant.before
    tests = chosen_for(root, mutant, ran, asked)
    if not tests:
        return mutant.found(mutants_page.NOT_RUN, 0)
    began = time.monotonic()
    file.write_text(source[: mutant.first] + mutant.after + source[mutant.last :])
    try:
        limit_s = STARTS_S + HANGS * sum(ran.clock_s[test] for test in tests)
        by = failed_test(root, tests, limit_s)
        return mutant.found(by or mutants_page.NOT_CAUGHT, time.monotonic() - began)
    finally:
        file.write_text(source)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # what is compiled is that of the unchanged code


@contextmanager
def _alone(path: Path, what: str) -> Iterator[None]:
    """Another call with the same commit, or another thread of this one, waits."""
    with path.with_name(f"{path.name}.{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def copied(commit: str, to: Path) -> Path:
    """The commit's files."""
    with _alone(to, "copy"):
        if not (done := to / ".copied").exists():
            to.mkdir(parents=True, exist_ok=True)
            with subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE) as archive:
                subprocess.run(["tar", "-x", "-C", str(to)], stdin=archive.stdout, check=True)
            if archive.returncode:
                raise RuntimeError(f"git archive {commit} failed")
            for name in filter(lambda one: ROOT.joinpath(one).exists(), (".jars", ".venv")):
                to.joinpath(name).symlink_to(ROOT / name)
            done.touch()
    return to


def control(root: Path, folders: Iterable[str], commit: str) -> RanLines:
    """That of each folder of tests, from an earlier call or by a run. Raises RuntimeError if a cheap test does not
    pass. Of the folders of ALSO some may not, since it takes time to note each line: they are asked nothing.
    """
    files = sorted(str(one.relative_to(root)) for room in USED_BY for one in root.joinpath(PACKAGE, room).rglob("*.py"))
    runs = []
    for folder in folders:
        began = time.monotonic()
        runs.append(_known(root, folder) or _run_now(root, folder, files, commit))
        took = f"{len(runs[-1].cpu_s)} tests pass, {time.monotonic() - began:.0f} s"
        print(f"control run of tests/{folder}: {took}", flush=True)
    return RanLines.of_all(runs)


def _known(root: Path, folder: str) -> RanLines | None:
    try:
        return RanLines.read(root, folder)
    except FileNotFoundError:
        return None


def _run_now(root: Path, folder: str, files: Sequence[str], commit: str) -> RanLines:
    with _alone(root, "control"):  # another room may have had it run meanwhile
        if (found := _known(root, folder)) is None:
            which = [*(() if folder in ALSO else CHEAP), f"tests/{folder}"]
            found = RanLines.found(root, folder, files, which, some_may_fail=folder in ALSO)
            cpu_s = round(sum(found.cpu_s.values()), 1)
            run = mutants_page.Control(commit, folder, len(found.cpu_s), cpu_s, len(found.failed))
            mutants_page.keep_control(run)
    return found


def asked_also(room: str, others: Sequence[str] = ALSO) -> list[str]:
    """The folders of tests that a mutant of the room meets which no cheap test caught. `others`: of those of ALSO."""
    cheap = dict.fromkeys(folder for folders in USED_BY.values() for folder in folders)
    return [folder for folder in (*cheap, *others) if folder not in USED_BY[room]]


def tried_of_room(root: Path, room: str, count: int, draw: mutants_page.Draw, others: Sequence[str] | None) -> None:
    """`root`: of the control runs. The mutants are in a copy of it, since those of several rooms are tried at once.
    `others`: as of `asked_also`; None: cheap tests alone are asked.
    """
    mutants = drawn(root, room, count, draw.seed)
    numbers = {mutant.key: number for number, mutant in enumerate(mutants, 1)}

    def each(left: Sequence[Mutant], ran: RanLines, asked: RanLines | None = None) -> Iterator[tuple[Mutant, Found]]:
        shutil.rmtree(own, ignore_errors=True)
        shutil.copytree(root, own, symlinks=True, ignore=shutil.ignore_patterns(".ran*", ".costs*", ".failed*"))
        for mutant in left:
            found = tried(own, mutant, ran, asked)
            yield mutant, found
            print(f"{room} {numbers[mutant.key]}: {found.what}: {found.by}, {found.seconds} s", flush=True)
        shutil.rmtree(own)

    own = root.with_name(f"{root.name}-{room}")
    with _alone(own, "mutants"):
        known = {one.key: one for one in mutants_page.read().get(draw, ())}
        if left := [one for one in mutants if one.key not in known]:
            for _, found in each(left, control(root, USED_BY[room], draw.commit)):
                mutants_page.keep(draw, found)
        known = {one.key: one for one in mutants_page.read().get(draw, ())}
        left = [one for one in mutants if known[one.key].asks_others]
        if others is not None and left:
            cheap = control(root, USED_BY[room], draw.commit)
            more = control(root, asked_also(room, others), draw.commit)
            for mutant, found in each(left, RanLines.of_all([cheap, more]), cheap):
                mutants_page.amend(draw, known[mutant.key]._replace(also=found.by, also_s=found.seconds))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=25, help="how many mutants of each room (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default: %(default)s)")
    parser.add_argument("--room", action="append", choices=USED_BY, help="of these rooms alone; may be repeated")
    parser.add_argument("--commit", default="HEAD", help="of this commit (default: %(default)s)")
    parser.add_argument("--cheap", action="store_true", help="ask cheap tests alone; a later call asks the others")
    parser.add_argument("--other", action="append", choices=ALSO, help="of the others, ask these; may be repeated")
    given = parser.parse_args()
    named = subprocess.run(
        ["git", "rev-parse", "--short=8", given.commit], cwd=ROOT, capture_output=True, check=True, text=True
    )
    draw = mutants_page.Draw(given.seed, named.stdout.strip())
    root = copied(draw.commit, Path(tempfile.gettempdir()) / f"mutants-{draw.commit}")
    with ThreadPoolExecutor(AT_ONCE) as threads:
        others = None if given.cheap else given.other or ALSO
        rooms = given.room or USED_BY
        begun = [threads.submit(tried_of_room, root, room, given.count, draw, others) for room in rooms]
        for done in begun:
            done.result()
    print(mutants_page.shares(mutants_page.read()[draw]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
