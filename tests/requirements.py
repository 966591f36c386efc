"""What the package and its extras need, by `pyproject.toml` and by what the packages here say of themselves."""

import tomllib
from collections.abc import Iterable
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())


def of_extra(extra: str = "") -> list[str]:
    """The requirements of the package with an extra, or with none."""
    own, found = PROJECT["project"]["name"], list(PROJECT["project"]["dependencies"])
    waiting = [extra] if extra else []
    while waiting:
        for one in PROJECT["project"]["optional-dependencies"][waiting.pop()]:
            if (requirement := Requirement(one)).name == own:
                waiting += requirement.extras
            else:
                found.append(one)
    return found


def needed(requirements: Iterable[str]) -> dict[str, list[Requirement]]:
    """All that these requirements need on this machine, with what is asked of each package."""
    found: dict[str, list[Requirement]] = {}
    waiting = [(Requirement(one), frozenset[str]()) for one in requirements]
    while waiting:
        requirement, extras = waiting.pop()
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            continue
        name = canonicalize_name(requirement.name)
        seen = name in found
        found.setdefault(name, []).append(requirement)
        if not seen:
            waiting += [(Requirement(one), frozenset(requirement.extras)) for one in requires(name) or ()]
    return found
