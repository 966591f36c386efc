"""The rounds of a plan as Spark jobs: topics in chunks, each round where the chunks are, sums to the driver.

A chunk is a run of whole topics, packed; an element of the RDD is a chunk and what it has proposed and nobody has yet
accepted. The pure planner decides; nothing here does. A topic must fit in a task's memory.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec
from pyspark import RDD, Broadcast, SparkContext, StorageLevel
from pyspark.sql import DataFrame

from kafka_reassign_rpc.planner.model import UNKNOWN, LeftOut, Move, Partition, Topic
from kafka_reassign_rpc.planner.rounds import (
    Change,
    Demand,
    Survey,
    Thresholds,
    carry_out,
    harvest,
    is_accepted,
    propose,
)
from kafka_reassign_rpc.planner.touches import Proposal
from kafka_reassign_rpc.planner.view import View

CHUNK_PARTITIONS = 5000
_FLAT = 64
"""Tasks whose sums the driver adds up itself."""
NAMED = 20
"""Rows that are named one by one."""

Packed = tuple[bytes, bytes]
"""A chunk (list[Topic]) and its proposals (list[Proposal])."""

T = TypeVar("T")

_encoder = msgspec.msgpack.Encoder()
_chunk = msgspec.msgpack.Decoder(list[Topic])
_proposals = msgspec.msgpack.Decoder(list[Proposal])


def pack(values: list[Topic] | list[Proposal]) -> bytes:
    """A function, as the two below: Spark sends closures with the globals that they use, and codecs cannot be sent."""
    return _encoder.encode(values)


def topics_in(packed: Packed) -> list[Topic]:
    return _chunk.decode(packed[0])


def accepted_in(packed: Packed, thresholds: Thresholds) -> list[Proposal]:
    return [one for one in proposals_in(packed) if is_accepted(one, thresholds)]


def proposals_in(packed: Packed) -> list[Proposal]:
    return _proposals.decode(packed[1])


class Faults(NamedTuple):
    """Rows that cannot be used: how many (`total`), and the first of them with what is wrong."""

    total: int
    first: tuple[str, ...]

    def merge(self, other: "Faults") -> "Faults":
        return Faults(self.total + other.total, tuple(sorted((*self.first, *other.first))[:NAMED]))


class Found(NamedTuple):
    """What the first pass brings back."""

    survey: Survey
    faults: Faults
    strangers: dict[int, tuple[str, ...]]
    """Brokers that the snapshot does not list, with the first partitions that name them."""

    def merge(self, other: "Found") -> "Found":
        strangers = dict(self.strangers)
        for broker, names in other.strangers.items():
            strangers[broker] = tuple(sorted((*strangers.get(broker, ()), *names))[:NAMED])
        return Found(self.survey.merge(other.survey), self.faults.merge(other.faults), strangers)


def chunks_of(partitions: DataFrame, min_isrs: dict[str, int], default_min_isr: int, tasks: int) -> RDD[Packed]:
    """The partitions table in chunks, kept in memory or on the executors' disks."""
    columns = ("topic", "partition", "replicas", "leader", "isr", "adding", "removing", "bytes")
    wanted = partitions.select(*columns, "produce_rate", "fetch_rate")
    told = partitions.sparkSession.sparkContext.broadcast((min_isrs, default_min_isr))
    rows = wanted.repartition(tasks, "topic").sortWithinPartitions("topic", "partition").rdd

    def build(found: Iterable[Any]) -> Iterator[Packed]:
        named, default = told.value
        return _packed(_topics(found, named, default))

    return rows.mapPartitions(build, preservesPartitioning=True).persist(StorageLevel.MEMORY_AND_DISK)


def _topics(rows: Iterable[Any], min_isrs: dict[str, int], default: int) -> Iterator[Topic]:
    current: Topic | None = None
    for topic, index, replicas, leader, isr, adding, removing, size, produce, fetch in rows:
        if current is None or current.name != topic:
            if current is not None:
                yield current
            current = Topic(topic, [])
        current.partitions.append(
            Partition(
                index,
                tuple(replicas),
                leader,
                tuple(isr),
                bool(adding or removing),
                UNKNOWN if size is None else size,
                int(produce or 0),
                int(fetch or 0),
                min_isrs.get(topic, default),
            )
        )
    if current is not None:
        yield current


def _packed(topics: Iterable[Topic]) -> Iterator[Packed]:
    chunk: list[Topic] = []
    held = 0
    for topic in topics:
        chunk.append(topic)
        held += len(topic.partitions)
        if held >= CHUNK_PARTITIONS:
            yield pack(chunk), pack([])
            chunk, held = [], 0
    if chunk:
        yield pack(chunk), pack([])


