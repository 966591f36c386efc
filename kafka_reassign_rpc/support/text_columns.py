"""Text in the columns of a terminal: wide characters, such as Chinese ones, take two, combining ones none."""

from unicodedata import category, east_asian_width

_WIDE = frozenset("WF")
_WITHOUT_WIDTH = frozenset(("Mn", "Me", "Cf"))


def width_of(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if category(character) in _WITHOUT_WIDTH:
        return 0
    return 2 if east_asian_width(character) in _WIDE else 1


def padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def wrapped(text: str, width: int, *, first: str = "", following: str = "", breaks: bool = False) -> list[str]:
    """`first`, `following`: indents. A word that no line has room for makes a longer line, or with `breaks` continues
    in the next.
    """
    lines: list[str] = []
    line, blank = first, ""
    for word in text.split():
        if width_of(line + blank + word) <= width:
            line += blank + word
        elif breaks and width_of(following + word) > width:
            room = width - width_of(line)
            for character in blank + word:
                if (taken := width_of(character)) > room:
                    lines.append(line.rstrip())
                    line, room = following, width - width_of(following)
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
