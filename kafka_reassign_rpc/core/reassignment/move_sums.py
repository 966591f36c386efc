"""Sums over moves in flight, waiting and ended."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.state.partition import RPC, MoveRecord
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove

MOST_GROUPS = 200
MOST_REASONS = 20


class GroupKey(NamedTuple):
    """What the moves of one request or plan share."""

    route: str
    reason: str


def group_of(move: MoveRecord | WaitingMove | None) -> GroupKey:
    return GroupKey(RPC, "") if move is None else GroupKey(move.terms.route, move.terms.reason)


class MoveBytes(msgspec.Struct, frozen=True, gc=False):
    """Bytes, None: unknown. `stalled`: why the move is."""

    total: int | None
    copied: int | None
    stalled: str | None = None


class Sums:
    """Only moves of known size and progress count in the bytes.

    moves, total, copied, unknown     in flight: number, bytes, and how many have unknown bytes
    waiting, waiting_bytes, unsized   waiting: number, bytes, and how many have an unknown size
    ended, ended_bytes, unmeasured    since there was last nothing to do: number, bytes copied, how many unmeasured
    """

    __slots__ = (
        "copied", "ended", "ended_bytes", "moves", "stalled", "total", "unknown", "unmeasured", "unsized", "waiting",
        "waiting_bytes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.moves = self.stalled = self.unknown = self.total = self.copied = 0
        self.waiting = self.unsized = self.waiting_bytes = 0
        self.forget_ended()

    @property
    def measured(self) -> int:
        return self.moves - self.unknown

    def add(self, move: MoveBytes, sign: int = 1) -> None:
        """A move in flight; a `sign` of -1 takes it out."""
        self.moves += sign
        self.stalled += sign * (move.stalled is not None)
        if move.total is None or move.copied is None:
            self.unknown += sign
        else:
            self.total += sign * move.total
            self.copied += sign * move.copied

    def wait(self, size: int | None) -> None:
        """A waiting move will copy `size` bytes."""
        self.waiting += 1
        self.unsized += size is None
        self.waiting_bytes += size or 0

    def wait_no_more(self, size: int) -> None:
        """A waiting move began and ended before a sample saw it in flight."""
        if self.waiting and self.waiting_bytes >= size:
            self.waiting -= 1
            self.waiting_bytes -= size

    def end(self, copied: int | None) -> None:
        self.ended += 1
        self.unmeasured += copied is None
        self.ended_bytes += copied or 0

    def forget_ended(self) -> None:
        """There is nothing to do: what begins afterwards is other work."""
        self.ended = self.ended_bytes = self.unmeasured = 0

    def keep_ended(self, before: "Sums") -> None:
        """What ended before these were counted stays, so that no displayed share falls."""
        if self.moves or self.waiting:
            self.ended += before.ended
            self.ended_bytes += before.ended_bytes
            self.unmeasured += before.unmeasured


class GroupedSums:
    """Of all moves, and of at most `MOST_GROUPS` groups."""

    def __init__(self) -> None:
        self.all = Sums()
        self.groups: dict[GroupKey, Sums] = {}
        self.stalls: Counter[str] = Counter()
        """Moves by the reason of their stall, of `MOST_REASONS` reasons at the most."""

    def of(self, key: GroupKey) -> tuple[Sums, ...]:
        group = self.groups.get(key)
        if group is None and len(self.groups) < MOST_GROUPS:
            group = self.groups[key] = Sums()
        return (self.all,) if group is None else (self.all, group)

    def add(self, key: GroupKey, move: MoveBytes, sign: int = 1) -> None:
        for sums in self.of(key):
            sums.add(move, sign)
        if move.stalled is not None and (move.stalled in self.stalls or len(self.stalls) < MOST_REASONS):
            self.stalls[move.stalled] += sign
            self.stalls += Counter()  # without those that have no move any more

    def forget_ended(self) -> None:
        for sums in (self.all, *self.groups.values()):
            sums.forget_ended()

    def keep_ended(self, before: "GroupedSums") -> None:
        self.all.keep_ended(before.all)
        for key, group in self.groups.items():
            if key in before.groups:
                group.keep_ended(before.groups[key])

    def finished(self, now: "GroupedSums") -> Iterator[tuple[GroupKey, int]]:
        """The groups without a move in `now`, and how many of their moves have ended."""
        for key, group in self.groups.items():
            after = now.groups.get(key)
            if group.ended and (after is None or not (after.moves or after.waiting)):
                yield key, group.ended
