"""The docstring of a package is its map: whoever looks for a place reads it first."""

import ast
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, text_of

PACKAGES = sorted(file.parent for file in (ROOT / "kafka_reassign_rpc").rglob("__init__.py"))
FAMILIES = {
    "a<key>_<name>": re.compile(r"a\d+_\w+"),
    "…_command": re.compile(r"\w+_command"),
    "action_…": re.compile(r"action_\w+"),
}
"""Modules that a map names by a pattern, which it explains."""


def missing(text: str, modules: list[str]) -> list[str]:
    """The modules that a map does not name."""
    families = [family for pattern, family in FAMILIES.items() if pattern in text]
    named = set(re.findall(r"\w+", text))
    return [name for name in modules if name not in named and not any(family.fullmatch(name) for family in families)]


def doubled(text: str, modules: list[str]) -> list[str]:
    """The modules that have more than one line of a map."""
    lines = re.findall(r"^ *(\w+)(?:\.py| {2})", text, re.MULTILINE)
    return [name for name in modules if lines.count(name) > 1]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(ROOT)))
def test_the_map_of_a_package_names_each_of_its_modules_once(package: Path) -> None:
    modules = sorted(file.stem for file in package.glob("*.py") if file.stem != "__init__")
    text = ast.get_docstring(ast.parse(text_of(package / "__init__.py"))) or ""
    assert missing(text, modules) == [], f"{package.name}/__init__.py needs a line for each of these"
    assert doubled(text, modules) == [], f"{package.name}/__init__.py has several lines for each of these"


def test_a_module_without_a_line_is_found() -> None:
    text = "main     the command\n…_command   one for each command\n"
    assert missing(text, ["main", "plan_command", "plan", "action_list"]) == ["plan", "action_list"]


def test_a_module_with_two_lines_is_found() -> None:
    text = "main.py  the command\nplan     plans\nmain.py  the command again\nplan is what main asks for.\n"
    assert doubled(text, ["main", "plan"]) == ["main"]
