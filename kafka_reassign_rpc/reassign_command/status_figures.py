"""What --status tells of a cluster, reckoned from the answers of its nodes: pure functions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_reassign_rpc.client import Event, LogDirs, PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.move_progress import Listed
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.move_requesters import MoveRequesters


class PartitionCounts(NamedTuple):
    """Replicas and led partitions by broker; partitions that are under-replicated, and that have no leader."""

    replicas: Counter[int]
    leaders: Counter[int]
    under_replicated: int
    offline: int


def count_partitions(topics: Iterable[TopicInfo], listed: Listed) -> PartitionCounts:
    """As Kafka counts: replicas that a move adds do not count as wanted yet."""
    replicas: Counter[int] = Counter()
    leaders: Counter[int] = Counter()
    under_replicated = offline = 0
    for topic in topics:
        for index, found in topic.partitions.items():
            move = listed.get(TopicPartition(topic.name, index))
            adding = () if move is None or move.is_waiting else move.adding_replicas
            replicas.update(found.replicas)
            if found.leader >= 0:
                leaders[found.leader] += 1
            else:
                offline += 1
            under_replicated += len(found.isr) < len([one for one in found.replicas if one not in adding])
    return PartitionCounts(replicas, leaders, under_replicated, offline)


class CopyRates(NamedTuple):
    """Bytes per second that moves copy to brokers and from them; None: not known. Brokers without moves have none."""

    into: Mapping[int, int | None]
    out_of: Mapping[int, int | None]


def copy_rates(
    listed: Listed,
    leaders: Mapping[TopicPartition, int],
    before: Iterable[LogDirs],
    now: Iterable[LogDirs],
    seconds: float,
) -> CopyRates:
    """From the sizes of the adding replicas at two times. What a broker does not tell makes no sum."""
    earlier = {one.broker: one.replicas for one in before if one.error is None}
    later = {one.broker: one.replicas for one in now if one.error is None}
    into: dict[int, int | None] = {}
    out_of: dict[int, int | None] = {}
    for partition, move in listed.items():
        for broker in () if move.is_waiting else move.adding_replicas:
            rate = None
            if broker in earlier and broker in later:
                old, new = earlier[broker].get(partition), later[broker].get(partition)
                grown = (0 if new is None else new.size) - (0 if old is None else old.size)
                rate = max(0, int(grown / seconds))
            _add(into, broker, rate)
            _add(out_of, leaders.get(partition, -1), rate)
    return CopyRates(into, out_of)


def leader_sizes(leaders: Mapping[TopicPartition, int], log_dirs: Iterable[LogDirs]) -> dict[TopicPartition, int]:
    """The bytes of partitions on their leaders, as far as these tell."""
    told = {one.broker: one.replicas for one in log_dirs if one.error is None}
    found = {}
    for partition, leader in leaders.items():
        replica = told.get(leader, {}).get(partition)
        if replica is not None:
            found[partition] = replica.size
    return found


def _add(sums: dict[int, int | None], broker: int, rate: int | None) -> None:
    so_far = sums.get(broker, 0)
    sums[broker] = None if so_far is None or rate is None else so_far + rate


def requesters(events: Iterable[Event]) -> MoveRequesters:
    """Who asked for the move of a partition last, as these events tell. `events`: by time."""
    found = MoveRequesters()
    for event in events:
        topic, partition = event.get("topic"), event.get("partition")
        if topic is not None and partition is not None:
            found.note(event["event"], topic, partition, event.get("who"), event.get("principal"))
    return found


def elected(events: Iterable[Event], controller: int) -> tuple[int | None, int | None]:
    """The epoch of the controller, and when it was elected (ms), as far as these events tell."""
    epoch = since = None
    for event in events:
        if event["server"] == controller and event["epoch"] >= 0:
            if event["epoch"] != epoch:
                epoch, since = event["epoch"], None
            if event["event"] == catalogue.CONTROLLER_ELECTED:
                since = event["at"]
    return epoch, since


def originals(events: Iterable[Event]) -> dict[TopicPartition, tuple[int, ...]]:
    """The original replicas in their order, as the newest event of each partition tells. `events`: by time."""
    found = {}
    for event in events:
        topic, partition, original = event.get("topic"), event.get("partition"), event.get("original")
        if topic is not None and partition is not None and original is not None:
            found[TopicPartition(topic, partition)] = tuple(original)
    return found


def origin_of(move: PartitionReassignment, told: Sequence[int] | None) -> list[int]:
    """The replicas that a move leads from. The list of moves does not have their order: `told` has it, if it is that
    of these replicas."""
    if move.is_waiting:
        return list(move.replicas)
    listed = [one for one in move.replicas if one in move.sources]
    return listed if told is None or set(told) != set(listed) else list(told)


def set_value(configs: Any, name: str) -> str | None:
    """The value of a config that is set; None where it is not, or where the broker did not answer."""
    if not isinstance(configs, list):
        return None
    return next((one.value for one in configs if one.name == name and one.value), None)
