"""What may be dropped at once when a move gets another target (KIP-236).

The proposal's rule: with `top` the size of the original assignment, the first `top` of (leader, ISR, out-of-sync)
stay until the new target is in sync, the rest of what is assigned is dropped. Nobody is asked for it who stood there
before the move or is in the new target (KIP-455: the former can be gone back to, the latter would be copied again),
so that the rule is about what only a former target has brought in; and within the ISR those who stay come first.

    original  former target  ISR, leader first  new target  dropped  kept
    [1,2]     [2,3]          1,2                [2,4]       3                 the proposal's example
    [1,2]     [2,3]          1,2,3              [2,4]       3                 two of the ISR stay, as many as there were
    [1,2]     [2,3]          1,3                [2,4]                3        2 is sick: without 3 the ISR would shrink
    [1,2]     [2,3]          3,2                [2,4]                3        3 leads
    [1]       [2,3]          2,1,3              [4]         3        2        2 leads, and one is enough
    [1,2,3]   [4,5,6]        1,4,5              [7,8,9]     6        4,5

What is kept counts as to be removed: it leaves when the move is over, with what the new target does not need of the
original. So the leader stays, and the ISR gets no smaller than it was or than `top`, whatever is smaller: producers
that wait for all in-sync replicas (acks=all) are not cut off, unless `top` itself is below min.insync.replicas. Then
another target is refused where it would drop anything, but for the original replicas themselves: that is a cancel.
"""

from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError
from kafka_reassign_rpc.core.reassignment_algebra.assignment import Replicas, among, without
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition

MIN_INSYNC_REPLICAS = "min.insync.replicas"


def former(partition: Partition, target: Replicas) -> Replicas:
    """What stands now and was neither there before the move nor is in the new target."""
    return without(partition.replicas, (*partition.origin, *target)) if partition.is_moving else ()


def retained(partition: Partition, target: Replicas) -> Replicas:
    """Those among `former` that have to stay until the new target is in sync."""
    leaving = former(partition, target)
    if not leaving:
        return ()
    # Out-of-sync replicas come last, those who stay anyway first: of these alone there are as many as `top`.
    leader = (partition.leader,) if partition.leader in partition.replicas else ()
    existing = dict.fromkeys((*leader, *without(partition.isr, leaving), *partition.isr))
    top = max(len(partition.origin), 1)
    return among(leaving, list(existing)[:top])


def refused(cluster: Cluster, topic: str, index: int, partition: Partition, target: Replicas) -> KafkaError | None:
    """Why the move may not get this target: what the original replicas alone could not do for producers."""
    leaving = former(partition, target)
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
    """As the topic's config or the cluster's dynamic one says; Kafka's default where neither does, or is no number."""
    found = number(cluster.topic_config(topic, MIN_INSYNC_REPLICAS, ""), 0, INT32)
    return 1 if found is None else found
