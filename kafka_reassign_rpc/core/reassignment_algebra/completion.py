"""When a move is over, and what stands then (KIP-455, phase B).

A move is over when one of these holds, and some live replica of the target can lead (or nobody can):

1. every target replica is in the ISR: the rule of ZooKeeper mode (KafkaController.isReassignmentComplete);
2. every *adding* replica is in the ISR, and the ISR gets no smaller than it was without them: at least as many
   replicas have joined it as leave it now. So a sick replica that stays where it is does not hold up a move that
   has done all it had to do: [1,2,3] -> [1,2,4] with 2 sick is over at ISR [1,3,4], and so is a shrink whose
   leaving replicas are out of the ISR already. A shrink that would take in-sync replicas away while a staying
   one is out of sync keeps waiting. This is KAFKA-19975's rule; without it one sick broker blocks every move
   of a partition that it has a replica of, and nothing is gained by waiting.

The second rule goes beyond ZooKeeper mode, but only where that would wait for a replica that no move concerns.
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment_algebra.assignment import among, retire
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster, Partition


def can_finish(cluster: Cluster, partition: Partition) -> bool:
    """Whether the move of a partition is over."""
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
    # Deaths are seen one partition after the other: between the first and the last an ISR names dead replicas.
    return any(map(cluster.is_live, staying)) or not any(map(cluster.is_live, isr))


def finished(cluster: Cluster, partition: Partition) -> Partition | None:
    """The partition after its move, or None where it is not over.

    The leader stays where it is in the target and alive (G01), else the first target replica that is live and in
    the ISR leads (G02). The removed replicas are pending_deletion: they get a StopReplica with delete.
    """
    if not can_finish(cluster, partition):
        return None
    target = partition.target
    isr = among(partition.isr, target)
    leader = partition.leader
    if leader not in target or not cluster.is_live(leader):
        leader = next((replica for replica in target if replica in isr and cluster.is_live(replica)), NO_LEADER)
    return replace(
        partition,
        replicas=target,
        adding=(),
        removing=(),
        pending_deletion=retire(partition, partition.removing, target),
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + 1,
        move=None,
    )
