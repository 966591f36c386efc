"""Tables as plain text, and text wrapped at the columns of a terminal, by rich: wide characters, such as Chinese ones,
take two, combining ones none.
"""

from collections.abc import Sequence
from io import StringIO
from shutil import get_terminal_size
from typing import TextIO

from rich.cells import cell_len, set_cell_size

_BETWEEN = "  "


def table(rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """The first row is the heading. What is wider than `width` goes on in further lines, cell by cell; nothing is cut.
    Without it columns are as wide as their cells.

    rich lays out cells that have to be broken: it takes a millisecond for a row, and a plan may have 100,000.
    """
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    if width is None or sum(widths) + len(_BETWEEN) * (len(widths) - 1) <= width:
        return [_BETWEEN.join(map(set_cell_size, row, widths)).rstrip() for row in rows]
    from rich.console import Console  # it takes a while to import, and few commands need it
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, show_header=False, padding=(0, len(_BETWEEN), 0, 0), pad_edge=False)
    for _ in widths:
        drawn.add_column(overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    console = Console(file=StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as found:
        console.print(drawn)
    return [line.rstrip() for line in found.get().splitlines()]


def columns_of(stream: TextIO) -> int | None:
    """The width of a terminal; None of anything else."""
    return get_terminal_size().columns if stream.isatty() else None


def wrapped(text: str, width: int, *, first: str = "", following: str = "", breaks: bool = False) -> list[str]:
    """`first`, `following`: indents. A word that no line has room for makes a longer line, or with `breaks` continues
    in the next.
    """
    lines: list[str] = []
    line, blank = first, ""
    for word in text.split():
        if cell_len(line + blank + word) <= width:
            line += blank + word
        elif breaks and cell_len(following + word) > width:
            room = width - cell_len(line)
            for character in blank + word:
                if (taken := cell_len(character)) > room:
                    lines.append(line.rstrip())
                    line, room = following, width - cell_len(following)
                    if character == blank:
                        continue
                line += character
                room -= taken
        else:
            if blank:
                lines.append(line)
                line = following
            line += word
        blank = " "
    return [*lines, line]
