"""The mistakes that `python -m tests.mutants` makes, which tests they meet, and what counts as caught."""

import ast
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from tests.mutants import ALSO_MOST_S, MOST_S, USED_BY, Mutant, asked_also, chosen_for, drawn, mutants_of, tried
from tests.mutants_page import (
    HANGS,
    IMPORT,
    NOT_CAUGHT,
    NOT_RUN,
    Control,
    Draw,
    Found,
    amend,
    keep,
    keep_control,
    page,
    read,
    read_control,
)
from tests.ran_lines import AT_IMPORT, RanLines

ROOT = Path(__file__).parents[1]
FILE = "kafka_reassign_rpc/core/x.py"
SOURCE = dedent(
    '''
    """A docstring with 1 + 1."""
    def broker(known: "dict[int, int]", ids: set[int]) -> int | None:
        """Is 0 where é is not known."""
        log.warning("more than %d", 3 + len(ids))
        if not known and len(ids) < 2:
            return None
        text = f"{known[1]} é"; number = len("é") + 7
        return number if text in known else known[0]
    '''
)


def test_a_mutant_is_one_small_change_and_annotations_logs_and_texts_have_none() -> None:
    found = {(mutant.before, mutant.after) for mutant in mutants_of("m.py", SOURCE)}
    assert found == {
        ("not known and len(ids) < 2", "(not known or len(ids) < 2)"),
        ("not known", "(known)"),
        ("len(ids) < 2", "(len(ids) <= 2)"),
        ("2", "3"),
        ('len("é") + 7', "(len('é') - 7)"),
        ("7", "8"),
        (
            "number if text in known else known[0]",
            "(number if not text in known else known[0])",
        ),
        ("text in known", "(text not in known)"),
        ("0", "1"),
        ("return number if text in known else known[0]", "return None"),
    }


