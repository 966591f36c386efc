"""How far one move is, in bytes."""

from collections.abc import Collection, Mapping

import msgspec

from kafka_reassign_rpc.core.reassignment.move_sums import MoveBytes


class MoveProgress(msgspec.Struct, frozen=True, gc=False):
    """How far one move is, in bytes, bytes per second and milliseconds; None: unknown.

    total         what each adding replica has or must get: the leader's log, and what retention has cut from it since
                  the replica has copied that
    copied        what each adding replica has of that, by broker. One whose rest is unknown is missing: its broker has
                  not reported its size, or sizes do not show it (the topic is compacted, or the replica, out of sync,
                  holds more than its leader)
    rate          how much arrives at all of them together
    stalled       why the move is stalled; None: it advances, waits for its share of a throttle, or is too young to say
    waits_for     its share of a throttle, with the throttle; None: it is stalled, advances, or is too young to say
    """

    total: int | None = None
    copied: Mapping[int, int] = {}
    rate: int | None = None
    remaining_ms: int | None = None
    stalled: str | None = None
    adding: tuple[int, ...] = ()
    waits_for: str | None = None

    @property
    def bytes_total(self) -> int | None:
        """Of all its replicas, None: unknown."""
        if not self.adding:
            return 0
        return None if self.total is None else self.total * len(self.adding)

    @property
    def bytes_copied(self) -> int | None:
        """None until it is known of every replica."""
        left = self.bytes_left
        return None if left is None or self.bytes_total is None else self.bytes_total - left

    @property
    def lacks(self) -> list[int | None]:
        """What each adding replica lacks, in their order; None: unknown."""
        return [
            None if self.total is None or one not in self.copied else max(0, self.total - self.copied[one])
            for one in self.adding
        ]

    @property
    def bytes_left(self) -> int | None:
        """None: unknown."""
        lacks = [one for one in self.lacks if one is not None]
        return sum(lacks) if len(lacks) == len(self.adding) else None

    @property
    def sum(self) -> MoveBytes:
        return MoveBytes(self.bytes_total, self.bytes_copied, self.stalled)

    def waits_to_join(self, isr: Collection[int]) -> list[int]:
        """The replicas outside the ISR although all is copied."""
        return [broker for broker in self.adding if broker not in isr] if self.bytes_left == 0 else []
