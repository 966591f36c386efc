"""Request znodes, `/admin/reassignment_requests/request_NNN` (KIP-236): what happens to each target.

partition                            the target
does not exist                       a report
moving by the other route            a report; the target is ignored (`route_rules.route_conflict`)
at rest there, or moving to it       nothing to do
other                                starts, or a report if it is refused. If the request stands for the batch, the
                                     target replaces the batch's own entry

Once each target is decided, the znode goes in the same round. If the controller dies in between, the next one
finds nothing to do. Requests wait while reassignments are disabled.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.partition import BATCH, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.znode_routes import reassign_partitions
from kafka_reassign_rpc.core.znode_routes.route_rules import route_conflict, start


class RequestOutcome(NamedTuple):
    """`report`: for its author."""

    changes: Sequence[PartitionChange] = ()
    report: str | None = None


def decide_target(view: RoundView, name: TopicPartition, terms: MoveTerms) -> RequestOutcome:
    """While reassignments are enabled."""
    partition = view.get(*name)
    if partition is None:
        return RequestOutcome(report=str(view.cluster.not_found(*name)))
    ignored = route_conflict(partition, terms.route)
    if ignored is not None:
        return RequestOutcome(report=ignored)
    if (partition.target if partition.is_moving else partition.replicas) == terms.target:
        return RequestOutcome()
    started = start(view, name, partition, terms, legacy=terms.route == BATCH)
    if started.error is not None:
        return RequestOutcome(report=str(started.error))
    if terms.route == BATCH:
        reassign_partitions.withdraw_for_client(
            view, name, None
        )  # otherwise the batch would start its own target again
    return RequestOutcome(started.changes, started.report)
