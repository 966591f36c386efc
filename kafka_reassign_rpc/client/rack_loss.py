"""Moves that leave their partitions less even over racks: a warning, no refusal, as the stock tool starts them."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.client.text_format import named
from kafka_reassign_rpc.core.rack_evenness import count_by_rack, is_as_even
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import counted


def loses_racks(before: Iterable[int], after: Iterable[int], racks: Mapping[int, str | None]) -> bool:
    """By the racks of live brokers. Those without a rack count as one more rack."""
    old, new = (count_by_rack(replicas, racks).values() for replicas in (before, after))
    return len(new) < len(old) or (sum(new) == sum(old) and not is_as_even(new, old))


def rack_warning(losing: list[TopicPartition]) -> str:
    leave = "leaves its partition" if len(losing) == 1 else "leave their partitions"
    return f"warning: {counted(len(losing), 'move')} {leave} on fewer racks, or less even over them: {named(losing)}"
