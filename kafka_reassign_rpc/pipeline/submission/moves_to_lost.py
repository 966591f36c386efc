"""Moves in flight to a lost broker: they cannot end before it is back."""

from collections import defaultdict
from collections.abc import Mapping, Set

from kafka_reassign_rpc.client.text_format import named
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.pipeline.submission.replica_order import Entries
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.support.counted import counted

Waiting = Mapping[TopicPartition, int]
"""The lost broker that each waits for."""


def waiting_for_lost(moves: Entries, live: Set[int]) -> dict[TopicPartition, int]:
    return {name: min(gone) for name, entry in moves.items() if (gone := set(entry.replicas) - live)}


def status_of(waiting: Waiting) -> str:
    return "; ".join(_texts(waiting))


def lines_of(waiting: Waiting) -> list[str]:
    return [f"{text}: {named(names)}" for text, names in _texts(waiting).items()]


def _texts(waiting: Waiting) -> dict[str, list[TopicPartition]]:
    by_broker = defaultdict[int, list[TopicPartition]](list)
    for name, broker in waiting.items():
        by_broker[broker].append(name)
    return {
        f"{counted(len(names), 'move', 'wait')} for broker {broker}, which is lost": names
        for broker, names in sorted(by_broker.items())
    }


def stop_for(name: str, waiting: Waiting, others: str, *more: str) -> SubmitStopped:
    """`others`: what became of the other moves; `more`: lines after these."""
    first = (
        f"{name}: {others}. What is left ends when its brokers are back, or when it is cancelled; run the same command "
        "again then:"
    )
    return SubmitStopped("\n".join([first, *lines_of(waiting), *more]))