def look(chunks: RDD[Packed], brokers: frozenset[int]) -> Found:
    """The first pass: sums, and rows that cannot be used."""

    def one(packed: Packed) -> Found:
        survey, faults, strangers = Survey(), Faults(0, ()), dict[int, tuple[str, ...]]()
        for topic in topics_in(packed):
            before = -1
            for partition in topic.partitions:
                name = f"{topic.name}-{partition.index}"
                wrong = "is there twice" if partition.index == before else _wrong(partition)
                before = partition.index
                if wrong:
                    faults = faults.merge(Faults(1, (f"{name} {wrong}",)))
                    continue
                survey.add(partition)
                for broker in partition.replicas:
                    if broker not in brokers and len(strangers.get(broker, ())) < NAMED:
                        strangers[broker] = (*strangers.get(broker, ()), name)
        return Found(survey, faults, strangers)

    return _merged(chunks, one, lambda: Found(Survey(), Faults(0, ()), {}), Found.merge)


def _wrong(partition: Partition) -> str:
    if not partition.replicas:
        return "has no replicas"
    if len(set(partition.replicas)) != len(partition.replicas):
        return f"has a broker twice in {list(partition.replicas)}"
    if min(partition.replicas) < 0:
        return f"has a broker below 0 in {list(partition.replicas)}"
    if partition.bytes < UNKNOWN or partition.index < 0:
        return f"has {partition.bytes} bytes" if partition.index >= 0 else "is no partition"
    return ""


class Rounds:
    """The state of all chunks from round to round; only the newest is kept."""

    def __init__(self, context: SparkContext, chunks: RDD[Packed]) -> None:
        self._context = context
        self._chunks = chunks
        self._thresholds: Thresholds = {}

    def propose(self, view: View) -> Demand:
        """Carry out what the last thresholds accepted, then let every chunk propose."""
        told = self._context.broadcast((view, self._thresholds))
        following = self._chunks.map(_step(told), preservesPartitioning=True)
        following.persist(StorageLevel.MEMORY_AND_DISK)  # also keeps PySpark from running this step again in the next
        following.localCheckpoint()  # the rounds before are not needed again, nor is what they were told
        demand = _merged(following, _demand, Demand, Demand.merge)
        self._chunks.unpersist()
        told.unpersist()
        self._chunks = following
        return demand

    def accept(self, thresholds: Thresholds) -> Change:
        """What the thresholds accept; it is carried out with the next round."""
        self._thresholds = thresholds
        told = self._context.broadcast(thresholds)

        def change(packed: Packed) -> Change:
            found = Change()
            for proposal in accepted_in(packed, told.value):
                found.add(proposal)
            return found

        summed = _merged(self._chunks, change, Change, Change.merge)
        told.unpersist()
        return summed

    def harvest(self, view: View) -> RDD[Move | LeftOut]:
        """Moves and what is left out, after the last round."""
        thresholds = self._thresholds

        def last(packed: Packed) -> Iterator[Move | LeftOut]:
            chunk = topics_in(packed)
            carry_out(chunk, accepted_in(packed, thresholds))
            return (found for found in harvest(chunk, view) if found is not None)

        return self._chunks.flatMap(last)

    def close(self) -> None:
        self._chunks.unpersist()


def _step(told: "Broadcast[tuple[View, Thresholds]]") -> Callable[[Packed], Packed]:
    def step(packed: Packed) -> Packed:
        view, thresholds = told.value
        chunk, accepted = topics_in(packed), accepted_in(packed, thresholds)
        carry_out(chunk, accepted)
        encoded = pack(chunk) if accepted else packed[0]
        return encoded, pack([one for one in propose(chunk, view) if one is not None])

    return step


def _demand(packed: Packed) -> Demand:
    found = Demand()
    for proposal in proposals_in(packed):
        found.add(proposal)
    return found


def _merged(chunks: RDD[Packed], one: Callable[[Packed], T], empty: Callable[[], T], merge: Callable[[T, T], T]) -> T:
    """One value for each chunk, merged in the tasks first and at last here."""

    def of_task(found: Iterable[Packed]) -> Iterator[T]:
        total = empty()
        for packed in found:
            total = merge(total, one(packed))
        yield total

    summed = chunks.mapPartitions(of_task)
    total: T = summed.treeReduce(merge, depth=1 if summed.getNumPartitions() <= _FLAT else 2)
    return total
