"""What submit warns of while a plan is carried out, and never refuses: a throttle below what producers write. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_reassign_rpc.client import Progress, TopicPartition
from kafka_reassign_rpc.client.text_format import named, size

LONG_ENOUGH_S = 60.0
"""After this long a move whose remaining bytes grow will not end by itself."""


@dataclass
class ThrottleWatch:
    """Finds moves to which producers write faster than the throttle lets them copy."""

    throttle: int
    _first: dict[TopicPartition, tuple[float, int]] = field(default_factory=dict)
    """The time when a move was first seen, and the bytes that it then had left."""
    _warned: set[TopicPartition] = field(default_factory=set)

    def growing(self, now: float, moves: Mapping[TopicPartition, Progress]) -> list[TopicPartition]:
        """The moves that have more left to copy than a minute ago, or longer ago; each is named once."""
        found = []
        for name, progress in moves.items():
            if progress.total is None:
                continue
            left = progress.total - progress.done
            since, before = self._first.setdefault(name, (now, left))
            if now - since < LONG_ENOUGH_S:
                continue
            if left > before and name not in self._warned:
                found.append(name)
            self._first[name] = now, left
        for gone in self._first.keys() - moves.keys():
            del self._first[gone]
        self._warned.update(found)
        return found

    def warning(self, growing: list[TopicPartition]) -> str:
        return (
            f"warning: producers write faster than the throttle of {size(self.throttle)}/s lets replicas copy: "
            f"{named(growing)}; run the same command again with a higher --throttle"
        )
