"""How evenly the replicas of a partition are spread over racks."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

R = TypeVar("R", bound=str | None)


def count_by_rack(replicas: Iterable[int], racks: Mapping[int, R]) -> dict[R, int]:
    """Skips brokers without a known rack."""
    found: dict[R, int] = {}
    for broker in replicas:
        if broker in racks:
            rack = racks[broker]
            found[rack] = found.get(rack, 0) + 1
    return found


def is_as_even(after: Iterable[int], before: Iterable[int]) -> bool:
    """Whether `before` majorizes `after` (replicas of each rack): the fullest rack has no more replicas than before,
    nor have the two fullest together, and so on.
    """
    sums = zip(accumulate(sorted(after, reverse=True)), accumulate(sorted(before, reverse=True)), strict=False)
    return all(now <= then for now, then in sums)


def fewer_or_less_even(before: Sequence[int], after: Sequence[int], racks: Mapping[int, R]) -> str:
    """`fewer_racks`, `less_even` or "". A smaller replication factor alone is neither."""
    new = count_by_rack(after, racks)
    if len(new) == len(after):
        return ""
    old = count_by_rack(before, racks)
    if len(new) < min(len(old), len(after)):
        return "fewer_racks"
    is_same = sum(new.values()) == sum(old.values())
    return "less_even" if is_same and not is_as_even(new.values(), old.values()) else ""
