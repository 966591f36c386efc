"""Docstrings as Markdown: what they align in columns, and what they indent, stays as it was written.

mkdocstrings loads this file (see mkdocs.yml).
"""

import re

import griffe

COLUMNS = re.compile(r"^\S.*?\S {2,}\S", re.MULTILINE)


def as_markdown(docstring: str) -> str:
    """The docstring with each aligned paragraph in a code block."""
    paragraphs = docstring.split("\n\n")
    return "\n\n".join(f"```text\n{one}\n```" if COLUMNS.search(one) else one for one in paragraphs)


class DocstringTables(griffe.Extension):
    """Applies `as_markdown` to every docstring that is shown."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
