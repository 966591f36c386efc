"""The partitions that repairs had to leave as they are, and the reports of them."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

REASONS = 5
"""How many reasons why partitions cannot be repaired are reported one by one."""

NAMED = 3
"""How many of the partitions are named with each reason: topics have long names, and a report is one line."""


class UnrepairedPartition(NamedTuple):
    brokers: frozenset[int]
    reason: str


def impossible_texts(found: Mapping[TopicPartition, UnrepairedPartition]) -> Iterator[str]:
    names: dict[str, list[TopicPartition]] = {}
    for name, left in found.items():
        names.setdefault(left.reason, []).append(name)
    by_count = sorted(names.items(), key=lambda one: -len(one[1]))
    for reason, of_reason in by_count[:REASONS]:
        yield f"{_stay(of_reason)}: {reason}"
    rest = [name for _, of_reason in by_count[REASONS:] for name in of_reason]
    if rest:
        yield f"{_stay(rest)} for other reasons"


def _stay(names: Sequence[TopicPartition]) -> str:
    """The first by name, so that the same report is recognized when it comes again."""
    named = ", ".join(map(str, nsmallest(NAMED, names))) + (" …" if len(names) > NAMED else "")
    if len(names) == 1:
        return f"1 partition stays as it is ({named})"
    return f"{len(names)} partitions stay as they are ({named})"
