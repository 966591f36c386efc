"""Targets that come through ZooKeeper (KIP-236): how one starts, and which routes keep out of each other's way.

A partition that the batch in `/admin/reassign_partitions` moves is not given another target by a request znode, nor
the other way round: whoever works with one of the two does not see what the other asks for. A client's own request
(`rpc`) stands above both, and both stand above it, as in Kafka.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment.alter import AS_IT_IS, alter
from kafka_reassign_rpc.core.reassignment_algebra.assignment import without
from kafka_reassign_rpc.core.restrictions import Rules
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import BATCH, REQUEST, Partition, TopicPartition

NO_PARTITION = "The partition does not exist."

_CALLED = {BATCH: "/admin/reassign_partitions", REQUEST: "a znode under /admin/reassignment_requests"}


def crosses(partition: Partition, route: str) -> str | None:
    """Why a target that comes by `route` is ignored while the partition moves as it does; None where it is not."""
    if partition.move is None or not partition.is_moving or {partition.move.route, route} != {BATCH, REQUEST}:
        return None
    return (
        f"ignored: it moves to {listed(partition.target)}, started by {_CALLED[partition.move.route]};"
        " cancel that, or wait until it is done"
    )


def crosses_waiting(route: str, target: Iterable[int]) -> str | None:
    """Why an entry of the batch is ignored while a target that came by `route` waits for room; None where it is not."""
    if route != REQUEST:
        return None
    return f"ignored: {_CALLED[REQUEST]} wants it at {listed(target)}, which waits for room"


class Started(NamedTuple):
    """`error`: why not, and then nothing changes; `report`: what the move waits for."""

    error: KafkaError | None
    changes: Sequence[PartitionChange] = ()
    report: str | None = None


def start(
    view: RoundView,
    name: TopicPartition,
    partition: Partition,
    target: tuple[int, ...],
    route: str,
    rules: Rules,
    *,
    reason: str = "",
    throttle: int = AS_IT_IS,
) -> Started:
    """Give a partition a target that somebody has written into ZooKeeper: as a client's, but that it waits for
    brokers that are down (as in Kafka)."""
    may_change = restrictions.replication_factor_may_change(view.cluster, rules)
    error, changes = alter(
        view,
        *name,
        target,
        allow_replication_factor_change=may_change,
        route=route,
        reason=reason,
        throttle=throttle,
        adding_must_live=False,
    )
    error = restrictions.with_reason(error, forbidden=not may_change)
    if error is not None:
        return Started(error)
    dead = [broker for broker in without(target, partition.origin) if not view.cluster.is_live(broker)]
    return Started(None, changes, f"waits for broker(s) {listed(dead)}, which are not alive" if dead else None)


def listed(brokers: Iterable[int]) -> str:
    return f"[{', '.join(map(str, brokers))}]"
