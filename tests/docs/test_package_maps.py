"""The docstring of a package is its map: a reader who looks for a place begins with it. What docstrings name exists."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from tests.docs.pages import ROOT, text_of
from tests.tables import for_each

PACKAGES = sorted(file.parent for file in (ROOT / "kafka_reassign_rpc").rglob("__init__.py"))
FAMILIES = {
    "a<key>_<name>": re.compile(r"a\d+_\w+"),
    "…_command": re.compile(r"\w+_command"),
    "action_…": re.compile(r"action_\w+"),
}
"""Modules that a map names by a pattern, which it explains."""


_NAME = r"[\w<>…]+(?:\.py|/)?"
LEFT_OF_A_LINE = re.compile(rf"^( *)({_NAME}(?:, {_NAME})*)(?: {{2,}}\S|(?<=\.py) \S|(?=\n\1 +\S))", re.MULTILINE)
"""The names with which a line of a map begins: two spaces follow them, or a further line says what they are."""


def left_of_lines(text: str) -> list[str]:
    named = (name for _, line in LEFT_OF_A_LINE.findall(text) for name in line.split(", "))
    return [re.sub(r"\.py$|/$", "", name) for name in named]


def missing(text: str, modules: list[str]) -> list[str]:
    """The modules that no line of a map begins with."""
    families = [family for pattern, family in FAMILIES.items() if pattern in text]
    named = left_of_lines(text)
    return [name for name in modules if name not in named and not any(family.fullmatch(name) for family in families)]


def doubled(text: str, modules: list[str]) -> list[str]:
    """The modules that have more than one line of a map."""
    named = left_of_lines(text)
    return [name for name in modules if named.count(name) > 1]


def gone(text: str, there: list[str]) -> list[str]:
    """The names on the left of a map that are none of these modules and folders."""
    return [name for name in left_of_lines(text) if name not in FAMILIES and name not in there]


CONSTANT = re.compile(r"\b_?[A-Z][A-Z_]{2,}\b(?!-)")
IN_BRACKETS = re.compile(r"\(([^()]*)\)")
"""Where a line of a map names the constants of its module."""


def strange_constants(text: str, sources: Mapping[str, str]) -> list[str]:
    """The constants in brackets of a line of a map that none of its modules has."""
    entries = list[tuple[list[str], str]]()
    for line in text.splitlines():
        if names := left_of_lines(f"{line}\n{' ' * len(line)}."):
            entries.append((names, line))
        elif line.startswith("  ") and entries:
            entries.append((entries[-1][0], f"{entries.pop()[1]} {line}"))
        else:
            entries.append(([], ""))
    found = list[str]()
    for names, line in entries:
        own = "".join(sources.get(name, "") for name in names)
        named = (name for inside in IN_BRACKETS.findall(line) for name in CONSTANT.findall(inside))
        found += [name for name in named if own and not re.search(rf"\b{name}\b", own)]
    return found


@for_each("package", PACKAGES, ids=lambda package: str(package.relative_to(ROOT)))
def test_the_constants_that_a_map_names_are_in_their_modules(package: Path) -> None:
    sources = {file.stem: text_of(file) for file in package.glob("*.py")}
    assert strange_constants(ast.get_docstring(ast.parse(sources["__init__"])) or "", sources) == []


def test_a_constant_that_has_gone_is_found() -> None:
    text = """Maps (KIP-46).

one.py   what is here (HERE_S, GONE_S)
two      more (KIP-46), which goes on
         (_ALSO_GONE,
         GONE, HERE_S)
In brackets (ELSEWHERE).
"""
    assert strange_constants(text, {"one": "HERE_S = 1", "two": "HERE_S = 2"}) == ["GONE_S", "_ALSO_GONE", "GONE"]


@for_each("package", PACKAGES, ids=lambda package: str(package.relative_to(ROOT)))
def test_the_map_of_a_package_names_each_of_its_modules_once_and_no_other(package: Path) -> None:
    modules = sorted(file.stem for file in package.glob("*.py") if file.stem != "__init__")
    folders = [path.name for path in package.iterdir() if path.is_dir()]
    text = ast.get_docstring(ast.parse(text_of(package / "__init__.py"))) or ""
    assert missing(text, modules) == [], f"{package.name}/__init__.py needs a line for each of these"
    assert doubled(text, modules) == [], f"{package.name}/__init__.py has several lines for each of these"
    assert gone(text, modules + folders) == [], f"{package.name}/__init__.py has lines for what is no module or folder"


def test_a_line_without_a_module_is_found() -> None:
    text = """The commands of x.

main.py, options       the command line
…_command              one for each command
door.py whether one may come in
templates/             its pages

gone
                       what was here, also
                       there
a line that goes on    with text
"""
    assert gone(text, ["main", "options", "templates"]) == ["door", "gone"]


def test_a_module_without_a_line_is_found() -> None:
    text = "main     the command\n…_command   one for each command\n"
    assert missing(text, ["main", "plan_command", "plan", "action_list"]) == ["plan", "action_list"]


def test_a_module_with_two_lines_is_found() -> None:
    text = "main.py  the command\nplan     plans\nmain.py  the command again\nplan is what main asks for.\n"
    assert doubled(text, ["main", "plan"]) == ["main"]


NAMED = re.compile(r"`(?:kafka_reassign_rpc\.)?((?:\w+\.)+\w+)`")
"""A module, or a name in one. Settings look like it: `zookeeper.connect`."""


def lost_names(text: str, package: Path) -> list[str]:
    """The names that do not exist, of those that begin with two that do."""
    found = []
    for name in NAMED.findall(text):
        parts = name.split(".")
        places = [package.joinpath(*parts[:length]) for length in range(2, len(parts) + 1)]
        known = [place for place in places if place.is_dir() or place.with_suffix(".py").is_file()]
        if places[0] not in known or places[-1] in known:
            continue
        file = known[-1].with_suffix(".py")
        if not (file.is_file() and re.search(rf"\b{parts[-1]}\b", text_of(file))):
            found.append(name)
    return found


def test_modules_and_names_that_a_text_of_the_package_gives_exist() -> None:
    package = ROOT / "kafka_reassign_rpc"
    lost = {str(file.relative_to(ROOT)): lost_names(text_of(file), package) for file in package.rglob("*.py")}
    assert {file: names for file, names in lost.items() if names} == {}


def test_a_module_that_has_gone_is_found() -> None:
    names = (
        "core.healing.healing_throttle",
        "core.healing.failed_brokers",
        "core.restrictions.no_such_name",
        "zookeeper.connect",
    )
    text = " ".join(f"`{name}`" for name in names)
    assert lost_names(text, ROOT / "kafka_reassign_rpc") == [
        "core.healing.healing_throttle",
        "core.restrictions.no_such_name",
    ]
