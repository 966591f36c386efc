"""What a new controller decides about each partition that it has loaded.

Whatever the one before left half-written is made whole here, so that a commit may stop between any two of its
writes. What there can be, and what follows:

    in the topic znode       elsewhere                            then
    no move                  a move record                        nothing had moved: the record is removed (an orphan)
    no move, pending_deletion         ISR or leader among the pending_deletion      they leave the ISR; another
    replica leads
    a move                   no record (a stock controller's)     a record with the origin as it stands
    a move                   a record of another target           the record is put right: the topic znode is the truth
    a move                   the target is in sync                it is finished (again): `completion`
    a move                   otherwise                            it goes on, under a higher leader epoch, since nobody
                                                                  knows which replicas have been told
    a partition              no state                             its first leader and ISR
    our own id as replica    -                                    another broker instead, or none: `topics.adopted`

Retired replicas are sent their StopReplica again by whoever tells brokers: they are in `Partition.pending_deletion`.
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.leadership.broker_changes import settled
from kafka_reassign_rpc.core.leadership.elections import allows_unclean, first_electable, first_live, unclean_leader
from kafka_reassign_rpc.core.reassignment_algebra.assignment import among
from kafka_reassign_rpc.core.round.round_view import (
    AssignmentWrite,
    Change,
    PartitionChange,
    RoundView,
    assignment_write,
)
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster, MoveRecord, Partition
from kafka_reassign_rpc.core.topics.topic_changes import adopted


def fail_over(view: RoundView, topic: str, index: int, *, own_id: int = -1) -> list[Change]:
    """Make one partition whole. `own_id`: the server's broker id, which no assignment may name."""
    partition = view.get(topic, index)
    if partition is None:
        return []
    value = partition
    if own_id in value.replicas:
        value = adopted(view.cluster, value, own_id, index)
    value = _without_strangers(view.cluster, topic, value)
    value = settled(view.cluster, topic, value)
    if value.is_moving:
        value = _resumed(value, partition)
    elif value.move is not None:
        # An orphan. It may also be what is left of an end of which the replicas were not told: the epoch tells them.
        value = replace(value, move=None, leader_epoch=max(value.leader_epoch, partition.leader_epoch + 1))
    if value is partition:
        return []
    write = AssignmentWrite.NOW if own_id in partition.replicas else assignment_write(partition, value)
    return [PartitionChange(topic, index, value, write)]


def _without_strangers(cluster: Cluster, topic: str, partition: Partition) -> Partition:
    """Take out of ISR and leadership what is not a replica (any more): a cancel or a new target was half-written."""
    isr = among(partition.isr, partition.replicas)
    if isr == partition.isr and partition.leader in (NO_LEADER, *partition.replicas):
        return partition
    if not isr:
        # All records are with replicas that were given up. Only an unclean election can help, and the one before us
        # had leave for it (a stock controller needs none: it cancels so, and the partition stays offline).
        if allows_unclean(cluster, topic):
            live = first_live(cluster, partition.replicas)
            if live is not None:
                return unclean_leader(partition, live)
            isr = partition.replicas[:1]
        else:
            isr = partition.isr
        if partition.leader == NO_LEADER and isr == partition.isr:
            return partition
        return replace(partition, leader=NO_LEADER, isr=isr, leader_epoch=partition.leader_epoch + 1)
    leader = partition.leader
    if leader not in partition.replicas:
        elected = first_electable(cluster, partition.replicas, isr)
        leader = NO_LEADER if elected is None else elected
    return replace(partition, isr=isr, leader=leader, leader_epoch=partition.leader_epoch + 1)


def _resumed(value: Partition, loaded: Partition) -> Partition:
    move = value.move
    if move is None:
        move = MoveRecord(target=value.target, original=value.origin)
    else:
        original = move.original if set(move.original) == set(value.origin) else value.origin
        move = replace(move, target=value.target, original=original, retained=value.retained)
    return replace(value, move=move, leader_epoch=max(value.leader_epoch, loaded.leader_epoch + 1))
