"""Numbers with their nouns and verbs, in texts for people."""

ONE = {"are": "is", "were": "was", "go": "goes", "wait": "waits"}
"""What of the verbs of many is said of one."""


def counted(count: int, noun: str, verb: str = "") -> str:
    """`1 move`, `2 batches`; with a verb `1 move is`, `2 moves are`."""
    return f"{count} {noun}{plural(count, noun)}{verb and ' '}{agreeing(count, verb)}"


def plural(count: int, noun: str = "") -> str:
    """What so many of them have at the end of their noun."""
    if count == 1:
        return ""
    return "es" if noun.endswith("ch") else "s"


def agreeing(count: int, verb: str) -> str:
    """`is` for one where `are` stands for many, and so on."""
    return ONE.get(verb, verb) if count == 1 else verb
