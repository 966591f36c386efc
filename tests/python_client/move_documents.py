"""The document of a move, as a server tells it."""

from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.core.status.documents import Move, share

_MOVE = Move(
    topic="t", partition=0, state="moving", id=7, original=(1, 2), target=(3, 4), adding=(3, 4), removing=(1, 2),
    leader=1, bytes_total=None, bytes_copied=None, copied={}, rate=None, remaining_ms=None, share=None, stalled=None,
    waits_for=None, place=None, route="rpc", reason=None, who=None, since=0,
)  # fmt: skip


def move_document(name: tuple[str, int], **figures: Any) -> Move:
    """Of a move from brokers 1, 2 to brokers 3, 4; `figures`: fields that differ."""
    made = replace(_MOVE, topic=name[0], partition=name[1], **figures)
    return replace(made, share=share(made.bytes_copied, made.bytes_total))
