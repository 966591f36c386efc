"""docs/secured-cluster.md: the files that it shows, and its steps with what they print."""

import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from tests.docs.pages import DOCS, text_of

PAGE = DOCS / "secured-cluster.md"
BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
"""Of any page: its kind, its title and its text."""


class Step(NamedTuple):
    """Commands, and what they print together: `…` means anything, alone any lines."""

    commands: list[list[str]]
    printed: re.Pattern[str]


def files_of_the_page() -> dict[str, str]:
    return {title: text for _, title, text in BLOCK.findall(text_of(PAGE)) if title}


def steps_of_the_page(replaced: Mapping[str, str]) -> list[Step]:
    """The steps, with these texts in the place of others."""
    text = text_of(PAGE)
    for old, new in replaced.items():
        text = text.replace(old, new)
    blocks = [(kind, block) for kind, title, block in BLOCK.findall(text) if not title]
    assert [kind for kind, _ in blocks] == ["sh", ""] * (len(blocks) // 2), "each says what it prints"
    return [
        Step(
            [shlex.split(line) for line in commands.replace("\\\n", " ").splitlines()],
            as_printed(printed),
        )
        for (_, commands), (_, printed) in zip(blocks[::2], blocks[1::2], strict=True)
    ]


def as_printed(text: str) -> re.Pattern[str]:
    """`…` means anything, alone any lines."""
    return re.compile("".join(_line(line) for line in text.splitlines()), re.MULTILINE)


def _line(line: str) -> str:
    if line == "…":
        return r"(?:.*\n)*?"
    return "^" + ".*".join(map(re.escape, line.split("…"))) + r" *\n"
