"""Numbers with their nouns and verbs, in texts for people."""

from collections.abc import Collection, Iterable, Sequence

ONE = {"": "", "do": "does", "are": "is", "were": "was", "go": "goes", "miss": "misses", "have": "has", "them": "it"}
"""Verbs of many -> of one, where that is not the verb with an s; and the pronoun."""


def counted(count: int, noun: str, verb: str = "") -> str:
    """Returns `2 batches`; with a verb `1 move is` or `2 moves are`."""
    return f"{count} {noun}{plural(count, noun)}{verb and ' '}{agreeing(count, verb)}"


def plural(count: int, noun: str = "") -> str:
    """The noun's ending."""
    if count == 1:
        return ""
    return "es" if noun.endswith("ch") else "s"


def agreeing(count: int, verb: str) -> str:
    """Returns `is` for one where `are` is for many."""
    return ONE.get(verb, f"{verb}s") if count == 1 else verb


def those(names: Collection[int] | Collection[str], noun: str = "broker", verb: str = "", *, most: int = 20) -> str:
    """Returns `topics a, b and 7 more`; with a verb `broker 4 is` or `brokers 4, 5 are`."""
    return f"{noun}{plural(len(names), noun)} {first_of(sorted(names), most)}{verb and ' '}{agreeing(len(names), verb)}"


def all_of(names: Iterable[object]) -> str:
    """Returns `5, 6 and 1`."""
    *most, last = map(str, names)
    return f"{', '.join(most)} and {last}" if most else last


def first_of(names: Sequence[object], most: int, *, of: int | None = None, between: str = ", ") -> str:
    """Returns `1, 2 and 3 more`.

    of   how many there are, where `names` has only the first of them
    """
    first, count = names[:most], len(names) if of is None else of
    more = f" and {count - len(first)} more" if count > len(first) else ""
    return between.join(map(str, first)) + more
