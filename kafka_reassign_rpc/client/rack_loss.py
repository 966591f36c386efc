"""Moves that leave their partitions on fewer racks: a warning, never a refusal, as the stock tool starts them. Pure."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.client.text_format import named
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.planner.brokers.rack_rule import known_racks


def loses_racks(before: Iterable[int], after: Iterable[int], racks: Mapping[int, str | None]) -> bool:
    """Whether the replicas are in fewer racks afterwards, as far as it is known: of live brokers.

    Brokers without a rack count as one more rack.
    """
    return len(known_racks(after, racks)) < len(known_racks(before, racks))


def rack_warning(losing: list[TopicPartition]) -> str:
    return f"warning: {len(losing)} moves leave their partitions on fewer racks: {named(losing)}"
