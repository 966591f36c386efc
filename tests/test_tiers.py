"""Which run has which test."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import tiers
from tests.tiers import PARTS, PAUSE_S, RUNS, SHARE, chosen, helpers, is_in, room, submissions

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
    changed = ["kafka_reassign_rpc/watch/seen_cluster.py", "kafka_reassign_rpc/b/x.py", "README.md", "docs/a/page.md"]
    for number in range(PARTS):
        assert {FILES[1], FILES[-1]} <= chosen(FILES, number, changed)


def test_of_many_rooms_each_file_is_chosen_within_three_submissions_and_what_changed_itself_always() -> None:
    changed = [f"kafka_reassign_rpc/{name}/x.py" for name in "abcde"] + ["tests/f/test_it.py"]
    parts = [chosen(FILES, number, changed) for number in range(SHARE)]
    assert set().union(*parts) >= set(FILES[:6])
    for number, part in enumerate(parts):
        assert "tests/f/test_it.py" in part
        assert len(part - chosen(FILES, number, changed[-1:])) <= 2


def test_a_changed_file_of_tests_chooses_itself_and_a_helper_those_of_its_room_that_use_it() -> None:
    files = [*FILES, "tests/b/test_other.py"]
    uses = {"tests/b/test_it.py": {"tests/b/world.py"}, "tests/b/test_other.py": {"tests/b/test_it.py"}}
    for number in range(PARTS):
        fifth = chosen(files, number, ())
        assert chosen(files, number, ["tests/b/test_it.py"]) == fifth | {"tests/b/test_it.py"}
        assert chosen(files, number, ["tests/b/test_it.py"], uses) == fifth | {
            "tests/b/test_it.py",
            "tests/b/test_other.py",
        }
        assert chosen(files, number, ["tests/b/world.py"], uses) == fifth | {"tests/b/test_it.py"}
        assert chosen(files, number, ["tests/b/unused.py"], uses) == fifth


def test_the_helpers_of_a_file_are_what_it_imports_of_its_room_also_through_others_and_the_fixtures_above(
    tmp_path: Path,
) -> None:
    texts = {
        "conftest.py": "",
        "waiting.py": "",
        "a/__init__.py": "",
        "a/conftest.py": "from .cluster import start\n",
        "a/cluster.py": "from tests.waiting import eventually\nfrom tests.a.parts import (\n    one,\n)\n",
        "a/parts.py": "from tests.a import deep\n",
        "a/deep.py": "",
        "a/unused.py": "",
        "a/test_it.py": "from tests.b.world import World\n",
        "a/below/test_that.py": "from ..unused import one\nif True:\n    from tests.a.test_it import helper\n",
        "b/world.py": "",
    }
    for name, text in texts.items():
        file = tmp_path / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    above = {f"tests/a/{name}.py" for name in ("__init__", "conftest", "cluster", "parts", "deep")}
    assert helpers(tmp_path) == {
        "tests/a/test_it.py": above,
        "tests/a/below/test_that.py": above | {"tests/a/unused.py", "tests/a/test_it.py"},
    }


def test_a_file_whose_helpers_come_from_another_test_knows_it() -> None:
    assert "tests/pipeline/test_plan_job.py" in helpers()["tests/pipeline/test_spark_cluster.py"]


def test_a_pause_in_the_commits_begins_another_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [5_000, 5_000 + PAUSE_S, 5_001 + 2 * PAUSE_S, 5_002 + 3 * PAUSE_S]
    monkeypatch.setattr(tiers, "_git", lambda *_: "\n".join(map(str, reversed(times))))
    assert submissions() == 3


def test_a_room_is_a_folder_of_the_package_or_of_its_tests() -> None:
    assert room("tests/conftest.py") is room("docs/watch/page.md") is None
    assert room("kafka_reassign_rpc/core/state/cluster.py") == room("tests/core/test_it.py") == "core"


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("pytestmark = pytest.mark.gate\n", True),
        ("marks=[pytest.mark.release]", True),
        ("@pytest.mark.more\n", True),
        ("pytestmark = IN_BROWSER", True),
        ("pytestmark = pytest.mark.stock\nmore = release(gate)", False),
    ],
)
def test_a_gate_reads_the_files_that_may_have_tests_of_it(text: str, tmp_path: Path, *, is_read: bool) -> None:
    helper, file = tmp_path / "conftest.py", tmp_path / "test_it.py"
    for path in (helper, file):
        path.write_text(text)
    assert tiers.may_be_in_gate(file) == is_read
    assert tiers.may_be_in_gate(helper), "it is no file with tests"


def test_a_file_that_hides_its_marks_from_a_gate_is_named(tmp_path: Path) -> None:
    shown, hidden = tmp_path / "test_shown.py", tmp_path / "test_hidden.py"
    shown.write_text("pytestmark = pytest.mark.gate\n")
    hidden.write_text("from .marks import MARKS\npytestmark = MARKS\n")

    def item(path: Path, mark: str) -> Any:
        return SimpleNamespace(path=path, iter_markers=lambda: [SimpleNamespace(name=mark)])

    items = [item(shown, "gate"), item(hidden, "stock"), item(hidden, "long")]
    assert tiers.hide_their_marks(items) == set()
    for mark in ("gate", "release", "more"):
        assert tiers.hide_their_marks([*items, item(hidden, mark)]) == {hidden}