def test_every_place_that_can_be_drawn_holds_what_is_replaced_and_gives_code_again() -> None:
    for mutant in (one for room in USED_BY for one in drawn(ROOT, room, 15, 5)):
        source = ROOT.joinpath(mutant.file).read_text()
        assert source[mutant.first : mutant.last] == mutant.before
        changed = source[: mutant.first] + mutant.after + source[mutant.last :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_the_seed_alone_draws_and_a_smaller_draw_is_the_beginning_of_a_larger_one() -> None:
    larger = drawn(ROOT, "protocol", 6, 5)
    assert drawn(ROOT, "protocol", 3, 5) == larger[:3] != drawn(ROOT, "protocol", 3, 6)


def mutant(line: int = 1) -> Mutant:
    return Mutant(FILE, line, line, 0, 1, "0", "1")


def test_a_mutant_meets_the_quickest_tests_that_run_its_lines_up_to_a_time_and_at_least_one(tmp_path: Path) -> None:
    seconds = {
        "tests/a.py::slow": MOST_S,
        "tests/a.py::quick": 1.0,
        "tests/a.py::middle": 2.0,
        "tests/b.py::other": 0.1,
    }
    ran = RanLines(
        {FILE: {1: frozenset({*seconds} - {"tests/b.py::other"}), 2: frozenset({"tests/a.py::slow"})}},
        seconds,
        seconds,
    )
    assert chosen_for(tmp_path, mutant(), ran) == ["tests/a.py::quick", "tests/a.py::middle"]
    assert chosen_for(tmp_path, mutant(2), ran) == ["tests/a.py::slow"]
    assert chosen_for(tmp_path, mutant(3), ran) == []


def test_what_no_cheap_test_caught_meets_the_others_that_run_its_lines_and_none_a_second_time(tmp_path: Path) -> None:
    seconds = {"tests/core/a.py::one": 1.0, "tests/core/a.py::two": MOST_S}
    seconds |= {
        f"tests/kraft/b.py::{name}": cost for name, cost in (("one", 2.0), ("two", 4.0), ("three", ALSO_MOST_S))
    }

    def ran(*names: str) -> RanLines:
        of_these = {name: seconds[name] for name in names}
        return RanLines({FILE: {1: frozenset(names)}}, of_these, of_these)

    cheap = ran(*(name for name in seconds if name.startswith("tests/core/")))
    assert chosen_for(tmp_path, mutant(), cheap) == ["tests/core/a.py::one"]
    whole = RanLines.of_all([cheap, ran(*(name for name in seconds if name.startswith("tests/kraft/")))])
    assert chosen_for(tmp_path, mutant(), whole, cheap) == ["tests/kraft/b.py::one", "tests/kraft/b.py::two"]


def test_each_folder_of_tests_is_asked_or_runs_no_code_of_these_rooms() -> None:
    of_others = {"benchmarks", "deploy", "docs", "embedded_zookeeper", "packaging", "stock", "support"}
    folders = {one.name for one in ROOT.joinpath("tests").iterdir() if one.joinpath("__init__.py").exists()}
    for room in USED_BY:
        assert sorted([*USED_BY[room], *asked_also(room)]) == sorted(folders - of_others)


def test_what_runs_at_import_meets_the_files_that_import_it_and_the_tests_that_run_any_line_of_it(
    tmp_path: Path,
) -> None:
    for name, text in (
        ("near", "from kafka_reassign_rpc.core import x"),
        ("far", "from kafka_reassign_rpc import core"),
        ("all", 'modules_of("core")'),
        ("of_others", 'modules_of("planner")'),
    ):
        file = tmp_path / "tests" / "core" / f"test_{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    near, far, of_all, of_others = (f"tests/core/test_{name}.py::one" for name in ("near", "far", "all", "of_others"))
    through = "tests/api/test_x.py::three"
    lines = {1: frozenset({AT_IMPORT}), 9: frozenset({through})}
    seconds = {near: 1.0, far: 1.0, of_all: 1.5, of_others: 1.0, through: 2.0}
    ran = RanLines({FILE: lines}, seconds, seconds)
    assert chosen_for(tmp_path, mutant(), ran) == [near, of_all, through]


CODE = """
def count(n):
    while n != 0:
        n -= 1
    return n


def unused():
    return 5
"""
TESTS = """
from pathlib import Path
from kafka_reassign_rpc.core.x import count


def test_weak():
    count(1)


def test_flaky():
    if not (been := Path("been")).exists():
        been.touch()
        raise AssertionError


def test_strong():
    assert count(1) == 0
"""


def test_caught_is_what_a_test_fails_of_twice_and_not_what_hangs_or_what_no_test_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in ((FILE, CODE), ("tests/core/test_x.py", TESTS)):
        tmp_path.joinpath(name).parent.mkdir(parents=True)
        tmp_path.joinpath(name).write_text(text)

    def by(names: Sequence[str], before: str, after: str) -> str:
        tests = {f"tests/core/test_x.py::{name}": number / 1000 for number, name in enumerate(names)}
        ran = RanLines({FILE: dict.fromkeys(range(2, 6), frozenset(tests))}, tests, tests)
        [one] = [one for one in mutants_of(FILE, CODE) if (one.before, one.after) == (before, after)]
        return tried(tmp_path, one, ran).by

    strong = "tests/core/test_x.py::test_strong"
    assert by(["test_weak", "test_flaky", "test_strong"], "return n", "return None") == strong
    tmp_path.joinpath("been").unlink()
    assert by(["test_weak", "test_flaky"], "return n", "return None") == NOT_CAUGHT
    assert by(["test_weak"], "5", "6") == NOT_RUN
    monkeypatch.setattr("tests.mutants.STARTS_S", 5.0)
    assert by(["test_weak", "test_strong"], "1", "2") == HANGS
    assert tmp_path.joinpath(FILE).read_text() == CODE


OTHER, CHEAP_TEST = "tests/kraft/test_y.py::test", "tests/core/test_x.py::test"
ROWS = [
    Found("core", FILE, 3, "a | b", "(a - b)", CHEAP_TEST, 2.4),
    Found("core", FILE, 4, "0", "1", NOT_CAUGHT, 9.0, "equivalent: it is never asked for"),
    Found("core", FILE, 7, "0", "1", NOT_RUN, 0.0, "hole, closed by core/test_x.py"),
    Found("planner", FILE, 5, "0", "1", HANGS, 60.0, "the loop never ends"),
    Found("planner", FILE, 6, "0", "1", IMPORT, 1.0),
    Found("planner", FILE, 8, "0", "1", CHEAP_TEST, 1.0),
    Found("planner", FILE, 9, "0", "1", NOT_CAUGHT, 1.0),
]
ALSO_ASKED = [
    ROWS[1]._replace(also=NOT_CAUGHT, also_s=21.0),
    ROWS[2]._replace(also=NOT_RUN),
    ROWS[6]._replace(also=OTHER, also_s=3.0),
]
CONTROL = [
    Control("12345678", "core", 9, 12.3),
    Control("12345678", "api", 4, 1.6, 2),
    Control("another1", "core", 8, 1.0),
]
DRAW, OTHER_DRAW = Draw(7, "12345678"), Draw(8, "12345678")


def test_what_is_found_later_of_a_mutant_takes_its_place_and_other_rows_stay(tmp_path: Path) -> None:
    file, of_control = tmp_path / "rows", tmp_path / "control"
    assert (read(file), read_control(of_control)) == ({}, [])
    for row in ROWS:
        keep(DRAW, row, file)
    keep(OTHER_DRAW, ROWS[6], file)
    for run in CONTROL:
        keep_control(run, of_control)
    assert (read(file), read_control(of_control)) == ({DRAW: ROWS, OTHER_DRAW: [ROWS[6]]}, CONTROL)
    for row in ALSO_ASKED:
        amend(DRAW, row, file)
    now = [ROWS[0], *ALSO_ASKED[:2], *ROWS[3:6], ALSO_ASKED[2]]
    assert read(file) == {DRAW: now, OTHER_DRAW: [ROWS[6]]}
    asks = [False, False, True, False, False, False, True]
    assert [one.asks_others for one in ROWS] == asks, "neither what is caught, nor what hangs or is equivalent"
    assert not any(one.asks_others for one in now), "and none twice"


def lines_of_page(found: Sequence[Found]) -> list[str]:
    lines = page({DRAW: found}, CONTROL).splitlines()
    return lines[lines.index("## Seed 7, commit 12345678") + 2 :]


def test_the_page_has_the_share_by_room_and_a_row_for_each_mutant_those_not_caught_first() -> None:
    assert lines_of_page([ROWS[0], *ALSO_ASKED[:2], *ROWS[3:6], ALSO_ASKED[2]]) == [
        "| room | mutants | by a cheap test | by another test | hangs | equivalent | missed | share | closed | open |",
        "|---|---|---|---|---|---|---|---|---|---|",
        "| core | 3 | 1 | 0 | 0 | 1 | 1 | 50 % | 1 | 0 |",
        "| planner | 4 | 2 | 1 | 1 | 0 | 0 | 100 % | 0 | 0 |",
        "| all | 7 | 3 | 1 | 1 | 1 | 1 | 83 % | 1 | 0 |",
        "",
        "Control runs of this commit (CPU seconds): core 9 tests, 12 s; api 4 tests, 2 s, 2 left out.",
        "",
        "| mutant | caught by, or why not | s |",
        "|---|---|---|",
        "| core/x.py:4: `0` → `1` | **NOT CAUGHT**: equivalent: it is never asked for | 30 |",
        "| core/x.py:7: `0` → `1` | **NO CHEAP TEST RUNS IT**: hole, closed by core/test_x.py | 0 |",
        "| core/x.py:5: `0` → `1` | **HANGS**: the loop never ends | 60 |",
        "| core/x.py:9: `0` → `1` | `kraft/test_y.py::test`, no cheap test | 4 |",
        "| core/x.py:3: `a \\| b` → `(a - b)` | `core/test_x.py::test` | 2 |",
        "| core/x.py:6: `0` → `1` | `the import of the tests` | 1 |",
        "| core/x.py:8: `0` → `1` | `core/test_x.py::test` | 1 |",
    ]


def test_a_draw_that_asked_cheap_tests_alone_keeps_the_share_of_these() -> None:
    assert lines_of_page(ROWS)[:5] == [
        "| room | mutants | caught | share | equivalent | closed | open |",
        "|---|---|---|---|---|---|---|",
        "| core | 3 | 1 | 33 % | 1 | 1 | 0 |",
        "| planner | 4 | 2 | 50 % | 0 | 0 | 2 |",
        "| all | 7 | 3 | 42 % | 1 | 1 | 2 |",
    ]


def test_a_room_of_equivalent_mutants_alone_has_no_share() -> None:
    assert "| core | 1 | 0 | 0 | 0 | 1 | 0 | - | 0 | 0 |" in lines_of_page(ALSO_ASKED[:1])


def test_the_page_in_docs_is_that_of_the_rows_and_each_mutant_that_was_not_caught_is_judged() -> None:
    draws = read()
    assert ROOT.joinpath("docs", "mutants.md").read_text() == page(draws, read_control())
    assert {one.commit for one in draws} <= {one.commit for one in read_control()}, "each draw has control runs"
    assert [one.what for found in draws.values() for one in found if one.is_missed and not one.reason] == []
