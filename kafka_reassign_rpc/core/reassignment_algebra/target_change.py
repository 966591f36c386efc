"""Which adding replicas of a former target are removed at once when a move gets another target (KIP-236).

The rule of the proposal: let `top` be the size of the original assignment. The first `top` replicas of (leader, ISR,
out of sync) stay until the new target is in sync. The rest of the assignment is removed at once.

Two additions. Original replicas and replicas of the new target always stay (KIP-455: a cancel needs the former, the
latter would be copied again). So the rule concerns only replicas that a former target has added. Within the ISR,
replicas that stay anyway come first.

    original  former target  ISR, leader first  new target  removed  retained
    [1,2]     [2,3]          1,2                [2,4]       3                  the proposal's example
    [1,2]     [2,3]          1,2,3              [2,4]       3                  two of the ISR stay, as many as before
    [1,2]     [2,3]          1,3                [2,4]                3         2 is sick: without 3 the ISR would shrink
    [1,2]     [2,3]          3,2                [2,4]                3         3 leads
    [1]       [2,3]          2,1,3              [4]         3        2         2 leads, and one is enough
    [1,2,3]   [4,5,6]        1,4,5              [7,8,9]     6        4,5

A retained replica counts as removing: it leaves at completion, with the original replicas that the new target does not
need. So the leader stays, and the ISR stays at least as large as it was, or as `top` if that is less. Producers with
acks=all are not cut off, unless `top` itself is below min.insync.replicas. In that case a new target that would remove
anything is refused. The original replicas are always allowed as the target, since that amounts to a cancel.
"""

from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError
from kafka_reassign_rpc.core.reassignment_algebra.assignment import Replicas, among, without
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition

MIN_INSYNC_REPLICAS = "min.insync.replicas"


def added_for_former_target(partition: Partition, target: Replicas) -> Replicas:
    """Replicas that a former target has added and that the new one does not need."""
    return without(partition.replicas, (*partition.origin, *target)) if partition.is_moving else ()


def retained(partition: Partition, target: Replicas) -> Replicas:
    """Those of `added_for_former_target` that stay until the new target is in sync."""
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
    """Why the move may not get this target; None where it may.

    It may not where the original replicas were fewer than min.insync.replicas: they alone would block producers.
    """
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
    """The topic's config, else the cluster's dynamic default; where that is invalid or missing, what the brokers were
    started with."""
    found = number(cluster.topic_config(topic, MIN_INSYNC_REPLICAS, ""), 0, INT32)
    return cluster.soft.broker_settings.min_insync_replicas if found is None else found
