"""The order in which Java iterates over a hash set: the stock tool prints such sets, and scripts read the texts."""

from collections.abc import Iterable
from typing import TypeVar

from kafka_reassign_rpc.client import TopicPartition

T = TypeVar("T", bound=int | str | TopicPartition)

_LOAD_FACTOR = 0.75


def set_order(values: Iterable[T]) -> list[T]:
    """The order of a java.util.HashSet to which these values were added."""
    distinct = list(dict.fromkeys(values))
    buckets = 16
    while len(distinct) > _LOAD_FACTOR * buckets:
        buckets *= 2
    return sorted(distinct, key=lambda value: _spread(_hash_code(value)) & (buckets - 1))


def joined(values: Iterable[object], separator: str = ",") -> str:
    return separator.join(map(str, values))


def _hash_code(value: int | str | TopicPartition) -> int:
    if isinstance(value, int):
        return value & 0xFFFFFFFF
    if isinstance(value, tuple):  # org.apache.kafka.common.TopicPartition
        topic, partition = value
        return (31 * (31 + partition) + _hash_code(topic)) & 0xFFFFFFFF
    code = 0
    units = value.encode("utf-16-be")
    for index in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[index : index + 2])) & 0xFFFFFFFF
    return code


def _spread(code: int) -> int:
    return code ^ (code >> 16)
