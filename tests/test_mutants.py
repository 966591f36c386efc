"""The mistakes that `python -m tests.mutants` makes, and what it counts."""

import ast
from pathlib import Path
from textwrap import dedent

from tests.mutants import USED_BY, Caught, Mutant, drawn, mutants_of, table

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


def test_the_table_counts_by_room_and_by_what_caught_them() -> None:
    def mutant(room: str) -> Mutant:
        return Mutant(f"kafka_reassign_rpc/{room}/x.py", 1, 0, 1, "0", "1")

    found = [
        Caught(mutant("core"), "t", "tests of its module"),
        Caught(mutant("core"), None, ""),
        Caught(mutant("protocol"), "t", "make test"),
    ]
    lines = table(found).splitlines()
    assert "| core | 2 | 1 | 0 | 0 | 1 |" in lines
    assert "| protocol | 1 | 0 | 0 | 1 | 0 |" in lines
    assert "| all | 3 | 1 | 0 | 1 | 1 |" in lines
