"""Text wrapped at the columns of a terminal: wide characters, such as Chinese ones, take two, combining ones none."""

from rich.cells import cell_len


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
