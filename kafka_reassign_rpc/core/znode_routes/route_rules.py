"""Targets that come through ZooKeeper (KIP-236): how one starts, and which routes exclude each other.

The users of the batch and of request znodes do not see each other's targets, so neither replaces the other's. A
client's request replaces both, and both replace a client's, as in Kafka.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.reassignment_algebra import without
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.partition import BATCH, REQUEST, MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

_ROUTE_ZNODES = {BATCH: "/admin/reassign_partitions", REQUEST: "a znode under /admin/reassignment_requests"}


def route_conflict(partition: Partition, route: str) -> str | None:
    """Why a target of this route is ignored during the partition's present move, or None."""
    if partition.move is None or not partition.is_moving or {partition.move.terms.route, route} != {BATCH, REQUEST}:
        return None
    return (
        f"ignored: it moves to {listed(partition.target)}, started by {_ROUTE_ZNODES[partition.move.terms.route]};"
        " cancel that, or wait until it is done"
    )


def waiting_route_conflict(route: str, target: Iterable[int]) -> str | None:
    """Why an entry of the batch is ignored while a target of `route` waits for room, or None."""
    if route != REQUEST:
        return None
    return f"ignored: {_ROUTE_ZNODES[REQUEST]} wants it at {listed(target)}, which waits for room"


class Started(NamedTuple):
    """`error`: why nothing starts, `report`: what the move waits for."""

    error: KafkaError | None
    changes: Sequence[PartitionChange] = ()
    report: str | None = None


def start(
    view: RoundView, name: TopicPartition, partition: Partition, terms: MoveTerms, *, legacy: bool = False
) -> Started:
    """As for a client, except that the move waits for dead brokers. `legacy`: see `MoveRecord`."""
    may_change = view.cluster.soft.in_force.replication_factor_change_allowed
    error, changes = alter(view, name, terms, allow_replication_factor_change=may_change, adding_must_live=False)
    error = restrictions.with_reason(error, forbidden=not may_change)
    if error is not None:
        return Started(error)
    if legacy:
        changes = [_by_legacy_request(change) for change in changes]
    dead = [broker for broker in without(terms.target, partition.origin) if not view.cluster.is_live(broker)]
    return Started(None, changes, f"waits for broker(s) {listed(dead)}, which are not alive" if dead else None)


def _by_legacy_request(change: PartitionChange) -> PartitionChange:
    value = change.value
    if value.move is None:
        return change
    return change._replace(value=replace(value, move=replace(value.move, legacy=True)))


def listed(brokers: Iterable[int]) -> str:
    return f"[{', '.join(map(str, brokers))}]"
