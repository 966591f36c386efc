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

from kafka_reassign_rpc.core import legacy
from kafka_reassign_rpc.core.batch import Name
from kafka_reassign_rpc.core.changes import PartitionChange, View
from kafka_reassign_rpc.core.guard import Rules
from kafka_reassign_rpc.core.model import BATCH, REQUEST, Cluster
from kafka_reassign_rpc.core.routes import NO_PARTITION, crosses, start


class Request(msgspec.Struct, frozen=True):
    """`legacy`: it stands for `/admin/reassign_partitions`, so that its moves count as started by that."""

    targets: Mapping[Name, tuple[int, ...]] = {}
    legacy: bool = False

    @property
    def route(self) -> str:
        return BATCH if self.legacy else REQUEST


class Outcome(NamedTuple):
    """What becomes of a target; `report` is for whoever asked for it, where there is something to say."""

    changes: Sequence[PartitionChange] = ()
    report: str | None = None


def take_up(view: View, name: Name, target: tuple[int, ...], route: str, rules: Rules) -> Outcome:
    """One target of a request, while the guard is open."""
    partition = view.get(*name)
    if partition is None:
        return Outcome(report=NO_PARTITION)
    ignored = crosses(partition, route)
    if ignored is not None:
        return Outcome(report=ignored)
    if (partition.target if partition.is_moving else partition.replicas) == target:
        return Outcome()
    started = start(view, name, partition, target, route, rules)
    if started.error is not None:
        return Outcome(report=str(started.error))
    if route == BATCH:
        legacy.overruled(view, name, None)  # or the batch would want its own target back
    return Outcome(started.changes, started.report)


def put_durable(cluster: Cluster, view: View) -> None:
    """Put a committed round's requests into the cluster: those that are over no longer wait."""
    if view.requests:
        cluster.requests = cluster.requests.difference(view.requests)
