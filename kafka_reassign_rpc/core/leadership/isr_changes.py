"""AlterPartition: a leader asks for another ISR. The checks are those of KafkaController.tryProcessAlterPartition, in
order, then those of KRaft.

If the new ISR completes a move, the same write completes it; the answer shows the state before, and LeaderAndIsr then
informs the leader. The partition has its new partition epoch at once, so that later requests of the round see the
write.
"""

from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import (
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    KafkaError,
    NotController,
    OperationNotAttempted,
    StaleBrokerEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.elections import RECOVERED, RECOVERING
from kafka_reassign_rpc.core.reassignment_algebra import completed
from kafka_reassign_rpc.core.round.changed_by_others import with_higher_epochs
from kafka_reassign_rpc.core.round.round_view import (
    AssignmentWrite,
    Change,
    PartitionChange,
    RoundView,
    assignment_write,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition

INELIGIBLE_SINCE = 2
"""Version of AlterPartition with INELIGIBLE_REPLICA; older ones get OPERATION_NOT_ATTEMPTED."""


class IsrChange(msgspec.Struct, frozen=True, gc=False):
    """`topic_id` names the topic from version 2, `topic` before."""

    topic: str | None
    topic_id: UUID | None
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_broker_epochs: tuple[int, ...] | None = None
    """In the order of `isr`, from version 3; -1 where the leader does not know an epoch."""
    leader_recovery_state: int = 0


class IsrAnswer(NamedTuple):
    """`answer`: the partition after the change, or unchanged, or the error."""

    answer: Partition | KafkaError
    changes: list[Change]


def check_sender(cluster: Cluster, broker_id: int, broker_epoch: int) -> KafkaError | None:
    """Refuses the whole request of an earlier registration."""
    broker = cluster.brokers.get(broker_id)
    return StaleBrokerEpoch() if broker is None or broker.epoch != broker_epoch else None


def alter_partition(view: RoundView, broker_id: int, change: IsrChange, api_version: int) -> IsrAnswer:
    cluster = view.cluster
    topic = change.topic if change.topic_id is None else cluster.topic_names.get(change.topic_id)
    if topic is None:
        return IsrAnswer(UnknownTopicId(), [])
    partition = view.get(topic, change.partition)
    if partition is None or not partition.isr:
        return IsrAnswer(UnknownTopicOrPartition(), [])
    error = _stale(partition, change)
    if error is not None:
        return IsrAnswer(error, [])
    if _is_already_made(partition, broker_id, change):
        return IsrAnswer(partition, [])
    error = _invalid(cluster, partition, broker_id, change, api_version)
    if error is not None:
        return IsrAnswer(error, _told_again(topic, partition, broker_id, change))
    answer = replace(
        partition,
        isr=tuple(change.isr),
        leader_recovery_state=change.leader_recovery_state,
        partition_epoch=view.next_partition_epoch(topic, change.partition),
    )
    value = completed(cluster, answer) or answer
    write = assignment_write(view, topic, partition, value)
    return IsrAnswer(answer, [PartitionChange(topic, change.partition, value, write)])


def higher_epochs(view: RoundView, change: IsrChange) -> list[Change]:
    """Raises the epochs above the sender's if ZooKeeper has lower ones because an older state was put back.

    Brokers act on LeaderAndIsr only with a higher leader epoch and no lower partition epoch than they know. A stock
    broker repeats the whole request until no partition is answered NOT_CONTROLLER, and asks for no other ISR meanwhile.
    So any sender counts, even if another broker leads. A newer controller fences the write.
    """
    topic = change.topic if change.topic_id is None else view.cluster.topic_names.get(change.topic_id)
    partition = None if topic is None else view.get(topic, change.partition)
    seen = change.leader_epoch, change.partition_epoch
    if topic is None or partition is None:
        return []
    return [PartitionChange(topic, change.partition, with_higher_epochs(partition, *seen), AssignmentWrite.LATER)]


def _told_again(topic: str, partition: Partition, broker_id: int, change: IsrChange) -> list[Change]:
    """Raises the leader epoch if the sender, under the present one, knows another leader, an older state, or a replica
    that the partition does not have: others have written the znodes. No controller and no leader leaves that behind.

    A broker acts on LeaderAndIsr only with a higher epoch. Until then every ISR that it asks for is refused, so that
    one who has fallen behind stays in sync, and producers wait for it.
    """
    knows_leader = partition.leader == broker_id and change.partition_epoch == partition.partition_epoch
    if knows_leader and all(replica in partition.replicas for replica in change.isr):
        return []
    value = replace(partition, leader_epoch=partition.leader_epoch + 1)
    return [PartitionChange(topic, change.partition, value, AssignmentWrite.LATER)]


def replicas_sent_again(view: RoundView, topic: str, index: int) -> list[PartitionChange]:
    """Raises the leader epoch where a live replica is out of sync, so that the leader takes its replicas from the
    controller again. A move has had a higher epoch since this controller was elected. A leader keeps the replicas that
    came with its leader epoch, and takes no other one into the ISR. A new controller cannot know which ones these were:
    others may have changed them in ZooKeeper before.
    """
    partition = view.get(topic, index)
    if partition is None or partition.is_moving or partition.leader == NO_LEADER or partition.partition_epoch < 0:
        return []
    out = (broker for broker in partition.replicas if broker not in partition.isr)
    if not any(view.cluster.is_online(broker, partition) for broker in out):
        return []
    value = replace(partition, leader_epoch=partition.leader_epoch + 1)
    return [PartitionChange(topic, index, value, AssignmentWrite.LATER)]


def _stale(partition: Partition, change: IsrChange) -> KafkaError | None:
    if change.partition_epoch > partition.partition_epoch or change.leader_epoch > partition.leader_epoch:
        # The leader has got requests of a newer controller.
        return NotController()
    if change.leader_epoch < partition.leader_epoch:
        return FencedLeaderEpoch()
    return None


def _is_already_made(partition: Partition, broker_id: int, change: IsrChange) -> bool:
    """A repeated request gets the state, not an error."""
    return (
        partition.leader == broker_id
        and partition.isr == tuple(change.isr)
        and partition.leader_recovery_state == change.leader_recovery_state
    )


def _invalid(
    cluster: Cluster, partition: Partition, broker_id: int, change: IsrChange, api_version: int
) -> KafkaError | None:
    isr = change.isr
    if change.partition_epoch < partition.partition_epoch:
        return InvalidUpdateVersion()
    if partition.leader != broker_id or broker_id not in isr or len(set(isr)) != len(isr):
        return InvalidRequest()
    if any(replica not in partition.replicas for replica in isr):
        return InvalidRequest()
    if change.leader_recovery_state == RECOVERING and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED):
        return InvalidRequest()
    if not _eligible(cluster, partition, change):
        return IneligibleReplica() if api_version >= INELIGIBLE_SINCE else OperationNotAttempted()
    return None


def _eligible(cluster: Cluster, partition: Partition, change: IsrChange) -> bool:
    if not all(cluster.is_online(replica, partition) for replica in change.isr):
        return False
    if change.isr_broker_epochs is None:
        return True
    return all(
        epoch < 0 or cluster.brokers[replica].epoch == epoch
        for replica, epoch in zip(change.isr, change.isr_broker_epochs, strict=True)
    )
