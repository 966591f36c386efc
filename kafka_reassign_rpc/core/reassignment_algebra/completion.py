"""When a move is complete, and the partition after it (KIP-455, phase B).

A move is complete when one of these rules holds, and a live replica of the target can lead (or no live replica is in
the ISR at all):

- Kafka's rule in ZooKeeper mode: every target replica is in the ISR (KafkaController.isReassignmentComplete).
- KAFKA-19975: every *adding* replica is in the ISR, and at least as many have joined the ISR as leave it now.

By the second rule a sick replica that stays does not delay the move: [1,2,3] -> [1,2,4] with 2 out of sync is complete
at ISR [1,3,4]. A shrink is complete at once if the removed replicas were out of sync; it waits if it would take in-sync
replicas away while a staying one is out of sync. Without this rule one sick broker blocks every move of its partitions.
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment_algebra.assignment import among, pending_deletion_after
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster, Partition


def is_complete(cluster: Cluster, partition: Partition) -> bool:
    if not partition.is_moving:
        return False
    isr = partition.isr
    target = partition.target
    staying = among(isr, target)
    if not staying:
        return False
    if len(staying) < len(target):
        leaving = len(isr) - len(staying)
        if len(partition.adding) < leaving or not set(partition.adding).issubset(isr):
            return False
    # The controller handles a dead broker partition by partition: before it comes to this one, the ISR may name it.
    return any(cluster.is_online(replica, partition) for replica in staying) or not any(
        cluster.is_online(replica, partition) for replica in isr
    )


def completed(cluster: Cluster, partition: Partition) -> Partition | None:
    """The partition after its move; None: it is not complete.

    A live leader in the target stays (G01); otherwise the first live in-sync target replica leads (G02). If there is
    none, a leader in controlled shutdown that is in the target and the ISR stays until it is gone. (Kafka's election
    fails then, which leaves the leader.) Removed replicas become pending deletion.
    """
    if not is_complete(cluster, partition):
        return None
    target = partition.target
    isr = among(partition.isr, target)
    leader = partition.leader
    if leader not in target or not cluster.is_online(leader, partition):
        online = (replica for replica in target if replica in isr and cluster.is_online(replica, partition))
        may_stay = leader in isr and leader in cluster.brokers and leader not in partition.offline
        leader = next(online, leader if may_stay else NO_LEADER)
    return replace(
        partition,
        replicas=target,
        adding=(),
        removing=(),
        pending_deletion=pending_deletion_after(partition, partition.removing, target),
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + 1,
        move=None,
    )
