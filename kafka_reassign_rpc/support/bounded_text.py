"""Numbers and texts that anybody may have written, read and shown within limits. Pure."""

import json

DIGITS = 20
"""With leading zeros; an INT64 has 19."""
SHOWN = 120
"""Characters of a value in a message."""
START = 80
"""Characters of a text within a value."""
DEPTH, ITEMS = 3, 8
"""How deep lists and objects are shown, and how many items of each."""


def whole_number(text: str, low: int, high: int) -> int | None:
    """A number from `low` to `high` in ASCII digits, or None.

    `str.isdigit` allows `²`, which `int` refuses, and `int` refuses 5,000 digits.
    """
    digits = text.removeprefix("-")
    if not (len(digits) <= DIGITS and digits.isascii() and digits.isdigit()):
        return None
    value = int(text)
    return value if low <= value <= high else None


def shortened(text: str, limit: int = SHOWN) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def abridged(text: str, limit: int) -> str:
    """Keeps start and end: names often differ only at the end."""
    if len(text) <= limit:
        return text
    end = limit // 3
    return f"{text[: limit - end - 1]}…{text[len(text) - end :]}"


def printable(text: str) -> str:
    """Escapes what a terminal would not print, or would obey."""
    if text.isprintable():
        return text
    return "".join([one if one.isprintable() else ascii(one)[1:-1] for one in text])


def word(text: str, limit: int) -> str:
    """A plain word as it is; anything else in quotes, within the limit, with JSON's escapes.

    Nothing in a plain word (printable ASCII, no spaces, quotes or backslashes) looks like its end.
    """
    if 0 < len(text) <= limit and text.isascii() and text.isprintable() and not set(text) & set(' "\\'):
        return text
    escaped = ""
    for character in text[:limit]:
        more = json.dumps(character)[1:-1]
        if len(escaped) + len(more) > limit:
            break
        escaped += more
    else:
        if len(text) <= limit:
            return f'"{escaped}"'
    return f'"{escaped}… ({len(text)} characters)"'


def shown(value: object) -> str:
    """Enough of a decoded JSON value, text or bytes to find it again, on one line."""
    text = _shown(value, DEPTH)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _shown(value: object, depth: int) -> str:
    match value:
        case str() | bytes() | memoryview():
            start = value[:START]
            text = ascii(start if isinstance(start, str) else bytes(start))
            return text if len(value) <= START else f"{text}… ({len(value)})"
        case list() | tuple() | dict() if depth == 0:
            return "…"
        case dict():
            pairs = [f"{_shown(key, depth - 1)}: {_shown(value[key], depth - 1)}" for key in list(value)[:ITEMS]]
            return f"{{{', '.join(pairs)}{_more(value)}}}"
        case list() | tuple():
            return f"[{', '.join(_shown(one, depth - 1) for one in value[:ITEMS])}{_more(value)}]"
        case int() if value.bit_length() > 256:
            return f"a number of {value.bit_length()} bits"
    return repr(value)


def _more(value: "list[object] | tuple[object, ...] | dict[object, object]") -> str:
    return f", {len(value) - ITEMS} more" if len(value) > ITEMS else ""
