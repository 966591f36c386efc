"""Parsing of dynamic configs, which anybody may have written. An invalid text gives None: the former value holds."""

INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1


def flag(text: str) -> bool | None:
    """true or false, in letters of any case."""
    word = text.strip().lower()
    return word == "true" if word in ("true", "false") else None


def number(text: str, low: int, high: int) -> int | None:
    """A whole number from `low` to `high`."""
    digits = text.strip()
    if not digits.isascii() or not digits.removeprefix("-").isdigit() or len(digits) > 20:
        return None
    value = int(digits)
    return value if low <= value <= high else None
