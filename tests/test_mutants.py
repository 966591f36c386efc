"""The mistakes that `python -m tests.mutants` makes, and what it counts."""

import ast
from pathlib import Path
from textwrap import dedent

from tests.mutants import MOST_S, USED_BY, Caught, Mutant, chosen_for, drawn, mutants_of, table
from tests.ran_lines import AT_IMPORT, RanLines

ROOT = Path(__file__).parents[1]
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
    for mutant in drawn(ROOT, list(USED_BY), 60, 5):
        source = ROOT.joinpath(mutant.file).read_text()
        assert source[mutant.first : mutant.last] == mutant.before
        changed = source[: mutant.first] + mutant.after + source[mutant.last :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def mutant(room: str, line: int = 1) -> Mutant:
    return Mutant(f"kafka_reassign_rpc/{room}/x.py", line, line, 0, 1, "0", "1")


def test_the_table_counts_by_room_and_by_what_caught_them() -> None:
    found = [
        Caught(mutant("core"), "tests/core/test_x.py::test", 3),
        Caught(mutant("core"), None, 3),
        Caught(mutant("protocol"), "tests/api/test_x.py::test", 1),
        Caught(mutant("protocol"), None, 0),
        Caught(mutant("planner"), "a hang of more than 9 s", 1),
    ]
    lines = table(found).splitlines()
    assert "| core | 2 | 1 | 0 | 1 | 0 |" in lines
    assert "| protocol | 2 | 0 | 1 | 0 | 1 |" in lines
    assert "| all | 5 | 1 | 2 | 1 | 1 |" in lines


def test_a_mutant_meets_the_quickest_tests_that_run_its_lines_up_to_a_time_and_at_least_one(tmp_path: Path) -> None:
    file = "kafka_reassign_rpc/core/x.py"
    seconds = {
        "tests/a.py::slow": MOST_S,
        "tests/a.py::quick": 1.0,
        "tests/a.py::middle": 2.0,
        "tests/b.py::other": 0.1,
    }
    ran = RanLines(
        {file: {1: frozenset({*seconds} - {"tests/b.py::other"}), 2: frozenset({"tests/a.py::slow"})}}, seconds
    )
    assert chosen_for(tmp_path, mutant("core"), ran) == ["tests/a.py::quick", "tests/a.py::middle"]
    assert chosen_for(tmp_path, mutant("core", 2), ran) == ["tests/a.py::slow"]
    assert chosen_for(tmp_path, mutant("core", 3), ran) == []


def test_what_runs_at_import_meets_the_tests_of_the_files_that_import_it(tmp_path: Path) -> None:
    for name, text in (
        ("near", "from kafka_reassign_rpc.core import x"),
        ("far", "from kafka_reassign_rpc import core"),
    ):
        file = tmp_path / "tests" / "core" / f"test_{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    seconds = {"tests/core/test_near.py::one": 1.0, "tests/core/test_far.py::two": 1.0}
    ran = RanLines({"kafka_reassign_rpc/core/x.py": {1: frozenset({AT_IMPORT})}}, seconds)
    assert chosen_for(tmp_path, mutant("core"), ran) == ["tests/core/test_near.py::one"]
