"""A znode under `/admin/reassignment_requests` (KIP-236): what becomes of each target that it asks for.

    partition                          the target
    there is none                      reported
    moves by the other route           reported, ignored (`routes.crosses`)
    at rest there, or moves to it      nothing to do
    anything else                      starts; where it is refused, that is reported. Of a request that stands for the
                                       batch, it takes the place of the batch's own entry

The request is over once each of its targets has been looked at, and its znode goes in the same round; where the
controller dies between the two, the next one looks at it again and finds nothing left to do. While the guard is
closed requests wait as they are.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.restrictions import Rules
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import BATCH, REQUEST, Cluster, TopicPartition
from kafka_reassign_rpc.core.znode_routes import reassign_partitions as legacy
from kafka_reassign_rpc.core.znode_routes.route_rules import NO_PARTITION, crosses, start


class ReassignmentRequest(msgspec.Struct, frozen=True):
    """`legacy`: it stands for `/admin/reassign_partitions`, so that its moves count as started by that."""

    targets: Mapping[TopicPartition, tuple[int, ...]] = {}
    legacy: bool = False

    @property
    def route(self) -> str:
        return BATCH if self.legacy else REQUEST


class RequestOutcome(NamedTuple):
    """What becomes of a target; `report` is for whoever asked for it, where there is something to say."""

    changes: Sequence[PartitionChange] = ()
    report: str | None = None


def take_up(view: RoundView, name: TopicPartition, target: tuple[int, ...], route: str, rules: Rules) -> RequestOutcome:
    """One target of a request, while the guard is open."""
    partition = view.get(*name)
    if partition is None:
        return RequestOutcome(report=NO_PARTITION)
    ignored = crosses(partition, route)
    if ignored is not None:
        return RequestOutcome(report=ignored)
    if (partition.target if partition.is_moving else partition.replicas) == target:
        return RequestOutcome()
    started = start(view, name, partition, target, route, rules)
    if started.error is not None:
        return RequestOutcome(report=str(started.error))
    if route == BATCH:
        legacy.overruled(view, name, None)  # or the batch would want its own target back
    return RequestOutcome(started.changes, started.report)


def put_durable(cluster: Cluster, view: RoundView) -> None:
    """Put a committed round's requests into the cluster: those that are over no longer wait."""
    if view.requests:
        cluster.requests = cluster.requests.difference(view.requests)
