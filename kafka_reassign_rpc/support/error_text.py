"""Errors in words for people: also names that somebody gave and that nothing has, with what was probably meant."""

import os
import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from kafka_reassign_rpc.support.bounded_text import word
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.secrecy import told_path

_NUMBERS = re.compile(r"\[Errno ([0-9]{1,4})\]")


def error_text(error: BaseException) -> str:
    """What the error says, without Python's names; of an OSError its path and fault.

    asyncio hides the words behind the address, and joins the errors of all addresses of a name: the words then come
    from the system's error numbers.
    """
    if isinstance(error, ConnectionError) and error.errno:
        return _begun_small(os.strerror(error.errno))
    if isinstance(error, OSError) and not error.errno and (numbers := _NUMBERS.findall(str(error))):
        return ", ".join(dict.fromkeys(_begun_small(os.strerror(int(number))) for number in numbers))
    if isinstance(error, OSError) and error.strerror:
        path = f"{told_path(error.filename)}: " if isinstance(error.filename, str | os.PathLike) else ""
        return path + _begun_small(error.strerror)
    return str(error) or type(error).__name__


def _begun_small(text: str) -> str:
    """`Address already in use` within a sentence; `SSL failed` stays."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text


_LONGEST = 249
"""Characters of a name that are compared and shown: Kafka's limit for topics."""
_SHOWN = 10


def unknown_names(kind: str, given: Iterable[str], known: Collection[str]) -> list[str]:
    """`no_such` of each that is not known."""
    return [no_such(kind, name, known) for name in sorted({*given}, key=_rank) if name not in known]


def no_such(kind: str, name: str, known: Collection[str]) -> str:
    """Returns `no topic ordrs (is orders meant?)`, or `no broker 70 (known: 1, 2, 3)`."""
    return f"no {kind} {word(name, _LONGEST)}{meant(name, known)}"


def meant(name: str, known: Collection[str]) -> str:
    """The end of such a text: what is known, with a blank before it."""
    near = get_close_matches(name[:_LONGEST], known, 1)
    few = sorted(known, key=_rank)
    hint = f"is {word(near[0], _LONGEST)} meant?" if near else f"known: {first_of(few, _SHOWN)}" if few else ""
    return hint and f" ({hint})"


def _rank(name: str) -> tuple[int, str]:
    """Numbers come in their order."""
    return len(name), name
