"""The documents under test: README.md and everything under docs/."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = (README, *sorted(DOCS.rglob("*.md")))

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def shell_commands(section: str) -> list[tuple[str, str]]:
    """Each command of the blocks of code, and the last line that it prints there."""
    found: list[tuple[str, str]] = []
    for line in filter(None, "".join(_FENCE.findall(section)).splitlines()):
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        elif found and line != "…" and not line.startswith("```"):
            found[-1] = (found[-1][0], line)
    return found


def section_of(page: Path, heading: str) -> str:
    _, found, rest = text_of(page).partition(f"\n## {heading}\n")
    assert found, f"{page} has no section {heading!r}"
    return rest.partition("\n## ")[0]


def prose_of(path: Path) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", text_of(path))
