from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, replica_load
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition
from kafka_reassign_rpc.planner.proposals.round_sums import Survey

Numbers = npt.NDArray[Any]

_AT_ONCE = 1 << 20
"""So many halves of 32 bits have a sum below 2**53, which a float holds exactly."""
_HALF = 2**32

NOBODY = -1
"""Fills the rows of partitions with fewer replicas."""
_NO_COLUMNS = 2
"""Fields of `PartitionColumns` that are no columns."""


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


def movable_rows(columns: PartitionColumns, goal: Goal, live: frozenset[int]) -> Numbers:
    """By row: whether rounds have to see it, as it is of a topic of the plan and large enough."""
    movable = rows_of_topics(columns, goal) & large_rows(columns, goal)
    if not (goal.balances or goal.mends_racks):
        movable &= forced_rows(columns, columns.replicas, goal, goal.leaving(columns.brokers.tolist(), live))
    return movable


def rows_of_topics(columns: PartitionColumns, goal: Goal) -> Numbers:
    """By row: whether it is of a topic of the plan."""
    names = set(goal.topics)
    of_topics = np.array([not names or name in names for name in columns.names], bool)
    found: Numbers = of_topics[columns.topic]
    return found


def large_rows(columns: PartitionColumns, goal: Goal) -> Numbers:
    """By row: whether it is as large as a goal asks for that leaves small partitions alone. An unknown size is."""
    large: Numbers = (columns.bytes == UNKNOWN) | (columns.bytes >= goal.least_bytes)
    return large


def forced_rows(columns: PartitionColumns, now: Numbers, goal: Goal, leaving: frozenset[int]) -> Numbers:
    """By row: whether a goal that mends no racks may force a change of it. `now`: replicas; `leaving`: brokers whose
    replicas must leave.
    """
    if goal.kind is GoalKind.SET_FACTOR:
        other: Numbers = (now != NOBODY).sum(axis=1) != goal.factor
        return other
    if goal.demoted:
        return columns.led_by(goal.demoted, now)
    return columns.held_by(leaving, now)


def exact_sums(codes: Numbers, values: Numbers, count: int) -> list[int]:
    """Sums of whole numbers: floats would round them, and int64 overflow. By code, from 0 to `count` - 1. `values`:
    integers, or whole floats.
    """
    found = [0] * count
    for first in range(0, len(codes), _AT_ONCE):
        some, part = values[first : first + _AT_ONCE], codes[first : first + _AT_ONCE]
        high = np.floor(some / _HALF) if some.dtype.kind == "f" else some >> 32
        halves = [np.bincount(part, half, count).tolist() for half in (high, some - high * _HALF)]
        found = [total + int(one) * _HALF + int(other) for total, one, other in zip(found, *halves, strict=True)]
    return found


def racks_to_gain(others: Numbers, beside: Numbers, has_room: Numbers) -> Numbers:
    """By row and rack: the racks with the fewest other replicas of the partition (`others`), if it becomes more even
    without the one that has as many as `beside` others in its own.
    """
    gaining = has_room & (others < beside[:, None])
    least = np.where(gaining, others, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    found: Numbers = gaining & (others == least[:, None])
    return found


_UNKNOWN_RACK = -1


def column_survey(found: PartitionColumns, racks: Mapping[int, str] | None) -> Survey:
    """`racks`: of all live brokers, None if spreads do not matter."""
    survey, count = Survey(), len(found.brokers)
    unknown = found.bytes == UNKNOWN
    sizes = np.where(unknown, 0, found.bytes)
    survey.partitions = len(sizes)
    survey.unknown_sizes = int(unknown.sum())
    survey.known_sizes = survey.partitions - survey.unknown_sizes
    survey.known_bytes = exact_sums(np.zeros(len(sizes), np.int64), sizes, 1)[0]
    sums = [[0] * count for _ in MEASURES]
    lacking = np.zeros(count, np.int64)
    for place in range(found.replicas.shape[1]):
        there = found.replicas[:, place] != NOBODY
        brokers = found.replicas[there, place]
        lacking += np.bincount(brokers[unknown[there]], minlength=count)
        loads: Sequence[Any] = replica_load(found.rows(there), sizes[there], leads=place == 0)
        for measure, values in enumerate(loads):
            if isinstance(values, int):
                added = [values * held for held in np.bincount(brokers, minlength=count).tolist()]
            else:
                added = exact_sums(brokers, values, count)
            sums[measure] = [one + other for one, other in zip(sums[measure], added, strict=True)]
    ids = found.brokers.tolist()
    for place, load in enumerate(zip(*sums, strict=True)):
        if load[1]:
            survey.loads.add(ids[place], load)
        if lacking[place]:
            survey.unknown[ids[place]] = int(lacking[place])
    _add_client_sends(survey, found)
    if racks is not None:
        _add_spreads(survey, found, sizes, unknown, racks)
    return survey


def _add_client_sends(survey: Survey, found: PartitionColumns) -> None:
    sends = (found.fetch != 0) | (found.produce != 0)
    followers = (found.replicas[sends] != NOBODY).sum(axis=1) - 1
    leaders, codes = np.unique(found.leader[sends], return_inverse=True)
    fetched = exact_sums(codes, found.fetch[sends], len(leaders))
    for count in np.unique(followers).tolist():
        chosen = followers == count
        produced = exact_sums(codes[chosen], found.produce[sends][chosen], len(leaders))
        fetched = [one + count * more for one, more in zip(fetched, produced, strict=True)]
    survey.client_sends = dict(zip(leaders.tolist(), fetched, strict=True))


def _add_spreads(
    survey: Survey, found: PartitionColumns, sizes: Numbers, unknown: Numbers, racks: Mapping[int, str]
) -> None:
    names = {name: code for code, name in enumerate(sorted(set(racks.values())))}
    of_broker = np.array([names.get(racks.get(broker, ""), _UNKNOWN_RACK) for broker in found.brokers.tolist()])
    of_broker[[broker not in racks for broker in found.brokers.tolist()]] = _UNKNOWN_RACK
    width = found.replicas.shape[1]
    there = found.replicas != NOBODY
    held = np.where(there, of_broker[found.replicas], -2 - np.arange(width))
    alike = np.stack([(held == held[:, [place]]).sum(axis=1) for place in range(width)], axis=1)
    firsts = np.stack([~(held[:, :place] == held[:, [place]]).any(axis=1) for place in range(width)], axis=1)
    different = (firsts & there).sum(axis=1)
    least = np.where(different == len(names), np.where(there, alike, width + 1).min(axis=1), 0)
    most = np.where(there, alike, 0).max(axis=1)
    lost = (held == _UNKNOWN_RACK).any(axis=1)  # anything is possible with a replica on a lost broker
    least, most = np.where(lost, 0, least), np.where(lost, there.sum(axis=1), most)
    spreads, codes = np.unique(least * (width + 1) + most, return_inverse=True)
    values = (sizes, np.ones(len(sizes), np.int64), found.produce, found.fetch, unknown.astype(np.int64))
    sums = [exact_sums(codes, column, len(spreads)) for column in values]
    for code, summed in zip(spreads.tolist(), zip(*sums, strict=True), strict=True):
        survey.spreads[divmod(code, width + 1)] = list(summed)
