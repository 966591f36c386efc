"""AlterPartitionReassignments for one partition: start, change of target, cancel.

`alter_checks` says whether it may be, `altered` what becomes of the partition. A target that is the partition's present
assignment changes nothing.
"""

from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment.alter_checks import refusal
from kafka_reassign_rpc.core.reassignment.altered import AS_IT_IS, altered
from kafka_reassign_rpc.core.reassignment_algebra import target_change
from kafka_reassign_rpc.core.reassignment_algebra.assignment import Reassigned, Replicas, cancel, reassign
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import RPC, Cluster, Partition

Decision = tuple[KafkaError | None, list[PartitionChange]]
"""The error, or None; the change, at most one."""


def alter(
    view: RoundView,
    topic: str,
    index: int,
    target: Replicas | None,
    *,
    allow_replication_factor_change: bool,
    expected: Replicas | None = None,
    route: str = RPC,
    reason: str = "",
    throttle: int = AS_IT_IS,
    adding_must_live: bool = True,
    even_uncleanly: bool = False,
) -> Decision:
    """Give a partition a new target, or cancel its move (`target` None).

    expected          the assignment that the client expects; another one refuses the request (None: any)
    route, reason     how and why the target came; the move record stores both
    throttle          bytes/s of the move's throttle lease; 0: no lease; AS_IT_IS: as before, for a new move none
    adding_must_live  refuse a target that adds a dead broker (a target from ZooKeeper waits for the broker instead)
    even_uncleanly    cancel as if the topic allowed unclean election
    """
    partition = view.get(topic, index)
    current = _hidden_partition(view.cluster, topic, index) if partition is None else partition
    to = None if current is None else _replica_sets(current, target)
    error = refusal(
        view.cluster,
        topic,
        index,
        target,
        partition,
        current,
        to,
        allow_replication_factor_change=allow_replication_factor_change,
        expected=expected,
        adding_must_live=adding_must_live,
        even_uncleanly=even_uncleanly,
    )
    if error is not None or partition is None or to is None:
        return error, []
    if target == partition.replicas and not partition.is_moving:
        return None, []
    return None, [PartitionChange(topic, index, altered(view.cluster, partition, to, route, reason, throttle))]


def _replica_sets(current: Partition, target: Replicas | None) -> Reassigned | None:
    """The replica sets with the target, or after the cancel; None: there is no move to cancel."""
    if target is not None:
        return reassign(current, target, target_change.retained(current, target))
    return cancel(current) if current.is_moving else None


def _hidden_partition(cluster: Cluster, topic: str, index: int) -> Partition | None:
    """A partition that commands do not find because its topic is in deletion. ZooKeeper mode checks a target against it
    before it answers that the partition does not exist."""
    known = cluster.topics.get(topic)
    return None if known is None else known.partitions.get(index)
