"""What submit warns of, and never refuses: moves that lose racks, and a throttle below what producers write. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_reassign_rpc.client import Progress, TopicPartition
from kafka_reassign_rpc.client.text_format import size
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry
from kafka_reassign_rpc.pipeline.submission.submit_settings import named
from kafka_reassign_rpc.planner.brokers.rack_rule import known_racks

LONG_ENOUGH_S = 60.0
"""After this long a move whose remaining bytes grow will not end by itself."""


def loses_racks(entry: PlanEntry, racks: Mapping[int, str | None]) -> bool:
    """Whether the replicas are in fewer racks afterwards, as far as it is known: of live brokers.

    Brokers without a rack count as one more rack.
    """
    return len(known_racks(entry.replicas, racks)) < len(known_racks(entry.expected_replicas, racks))


def rack_warning(losing: list[TopicPartition]) -> str:
    return f"warning: {len(losing)} moves leave their partitions on fewer racks: {named(losing)}"


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
