"""The configs that throttle moves, as the stock tool computes them. A broker throttles a replica only if the topic's
list names it *and* the broker has a rate (KIP-73). Sources: ReassignPartitionsCommand.calculateProposedMoveMap,
calculateLeaderThrottles, calculateFollowerThrottles, calculateReassigningBrokers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC, Resource
from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
)
from kafka_reassign_rpc.support.bounded_text import whole_number

BROKER_THROTTLES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
TOPIC_THROTTLES = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


@dataclass(frozen=True)
class PartitionMove:
    """The brokers that send and receive the bytes of one partition. A broker that has them is no destination."""

    sources: frozenset[int]
    destinations: frozenset[int]


Moves = dict[str, dict[int, PartitionMove]]
"""By topic and partition."""


def all_moves(
    in_flight: Mapping[TopicPartition, PartitionReassignment],
    proposed: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> Moves:
    """All moves in flight once `proposed` has started. `current`: the replicas of the proposed partitions, used for
    those that do not move yet.
    """
    found: Moves = {}
    for (topic, index), move in in_flight.items():
        found.setdefault(topic, {})[index] = PartitionMove(move.sources, frozenset(move.adding_replicas))
    for partition, target in proposed.items():
        of_topic = found.setdefault(partition[0], {})
        running = of_topic.get(partition[1])
        sources = running.sources if running else frozenset(current[partition])
        of_topic[partition[1]] = PartitionMove(sources, frozenset(target) - sources)
    return found


def topic_lists(of_moves: Moves) -> dict[Resource, dict[str, str | None]]:
    """Sorted as text, as by the stock tool."""
    return {
        (TOPIC, topic): {
            LEADER_REPLICAS: _list((index, broker) for index, move in parts.items() for broker in move.sources),
            FOLLOWER_REPLICAS: _list(
                (index, broker) for index, move in parts.items() for broker in move.destinations - move.sources
            ),
        }
        for topic, parts in of_moves.items()
    }


def _list(replicas: Iterable[tuple[int, int]]) -> str:
    return ",".join(sorted({f"{index}:{broker}" for index, broker in replicas}))


def brokers(of_moves: Moves) -> list[int]:
    return sorted(
        {b for parts in of_moves.values() for move in parts.values() for b in move.sources | move.destinations}
    )


def rates(of_brokers: Iterable[int], bytes_per_second: int) -> dict[Resource, dict[str, str | None]]:
    rate = str(bytes_per_second)
    return {(BROKER, str(broker)): {LEADER_RATE: rate, FOLLOWER_RATE: rate} for broker in of_brokers}


def log_dir_rates(of_brokers: Iterable[int], bytes_per_second: int) -> dict[Resource, dict[str, str | None]]:
    return {(BROKER, str(broker)): {LOG_DIRS_RATE: str(bytes_per_second)} for broker in of_brokers}


def no_broker_throttles(of_brokers: Iterable[int]) -> dict[Resource, dict[str, str | None]]:
    return {(BROKER, str(broker)): dict.fromkeys(BROKER_THROTTLES) for broker in of_brokers}


def no_topic_throttles(
    topics: Iterable[str], in_use: "ThrottlesInUse | None" = None
) -> dict[Resource, dict[str, str | None]]:
    """Deletes the lists of throttled replicas, except the entries in use."""
    lists = {} if in_use is None else in_use.lists
    return {(TOPIC, topic): {**dict.fromkeys(TOPIC_THROTTLES), **lists.get(topic, {})} for topic in topics}


@dataclass(frozen=True)
class ThrottlesInUse:
    """Those that hold moves in flight back.

    brokers  their rates apply to a move
    lists    by topic and config name: the entries of its list that name replicas of a move
    """

    brokers: frozenset[int]
    lists: Mapping[str, Mapping[str, str]]


def throttles_in_use(
    in_flight: Mapping[TopicPartition, PartitionReassignment], configs: Mapping[str, Mapping[str, str]]
) -> ThrottlesInUse:
    """`configs`: of each topic with a move in flight."""
    moving: dict[str, dict[int, PartitionReassignment]] = {}
    for (topic, index), move in in_flight.items():
        moving.setdefault(topic, {})[index] = move
    rated: set[int] = set()
    lists: dict[str, dict[str, str]] = {}
    for topic, parts in moving.items():
        for name in TOPIC_THROTTLES:
            entries = [entry.strip() for entry in configs.get(topic, {}).get(name, "").split(",")]
            kept = [entry for entry in entries if entry == "*" or _partition(entry) in parts]
            if kept:
                lists.setdefault(topic, {})[name] = ",".join(kept)
            if "*" in kept:
                rated.update(broker for move in parts.values() for broker in (*move.replicas, *move.adding_replicas))
            rated.update(int(entry.partition(":")[2]) for entry in kept if entry != "*")
    return ThrottlesInUse(frozenset(rated), lists)


def _partition(entry: str) -> int | None:
    """None for text other than `partition:broker`."""
    first, _, second = entry.partition(":")
    partition, broker = whole_number(first, 0, 2**31 - 1), whole_number(second, 0, 2**31 - 1)
    return None if broker is None else partition
