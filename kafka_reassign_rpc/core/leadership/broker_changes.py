"""What a broker's start, failure, bounce, controlled shutdown, failed log dir or confirmed deletion means for a
partition. A replica for which its broker answered KAFKA_STORAGE_ERROR counts as dead until the broker answers without
an error or registers again. In the order of effects:

1. A partition without a state gets its first leader and ISR.
2. Dead replicas leave the ISR, and a live member replaces a dead leader (KafkaController.onReplicasBecomeOffline). If
   the whole ISR is dead, it stays: each member has all records, and the first to return leads. (Kafka shrinks it to the
   member handled last.)
3. A partition without a leader gets one from the ISR or, if its topic allows unclean election, from all live replicas
   (PartitionStateMachine.triggerOnlinePartitionStateChange).
4. A move that has only waited for this is completed.
5. A replica that is pending deletion counts as deleted once its broker is gone, although its log may return with the
   broker (as in Kafka). Else stock brokers would show a reassignment in progress for as long as the broker stays away.
"""

from collections.abc import Collection

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, KafkaError, StaleBrokerEpoch
from kafka_reassign_rpc.core.leadership.elections import first_electable, offline_election
from kafka_reassign_rpc.core.reassignment_algebra import completed, without
from kafka_reassign_rpc.core.round.round_view import Change, PartitionChange, RoundView, assignment_write
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition

UNKNOWN_BROKER_EPOCH = -1


def adapt(view: RoundView, topic: str, index: int, *, down: Collection[int] = ()) -> list[Change]:
    """Adapts a partition to the registered brokers, as often as it is called.

    down   brokers that have bounced: they registered with a new epoch before the controller saw that they were gone.
           Adapt the partition once with them and once without.
    """
    partition = view.get(topic, index)
    if partition is None:
        return []
    value = adapted(view.cluster, topic, partition, down)
    if value is partition:
        return []
    return [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]


def elect_missing_leader(view: RoundView, topic: str, index: int) -> list[Change]:
    """PartitionStateMachine.triggerOnlinePartitionStateChange, once unclean election is allowed."""
    partition = view.get(topic, index)
    return adapt(view, topic, index) if partition is not None and partition.leader == NO_LEADER else []


def adapted(cluster: Cluster, topic: str, partition: Partition, down: Collection[int] = ()) -> Partition:
    """Returns the same object if nothing changes."""
    if partition.partition_epoch < 0 and not partition.isr:
        value = first_state(cluster, partition)
    else:
        value = offline_election(cluster, topic, partition, down)
    if value.offline and not all(replica in cluster.brokers and replica not in down for replica in value.offline):
        # The broker will answer again.
        value = replace(value, offline=tuple([r for r in value.offline if r in cluster.brokers and r not in down]))
    if value.is_moving and not down:
        value = completed(cluster, value) or value
    if value.pending_deletion and not all(replica in cluster.brokers for replica in value.pending_deletion):
        value = replace(
            value, pending_deletion=tuple(replica for replica in value.pending_deletion if replica in cluster.brokers)
        )
    return value


def log_dir_answered(view: RoundView, topic: str, index: int, broker: int, *, is_offline: bool) -> list[Change]:
    """The answer to LeaderAndIsr says that the replica's log dir has failed, or works
    (KafkaController.processLeaderAndIsrResponseReceived, onReplicasBecomeOffline).
    """
    partition = view.get(topic, index)
    if partition is None or broker not in partition.replicas or (broker in partition.offline) is is_offline:
        return []
    offline = (*partition.offline, broker) if is_offline else without(partition.offline, (broker,))
    value = adapted(view.cluster, topic, replace(partition, offline=offline))
    return [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]


def with_higher_leader_epoch(view: RoundView, topic: str, index: int, broker: int) -> list[Change]:
    """A higher epoch alone makes a broker take up a replica in whatever state it is (ReplicaManager)."""
    partition = view.get(topic, index)
    if partition is None or broker not in partition.replicas or partition.leader == NO_LEADER:
        return []
    value = replace(partition, leader_epoch=partition.leader_epoch + 1)
    return [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]


def first_state(cluster: Cluster, partition: Partition) -> Partition:
    """If no replica is live, all are the ISR, since there are no records."""
    isr = tuple(replica for replica in partition.replicas if cluster.is_online(replica, partition))
    return replace(
        partition,
        leader=isr[0] if isr else NO_LEADER,
        isr=isr or partition.replicas,
        leader_epoch=0,
    )


def controlled_shutdown_refusal(cluster: Cluster, broker_id: int, broker_epoch: int) -> KafkaError | None:
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        return BrokerNotAvailable(f"Broker id {broker_id} does not exist.")
    if broker_epoch not in (UNKNOWN_BROKER_EPOCH, broker.epoch) and broker_epoch < broker.epoch:
        return StaleBrokerEpoch(
            f"Received controlled shutdown request from an old broker epoch {broker_epoch} for broker {broker_id}."
            f" Current broker epoch is {broker.epoch}."
        )
    return None


def stops_following(view: RoundView, topic: str, index: int, broker: int) -> bool:
    """Whether a broker in controlled shutdown first stops this replica (KafkaController.doControlledShutdown). If it
    went on fetching, it would be proposed for the ISR again and again.
    """
    partition = view.get(topic, index)
    return (
        partition is not None
        and broker in partition.replicas
        and len(partition.replicas) > 1
        and partition.leader != broker
    )


def controlled_shutdown(view: RoundView, topic: str, index: int, broker: int) -> tuple[bool, list[Change]]:
    """Moves leadership and ISR membership away from a broker in `SoftState.shutting_down`
    (KafkaController.doControlledShutdown).

    Returns whether the broker still leads, and so asks again. A single replica is ignored.
    """
    partition = view.get(topic, index)
    if partition is None or len(partition.replicas) < 2 or broker not in partition.replicas:
        return False, []
    cluster = view.cluster
    if partition.leader == broker:
        leader = first_electable(cluster, partition, partition.replicas, partition.isr)
        if leader is None:
            return True, []
        isr = without(partition.isr, cluster.soft.shutting_down)
    else:
        leader = partition.leader
        isr = without(partition.isr, (broker,))
        if not isr or isr == partition.isr:
            return False, []
    value = replace(partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)
    value = completed(cluster, value) or value
    return False, [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]


def confirm_stopped(
    view: RoundView, topic: str, index: int, brokers: Collection[int], *, leader_epoch: int
) -> list[Change]:
    """`brokers` have deleted their pending replicas, or are gone.

    A confirmation of a StopReplica with an older leader epoch does not count: the replica may have been added and
    retired again since. Only the last confirmation writes the topic znode: after a failover the deletion is repeated.
    """
    partition = view.get(topic, index)
    if partition is None or leader_epoch < partition.leader_epoch:
        return []
    if not any(broker in partition.pending_deletion for broker in brokers):
        return []
    left = tuple(broker for broker in partition.pending_deletion if broker not in brokers)
    value = replace(partition, pending_deletion=left)
    return [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]
