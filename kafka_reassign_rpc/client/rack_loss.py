"""Moves that leave their partitions on fewer racks: a warning, never a refusal, as the stock tool starts them. Pure."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.client.text_format import named
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.planner.brokers.rack_rule import known_racks
from kafka_reassign_rpc.support.counted import counted


def loses_racks(before: Iterable[int], after: Iterable[int], racks: Mapping[int, str | None]) -> bool:
    """Whether the replicas are in fewer racks afterwards, as far as it is known: of live brokers.

    Brokers without a rack count as one more rack.
    """
    return len(known_racks(after, racks)) < len(known_racks(before, racks))


def rack_warning(losing: list[TopicPartition]) -> str:
    leave = "leaves its partition" if len(losing) == 1 else "leave their partitions"
    return f"warning: {counted(len(losing), 'move')} {leave} on fewer racks: {named(losing)}"
