"""Which adding replicas of a former target are removed at once when a move gets another target (KIP-236).

The proposal's rule: let `top` be the size of the original assignment. The first `top` replicas of (leader, ISR, out of
sync) stay until the new target is in sync. The rest of the assignment is removed at once.

Two additions: original replicas and replicas of the new target always stay (KIP-455: a cancel needs the former, the
latter would be copied again), and they come first within the ISR.

original  former target  ISR, leader first  new target  removed  retained
[1,2]     [2,3]          1,2                [2,4]       3                  the proposal's example
[1,2]     [2,3]          1,2,3              [2,4]       3                  two of the ISR stay, as many as before
[1,2]     [2,3]          1,3                [2,4]                3         2 is sick: without 3 the ISR would shrink
[1,2]     [2,3]          3,2                [2,4]                3         3 leads
[1]       [2,3]          2,1,3              [4]         3        2         2 leads, and one is enough
[1,2,3]   [4,5,6]        1,4,5              [7,8,9]     6        4,5

A retained replica counts as removing. So the leader stays, and the ISR stays as large as it was, or as `top` if that is
less: producers with acks=all are cut off only if `top` is below min.insync.replicas. Then a new target that would
remove anything is refused, except the original replicas, which amount to a cancel.
"""

from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError
from kafka_reassign_rpc.core.reassignment_algebra.assignment import Replicas, among, without
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition

MIN_INSYNC_REPLICAS = "min.insync.replicas"


def added_for_former_target(partition: Partition, target: Replicas) -> Replicas:
    """Adding replicas that the new target does not need."""
    return without(partition.replicas, (*partition.origin, *target)) if partition.is_moving else ()


def retained(partition: Partition, target: Replicas) -> Replicas:
    """Those that stay until the new target is in sync."""
    leaving = added_for_former_target(partition, target)
    if not leaving:
        return ()
    # Out-of-sync replicas would come next, staying ones first. Since at least `top` replicas stay anyway, no
    # out-of-sync replica of `leaving` can be among the first `top`.
    leader = (partition.leader,) if partition.leader in partition.replicas else ()
    existing = dict.fromkeys((*leader, *without(partition.isr, leaving), *partition.isr))
    top = max(len(partition.origin), 1)
    return among(leaving, list(existing)[:top])


def refusal(cluster: Cluster, topic: str, index: int, partition: Partition, target: Replicas) -> KafkaError | None:
    """Why the move may not get this target: fewer original replicas than min.insync.replicas would block producers."""
    leaving = added_for_former_target(partition, target)
    if not leaving or target == partition.target or set(target) == set(partition.origin):
        return None
    top, needed = len(partition.origin), min_insync_replicas(cluster, topic)
    if top >= needed:
        return None
    return InvalidReplicaAssignment(
        f"Unable to change the target of the reassignment for {topic}:{index}: it began with {top} replica(s), fewer"
        f" than {MIN_INSYNC_REPLICAS}={needed}, so that dropping {list(leaving)} could cut producers off."
        " Cancel it first, or leave them in the target."
    )


def min_insync_replicas(cluster: Cluster, topic: str) -> int:
    """The topic's config, else the cluster's dynamic default, else (also if that is invalid) the brokers' static
    value.
    """
    found = number(cluster.topic_config(topic, MIN_INSYNC_REPLICAS, ""), 0, INT32)
    return cluster.soft.broker_settings.min_insync_replicas if found is None else found
