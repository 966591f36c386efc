"""Parses dynamic configs, which anybody may have written. None: invalid, so the former value holds."""

from kafka_reassign_rpc.support.bounded_text import whole_number

INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1


def flag(text: str) -> bool | None:
    word = text.strip().lower()
    return word == "true" if word in ("true", "false") else None


def number(text: str, low: int, high: int) -> int | None:
    return whole_number(text.strip(), low, high)
