"""docs/secured-cluster.md: the files that it shows, and its steps with what they print."""

import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from tests.docs.pages import DOCS, text_of

PAGE = DOCS / "secured-cluster.md"
_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """Commands, and what they print together: `…` stands for anything, alone for any lines."""

    commands: list[list[str]]
    printed: re.Pattern[str]


def files_of_the_page() -> dict[str, str]:
    return {title: text for _, title, text in _BLOCK.findall(text_of(PAGE)) if title}


def steps_of_the_page(replaced: Mapping[str, str]) -> list[Step]:
    """The steps, with these texts in the place of others."""
    text = text_of(PAGE)
    for old, new in replaced.items():
        text = text.replace(old, new)
    blocks = [(kind, block) for kind, title, block in _BLOCK.findall(text) if not title]
    assert [kind for kind, _ in blocks] == ["sh", ""] * (len(blocks) // 2), "each says what it prints"
    return [
        Step(
            [shlex.split(line) for line in commands.replace("\\\n", " ").splitlines()],
            re.compile("".join(_line(line) for line in printed.splitlines()), re.MULTILINE),
        )
        for (_, commands), (_, printed) in zip(blocks[::2], blocks[1::2], strict=True)
    ]


def _line(line: str) -> str:
    if line == "…":
        return r"(?:.*\n)*?"
    return "^" + ".*".join(map(re.escape, line.split("…"))) + r" *\n"
