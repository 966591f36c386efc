"""The error for wrong flags and settings."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class UsageError(Exception):
    """A wrong flag or setting. The message names it and what was expected; the command ends with exit code 2."""


def checked(flag: str, parse: Callable[[Any], T], value: Any) -> T:
    """`parse(value)`; its ValueError becomes a UsageError that names the flag."""
    try:
        return parse(value)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None


def checked_if_given(flag: str, parse: Callable[[Any], T], value: Any | None) -> T | None:
    """`checked`, but None, a flag that was not given, stays None."""
    return None if value is None else checked(flag, parse, value)
