"""Java's regular expressions in Python (java.util.regex.Pattern and Matcher of JDK 17). What Python lacks, or reads in
another sense, is refused: a rule that gave another principal than on the brokers would be worse than none.
"""

import re

_ANY = "[^\\n\\r\\u0085\\u2028\\u2029]"
"""Java's `.`: no line terminator."""
_AT_END = "(?=(?:\\r\\n|[\\n\\r\\u0085\\u2028\\u2029])?\\Z)"
r"""Java's `$` and `\Z`: the end, or a line terminator before it."""
_SAME_LETTERS = frozenset("dDwWsSbBAtnrfa")
"""These letters mean the same behind a backslash (with re.ASCII)."""
_GROUPS = ("?:", "?=", "?!", "?<=", "?<!", "?>", "?i:")
"""These may follow an opening bracket, as well as names."""
_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "XDigit": "0-9a-fA-F",
}
_IGNORING_CASE = re.compile(r"(\^?)\(\?i\)")
"""Flags at the beginning of a pattern. Python wants them before all else."""


def java_pattern(text: str) -> re.Pattern[str]:
    """Java's Pattern.compile. Raises ValueError if no Python pattern matches the same."""
    found = _IGNORING_CASE.match(text)
    out = ["" if found is None else "(?i)" + found[1]]
    at = 0 if found is None else found.end()
    while at < len(text):
        piece, at = _piece(text, at)
        out.append(piece)
    try:
        return re.compile("".join(out), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern cannot be read: {error}") from None


def _piece(text: str, at: int) -> tuple[str, int]:
    one = text[at]
    if one == "\\":
        return _escape(text, at)
    if one == "[":
        return _character_class(text, at)
    if one == ".":
        return _ANY, at + 1
    if one == "$":
        return _AT_END, at + 1
    if one == "(" and text[at + 1 : at + 2] == "?":
        named = re.match(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>", text[at:])
        if named:
            return f"(?P<{named[1]}>", at + named.end()
        if not text.startswith(_GROUPS, at + 1):
            raise ValueError(f"{text[at : at + 4]!r} in the pattern is not supported")
    if one == "{" and not re.match(r"\{\d+(,\d*)?\}", text[at:]):
        raise ValueError("'{' in the pattern begins no repetition: write \\{")
    return one, at + 1


def _escape(text: str, at: int) -> tuple[str, int]:
    following = text[at + 1 : at + 2]
    if following == "z":
        return "\\Z", at + 2
    if following == "Z":
        return _AT_END, at + 2
    if following == "k":
        named = re.match(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>", text[at:])
        if named:
            return f"(?P={named[1]})", at + named.end()
    found = _posix_class(text, at)
    if found is not None:
        return f"[{found[0]}]", found[1]
    return _escaped_character(text, at), at + 2


def _posix_class(text: str, at: int) -> tuple[str, int] | None:
    r"""The characters of a class such as `\p{Alpha}`, and where it ends."""
    named = re.match(r"\\p\{(\w+)\}", text[at:])
    if named is None or named[1] not in _POSIX:
        return None
    return _POSIX[named[1]], at + named.end()


def _escaped_character(text: str, at: int) -> str:
    following = text[at + 1 : at + 2]
    if not following:
        raise ValueError("the pattern ends with a backslash")
    if following.isalnum() and following not in _SAME_LETTERS and following not in "123456789":
        raise ValueError(f"'\\{following}' in the pattern is not supported")
    return "\\" + following if following.isascii() else following


def _character_class(text: str, at: int) -> tuple[str, int]:
    out = ["["]
    at += 1
    if text[at : at + 1] == "^":
        out.append("^")
        at += 1
    first = at
    while at < len(text):
        one = text[at]
        if one == "]" and at > first:
            return "".join(out) + "]", at + 1
        if one in "[]" or text.startswith("&&", at):
            raise ValueError("a character class within another, in the pattern, is not supported")
        if one == "\\":
            if text[at + 1 : at + 2] in tuple("123456789bBA"):
                raise ValueError(f"{text[at : at + 2]!r} in a character class is not supported")
            found = _posix_class(text, at)
            piece, at = (_escaped_character(text, at), at + 2) if found is None else found
            out.append(piece)
        else:
            out.append("\\" + one if text.startswith(("--", "||", "~~"), at) else one)
            at += 1
    raise ValueError("a character class of the pattern has no end")


def java_replacement(pattern: re.Pattern[str], replacement: str, text: str) -> str:
    """Java's `text.replaceAll(pattern, replacement)`. Raises ValueError where Java throws."""
    return pattern.sub(lambda match: _expanded(match, replacement), text)


def _expanded(match: re.Match[str], replacement: str) -> str:
    """Java's Matcher.appendExpandedReplacement."""
    out: list[str] = []
    at = 0
    while at < len(replacement):
        one = replacement[at]
        at += 1
        if one == "\\":
            if at == len(replacement):
                raise ValueError("character to be escaped is missing")
            out.append(replacement[at])
            at += 1
        elif one == "$":
            group, at = _reference(match, replacement, at)
            out.append(match[group] or "")
        else:
            out.append(one)
    return "".join(out)


def _reference(match: re.Match[str], replacement: str, at: int) -> tuple[int | str, int]:
    named = re.match(r"\{([a-zA-Z][a-zA-Z0-9]*)\}", replacement[at:])
    if named:
        if named[1] not in match.re.groupindex:
            raise ValueError(f"no group with the name {named[1]}")
        return named[1], at + named.end()
    digit = replacement[at : at + 1]
    if not digit or digit not in "0123456789":
        raise ValueError("illegal group reference")
    number = int(digit)
    if number > match.re.groups:
        raise ValueError(f"no group {number}")
    at += 1
    while at < len(replacement) and replacement[at] in "0123456789":
        longer = number * 10 + int(replacement[at])
        if longer > match.re.groups:
            break
        number = longer
        at += 1
    return number, at
