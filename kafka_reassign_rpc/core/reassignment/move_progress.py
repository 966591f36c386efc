from collections.abc import Collection, Mapping

import msgspec

from kafka_reassign_rpc.core.reassignment.move_sums import MoveBytes


class MoveProgress(msgspec.Struct, frozen=True, gc=False):
    """How far one move is, in bytes, bytes per second and milliseconds; -1: unknown.

    total         the leader's size, which each adding replica must reach
    copied        what each adding replica holds, by broker
    rate          how fast all of them together grow
    stalled       why the move is stalled; None: it advances, or is too young to say
    """

    total: int = -1
    copied: Mapping[int, int] = {}
    rate: int = -1
    remaining_ms: int = -1
    stalled: str | None = None
    adding: tuple[int, ...] = ()

    @property
    def bytes_total(self) -> int | None:
        """Of all its replicas, None: unknown."""
        if not self.adding:
            return 0
        return None if self.total < 0 else self.total * len(self.adding)

    @property
    def bytes_copied(self) -> int | None:
        """None until every broker has reported its replica."""
        if self.adding and (self.total < 0 or len(self.copied) < len(self.adding)):
            return None
        return sum(self.held.values())

    @property
    def held(self) -> dict[int, int]:
        """What adding replicas have of the leader's bytes."""
        return {broker: size if self.total < 0 else min(size, self.total) for broker, size in self.copied.items()}

    @property
    def bytes_left(self) -> int | None:
        """None: unknown."""
        total, copied = self.bytes_total, self.bytes_copied
        return None if total is None or copied is None else total - copied

    @property
    def sum(self) -> MoveBytes:
        return MoveBytes(self.bytes_total, self.bytes_copied, self.stalled)

    def waits_to_join(self, isr: Collection[int]) -> list[int]:
        """The replicas outside the ISR although all is copied."""
        return [broker for broker in self.adding if broker not in isr] if self.bytes_left == 0 else []
