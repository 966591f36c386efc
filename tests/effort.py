"""How much a test does: all its random examples, the full load, only where a run has the time for it.

A property holds with any number of them: a case that must be there stands by hand beside it.
"""

from collections.abc import Iterable
from typing import TypeVar

from tests import tiers
from tests.tiers import does_more, is_whole

Amount = TypeVar("Amount")
Case = TypeVar("Case")


def examples(count: int) -> int:
    """The number of random examples of a test marked `more`: `count`, or in `make test` a quarter of it."""
    return count if does_more() else max(2, count // 4)


def in_turn(cases: Iterable[Case], parts: int) -> list[Case]:
    """Of cases that cost much each: all, and in a gate one of so many parts. The part changes with every `SHARE` gates:
    the file is in one of so many after a change in many rooms, and would always come with the same part.
    """
    if not tiers.is_gate():
        return [*cases]
    return [*cases][tiers.submissions() // tiers.SHARE % parts :: parts]


def in_all(amount: Amount, *, elsewhere: Amount) -> Amount:
    """What `make test-all` takes, and what all other runs take."""
    return amount if is_whole() else elsewhere
