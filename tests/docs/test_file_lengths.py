"""A file is about one thing: one that grows past these lines is split by what it is about."""

from pathlib import Path

import pytest

from tests.docs.pages import ROOT

LONGEST = {"kafka_reassign_rpc": 480, "docs": 480, "benchmarks": 480, "tests": 600}
"""Lines of a file below each folder."""


OF_ALL_VERSIONS = 40
"""Lines of CHANGELOG.md below what is not released yet: users read all of it before they upgrade."""


def too_long(folder: Path, limit: int) -> list[str]:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py")}
    return sorted(f"{path.name}: {length} lines" for path, length in lengths.items() if length > limit)


@pytest.mark.parametrize("folder", LONGEST)
def test_no_file_is_too_long(folder: str) -> None:
    assert too_long(ROOT / folder, LONGEST[folder]) == [], f"split it: {LONGEST[folder]} lines are the most"


def test_the_changelog_can_be_read_before_an_upgrade() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    newest = next(place for place, line in enumerate(lines) if line.startswith("## [") and "Unreleased" not in line)
    assert len(lines) - newest <= OF_ALL_VERSIONS, "shorten older versions to what their users meet when they upgrade"


def test_a_file_that_is_too_long_is_found(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text("a = 1\n" * 3)
    (tmp_path / "long.py").write_text("a = 1\n" * 4)
    assert too_long(tmp_path, 3) == ["long.py: 4 lines"]
