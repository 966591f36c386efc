"""Evens out few or large pieces over brokers. The coordinator sees these itself."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple, TypeVar

from kafka_reassign_rpc.planner.deterministic_random import partition_key, random_bits
from kafka_reassign_rpc.planner.proposals.change_proposal import IN, ChangeProposal, PartitionName

FEW = 5_000
LARGE = 16
"""A piece is large from one part in so many of what each broker gets at best: so large ones are at most brokers times
this.
"""
_PASSES = 12
_LEAST = 1e-9

T = TypeVar("T")


class Collects(NamedTuple):
    """at_least    bytes of one copy
    one_in      a random part: one in this number
    part        which of these parts, from 0
    """

    at_least: int = 0
    one_in: int = 1
    part: int = 0


class BetterPlace(NamedTuple):
    """`height`: of the broker afterwards."""

    height: float
    broker: int


def even_out(
    heights: dict[int, float],
    held: Mapping[int, list[T]],
    better: Callable[[T, int], BetterPlace | None],
    move: Callable[[T, int, int], None],
) -> Iterator[None]:
    """Moves pieces from the highest brokers to lower ones until no move lowers the higher of the two. Yields after
    each.

    heights    by broker; `move` changes them
    held       the pieces on each broker, in the order in which they are tried
    better     the best other place of a piece, or None
    """
    for _ in range(_PASSES):
        mean, moved = sum(heights.values()) / len(heights), False
        for broker in sorted(held, key=lambda one: (-heights[one], one)):
            if heights[broker] <= mean:
                break
            for piece in list(held[broker]):
                found = better(piece, broker)
                yield
                if found is not None and found.height < heights[broker] * (1 - _LEAST):
                    move(piece, broker, found.broker)
                    held[broker].remove(piece)
                    held[found.broker].append(piece)
                    moved = True
        if not moved:
            return


def in_order(
    proposals: Iterable[ChangeProposal], seed: int, *, urgent_first: bool = False
) -> Generator[None, None, list[ChangeProposal]]:
    """In slices. Large ones come first, so that small ones fill the gaps; those of about the same size in a random
    order, whatever that of their arrival.
    """
    keyed: list[tuple[int, int, int, PartitionName, ChangeProposal]] = []
    for one in proposals:
        assert one.name is not None
        size = max(change.load.bytes for change in one.load_changes if change.side == IN)
        chance = random_bits(partition_key(*one.name), seed + 700)
        heappush(keyed, (one.priority if urgent_first else 0, -_roughly(size), chance, one.name, one))
        yield
    found = []
    while keyed:  # a heap is sorted in slices
        found.append(heappop(keyed)[-1])
        yield
    return found


def _roughly(size: int) -> int:
    """Rounds down to three binary digits."""
    rest = max(0, size.bit_length() - 3)
    return size >> rest << rest


def lowest(heights: Mapping[int, float], brokers: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    """Asks few brokers whether it fits: the lowest first."""
    in_order = sorted([(heights[broker], broker) for broker in brokers])
    return next((broker for _, broker in in_order if fits(broker)), None)
