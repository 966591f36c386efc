"""Controller failover: what a new controller decides about each partition that it has loaded.

The former controller may have stopped between any two of its writes. The new one completes its work:

in the topic znode               elsewhere                  the new controller
no move                          a move record              removes the record: nothing had moved (an orphan)
no move, pending deletion        ISR or leader among them   takes them out of the ISR and elects another leader; if
                                                            no other is in sync, they stay until one is
a move                           no record                  writes one with the present origin (a stock move)
a move                           record of another target   corrects the record: the topic znode is the truth
a move                           the target is in sync      completes the move (again)
a move                           otherwise                  continues it, with a higher leader epoch, since it
                                                            cannot know which replicas the former one has reached
a partition                      no state                   writes the first leader and ISR, unless a deletion mark
                                                            of its topic waits (`topics.topic_deletion`)
other replicas, none in sync     -                          `round.changed_by_others`
its own broker id as a replica   -                          `topics.missing_replicas`, unless a broker has the id
                                                            (`topics.missing_replicas`)
a cordoned broker as a replica   never a state, newer       `topics.missing_replicas`
                                 than the cordon

Replicas that are pending deletion get their StopReplica again. A log that a dead stock controller had not yet stopped
stays on its broker: such a controller ends a move in the topic znode without waiting for StopReplica's answer
(`KafkaController.onPartitionReassignment`), and nothing names that replica afterwards. Kafka's failover leaves it too:
`ReplicaStateMachine.startup` goes by the assignment.
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.leadership.broker_changes import adapted
from kafka_reassign_rpc.core.leadership.elections import allows_unclean, first_electable, first_live, unclean_leader
from kafka_reassign_rpc.core.reassignment_algebra import among
from kafka_reassign_rpc.core.round.changed_by_others import put_back, with_former_state, with_live_in_sync
from kafka_reassign_rpc.core.round.round_view import (
    AssignmentWrite,
    Change,
    PartitionChange,
    RoundView,
    assignment_write,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.topics.missing_replicas import corrected, place_missing


def reassigned_by_others(known: Partition | None, read: Partition) -> bool:
    """Whether others have given a known partition other replicas or another leader without a higher leader epoch.

    Brokers act on LeaderAndIsr only with a higher one. A leader with old replicas asks for an ISR with a replica that
    has left, and a stock leader never asks again once that is refused. A former leader goes on leading, while clients
    are sent to the one that was written.
    """
    return (
        known is not None
        and known.leader_epoch >= read.leader_epoch
        and (
            (known.replicas != read.replicas and set(known.replicas) != set(read.replicas))
            or (known.leader != read.leader and known.partition_epoch >= 0)
        )
    )


def fail_over(
    view: RoundView,
    topic: str,
    index: int,
    *,
    own_id: int = -1,
    is_as_known: bool = False,
    is_reassigned: bool = False,
) -> list[Change]:
    """own_id          this server's broker id, which no assignment may contain
    is_as_known     this controller read the partition again as it left and propagated it: a move continues unchanged,
                    since each higher leader epoch stops its followers for a moment
    is_reassigned   see `reassigned_by_others`; a new controller has no former value, and knows by brokers
                    (`failover.edits_meanwhile`)
    """
    partition = view.get(topic, index)
    if partition is None:
        return []
    found = view.cluster.topics[topic]
    former = view.cluster.soft.former.of(found).get(index)
    known = partition
    if former is not None:
        is_repaired = view.cluster.soft.former.is_repaired(found, index)
        known = with_former_state(partition, former, is_repaired=is_repaired)
    elif view.cluster.soft.former.is_put_back(found, index):
        known = put_back(partition)
    value, missing = place_missing(view, topic, index, known, own_id)
    if former is None and known is partition:
        value = corrected(view, topic, index, value, own_id)
    placed = value is not known
    edited, value = value, with_live_in_sync(view.cluster, value, former)
    if value is not edited:
        _report_kept(view, topic, index, edited, value)
    value = _without_former_replicas(view.cluster, topic, value)
    value = adapted(view.cluster, topic, value)
    if value.is_moving:
        if not (is_as_known and value is partition):
            value = _resumed(value, partition)
    elif value.move is not None:
        # An orphan, or the end of a move that was not propagated: a higher leader epoch makes replicas accept it.
        value = replace(value, move=None, leader_epoch=max(value.leader_epoch, partition.leader_epoch + 1))
    if is_reassigned and partition.partition_epoch >= 0 and value.leader_epoch == partition.leader_epoch:
        value = replace(value, leader_epoch=partition.leader_epoch + 1)
    if value is partition:
        return []
    write = AssignmentWrite.NOW if placed else assignment_write(view, topic, partition, value)
    return [PartitionChange(topic, index, value, write, missing if placed else None)]


def _report_kept(view: RoundView, topic: str, index: int, edited: Partition, kept: Partition) -> None:
    moves = kept.target == edited.target
    reason = (
        "none of the replicas that others have written into the topic's znode is in sync and alive: the partition"
        " moves to them, and keeps replicas in sync until then"
        if moves
        else "all replicas were taken out of the topic's znode: they are written back"
    )
    view.report(
        Event(
            catalogue.PARTITION_EDIT_NOT_FOLLOWED,
            topic,
            index,
            reason=reason,
            target=edited.target,
            replicas=kept.replicas,
        )
    )


def _without_former_replicas(cluster: Cluster, topic: str, partition: Partition) -> Partition:
    """After a half-written cancel or change of target."""
    if not allows_unclean(cluster, topic):
        partition = _with_all_in_sync(partition)
    isr = among(partition.isr, partition.replicas)
    if isr == partition.isr and partition.leader in (NO_LEADER, *partition.replicas):
        return partition
    if not isr:
        # All records are on replicas that left. Only an unclean election helps. The former controller did this only
        # where the topic allows it; a stock controller always does, and the partition stays offline.
        if allows_unclean(cluster, topic):
            live = first_live(cluster, partition, partition.replicas)
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
        elected = first_electable(cluster, partition, partition.replicas, isr)
        leader = NO_LEADER if elected is None else elected
    return replace(partition, isr=isr, leader=leader, leader_epoch=partition.leader_epoch + 1)


def _with_all_in_sync(partition: Partition) -> Partition:
    """If all in-sync replicas are pending deletion, keeps them until the others have caught up.

    No change of ours leaves that while an in-sync replica lives: the record is older than a stock controller's move.
    """
    move = partition.move
    kept = partition.pending_deletion
    if move is None or not among(partition.isr, kept) or among(partition.isr, partition.replicas):
        return partition
    return replace(
        partition,
        replicas=partition.replicas + kept,
        removing=partition.removing + kept,
        pending_deletion=(),
        move=replace(move, retained=(*move.retained, *kept)),
    )


def _resumed(value: Partition, loaded: Partition) -> Partition:
    move = value.move
    if move is None:
        move = MoveRecord(MoveTerms(value.target), value.origin)
    else:
        original = move.original if set(move.original) == set(value.origin) else value.origin
        terms = replace(move.terms, target=value.target)
        move = replace(move, terms=terms, original=original, retained=value.retained)
    return replace(value, move=move, leader_epoch=max(value.leader_epoch, loaded.leader_epoch + 1))
