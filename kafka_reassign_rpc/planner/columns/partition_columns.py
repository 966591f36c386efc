from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition

NOBODY = -1
"""Fills the rows of partitions with fewer replicas."""
_MULTIPLIER, _SALT = np.uint64(0xD1342543DE82EF95), 0x9E3779B97F4A7C15
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MASK = 2**64 - 1
_NO_COLUMNS = 2
"""Fields of `PartitionColumns` that are no columns."""


def random_columns(keys: Numbers, salt: int, more: Numbers | None = None) -> Numbers:
    """`deterministic_random.random_bits` of each key. `more`: added to the salt, by key."""
    mixed = keys * _MULTIPLIER + np.uint64(salt * _SALT & _MASK)
    if more is not None:
        mixed = mixed + more.astype(np.uint64) * np.uint64(_SALT)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))


class PartitionColumns(NamedTuple):
    """brokers          ids, ascending: replicas and ISR are places in it
    names            of the topics; `topic` has places in them
    replicas, isr    NOBODY fills the rows
    leader           an id, or -1
    """

    brokers: Numbers
    names: Sequence[str]
    topic: Numbers
    number: Numbers
    replicas: Numbers
    leader: Numbers
    isr: Numbers
    bytes: Numbers
    produce: Numbers
    fetch: Numbers
    messages: Numbers
    cpu: Numbers
    min_isr: Numbers

    def led_by(self, ids: Iterable[int], replicas: Numbers) -> Numbers:
        """By row: whether one of these brokers leads it, or will after a preferred election among `replicas`."""
        first, named = replicas[:, 0], list(ids)
        led: Numbers = (np.isin(self.brokers[first], named) & (first != NOBODY)) | np.isin(self.leader, named)
        return led

    def held_by(self, ids: Iterable[int], replicas: Numbers) -> Numbers:
        """By row: whether one of these brokers has one of the `replicas`."""
        among = np.isin(self.brokers, list(ids))
        held: Numbers = (among[replicas] & (replicas != NOBODY)).any(axis=1)
        return held

    def rows(self, chosen: Numbers) -> "PartitionColumns":
        """Row numbers, or a mask."""
        columns = (column[chosen] for column in self._columns())
        return PartitionColumns(self.brokers, self.names, *columns)

    def _columns(self) -> tuple[Numbers, ...]:
        columns: tuple[Any, ...] = self[_NO_COLUMNS:]
        return columns

    def keys(self) -> Numbers:
        """By `partition_key`."""
        of_topics = np.array([crc32(name.encode()) for name in self.names], np.uint64) << np.uint64(32)
        keys: Numbers = of_topics[self.topic] | self.number.astype(np.uint64)
        return keys

    def partitions(self, rows: Numbers, replicas: Numbers) -> Iterator[tuple[str, PlannerPartition]]:
        """With the names of their topics. `replicas`: those of the rows now."""
        ids, names = self.brokers, self.names
        lists = [column[rows].tolist() for column in self._columns()]
        now = np.where(replicas == NOBODY, NOBODY, ids[replicas]).tolist()
        in_sync = np.where(self.isr[rows] == NOBODY, NOBODY, ids[self.isr[rows]]).tolist()
        for at, (topic, number, _, leader, _, size, produce, fetch, messages, cpu, least) in enumerate(
            zip(*lists, strict=True)
        ):
            held = tuple([broker for broker in now[at] if broker != NOBODY])
            isr = tuple([broker for broker in in_sync[at] if broker != NOBODY])
            name = names[topic]
            one = PlannerPartition(number, held, leader, isr, False, size, produce, fetch, least)
            one.messages, one.cpu = messages, cpu
            yield name, one
