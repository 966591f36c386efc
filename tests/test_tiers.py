"""Which run has which test."""

from pathlib import Path

import pytest

from tests.tiers import PARTS, RUNS, chosen, is_in, room, used_by_others

FILES = [f"tests/{name}/test_it.py" for name in ("a", "b", "c", "d", "e", "f", "watch")]


@pytest.mark.parametrize(
    ("marks", "runs"),
    [
        ((), {"test", "all"}),
        (("stock",), {"test", "all"}),
        (("gate", "stock"), {"gate", "all"}),
        (("release",), {"all"}),
        (("more",), {"test", "all"}),
        (("more", "gate"), {"gate", "all"}),
    ],
)
def test_each_test_is_in_the_runs_of_its_marks(marks: tuple[str, ...], runs: set[str]) -> None:
    assert {run for run in RUNS if is_in(run, "tests/a/test_it.py", marks, ())} == runs


@pytest.mark.parametrize("mark", ["release", "more"])
def test_the_gate_has_what_was_chosen_of_all(mark: str) -> None:
    assert is_in("gate", FILES[0], (mark,), {FILES[0]})
    assert not is_in("gate", FILES[1], (mark,), {FILES[0]})
    assert not is_in("gate", FILES[0], (), {FILES[0]})


@pytest.mark.parametrize("number", [0, 3, 1_234])
def test_five_numbers_in_a_row_choose_each_file_once(number: int) -> None:
    parts = [chosen(FILES, number + more, ()) for more in range(PARTS)]
    assert sorted(file for part in parts for file in part) == FILES


def test_the_rooms_of_a_change_are_chosen_whatever_the_number() -> None:
    changed = [
        "kafka_reassign_rpc/watch/sizes.py",
        "tests/b/other.py",
        "README.md",
        "docs/a/page.md",
        "tests/waiting.py",
    ]
    for number in range(PARTS):
        assert {FILES[1], FILES[-1]} <= chosen(FILES, number, changed)


def test_a_changed_file_of_tests_chooses_itself_and_no_other_of_its_room() -> None:
    files = [*FILES, "tests/b/test_other.py"]
    for number in range(PARTS):
        fifth = chosen(files, number, ())
        assert chosen(files, number, ["tests/b/test_it.py"]) == fifth | {"tests/b/test_it.py"}
        assert chosen(files, number, ["tests/b/test_it.py"], ["tests/b/test_it.py"]) >= {"tests/b/test_other.py"}
        assert chosen(files, number, ["tests/b/conftest.py"]) == fifth | {"tests/b/test_it.py", "tests/b/test_other.py"}


def test_a_file_of_tests_from_which_another_imports_is_found(tmp_path: Path) -> None:
    (tmp_path / "tests" / "a").mkdir(parents=True)
    (tmp_path / "tests" / "a" / "test_it.py").write_text("def helper(): ...\n")
    (tmp_path / "tests" / "test_top.py").write_text("from tests.a.test_it import helper\nfrom tests.other import it\n")
    assert used_by_others(tmp_path) == {"tests/a/test_it.py"}
    assert "tests/pipeline/test_plan_job.py" in used_by_others()


def test_a_room_is_a_folder_of_the_package_or_of_its_tests() -> None:
    assert room("tests/conftest.py") is room("docs/watch/page.md") is None
    assert room("kafka_reassign_rpc/core/state/cluster.py") == room("tests/core/test_it.py") == "core"
