"""How far a move is."""

from collections.abc import Collection, Mapping

import msgspec

from kafka_reassign_rpc.core.reassignment.move_sums import MoveBytes


class MoveProgress(msgspec.Struct, frozen=True, gc=False):
    """Bytes, bytes per second and milliseconds of one move; -1: unknown.

    total         what each adding replica must hold: the size of the leader's
    copied        what each adding replica holds, by broker
    rate          how fast all of them together grow
    remaining_ms  remaining time (`remaining_time`)
    stalled       why the move is stalled; None: it advances (or is too young to say)
    adding        its adding replicas
    """

    total: int = -1
    copied: Mapping[int, int] = {}
    rate: int = -1
    remaining_ms: int = -1
    stalled: str | None = None
    adding: tuple[int, ...] = ()

    @property
    def bytes_total(self) -> int | None:
        """What all its replicas together have to copy; None: not known."""
        if not self.adding:
            return 0
        return None if self.total < 0 else self.total * len(self.adding)

    @property
    def bytes_copied(self) -> int | None:
        """What they have copied; None: not known, as long as one broker has not told the size of its replica."""
        if self.adding and (self.total < 0 or len(self.copied) < len(self.adding)):
            return None
        return sum(self.held.values())

    @property
    def held(self) -> dict[int, int]:
        """What each adding replica has of the leader's bytes, by broker, as far as brokers have told."""
        return {broker: size if self.total < 0 else min(size, self.total) for broker, size in self.copied.items()}

    @property
    def bytes_left(self) -> int | None:
        """What is still to be copied; None: not known."""
        total, copied = self.bytes_total, self.bytes_copied
        return None if total is None or copied is None else total - copied

    @property
    def sum(self) -> MoveBytes:
        """What the move counts for in sums."""
        return MoveBytes(self.bytes_total, self.bytes_copied, self.stalled)

    def waits_to_join(self, isr: Collection[int]) -> list[int]:
        """All is copied: the replicas that still have to join the ISR."""
        return [broker for broker in self.adding if broker not in isr] if self.bytes_left == 0 else []
