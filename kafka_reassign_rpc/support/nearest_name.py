"""Names that somebody gave and that nothing has, with what was probably meant."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from kafka_reassign_rpc.support.bounded_text import word
from kafka_reassign_rpc.support.counted import first_of

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
