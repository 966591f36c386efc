"""Whether a replica on a server's id was placed there by a stock broker, or belongs to a real broker.

A real broker with this id may be down, with the only log that has all acknowledged records. ZooKeeper does not name the
brokers of the past, so a replica counts as a broker's unless it cannot have records:

no state, or the first one without a leader     no replica has ever led the partition: no records
the id leads, or is in sync                     a broker's: a stock controller gives that only to registered brokers
others are in sync, the id is not               records that count are on the others. At its start a server checks
                                                more: see `held_by_brokers`
"""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


def never_led(partition: Partition) -> bool:
    """Whether the partition provably never had a leader, and so no records.

    It has no state, or the one that this server writes if no replica is live. A stock controller creates no state
    without a leader, and a restored state whose partition lost its leader has a higher leader epoch.
    """
    if partition.partition_epoch < 0:
        return True
    return partition.partition_epoch == 0 and partition.leader == NO_LEADER and partition.leader_epoch == 0


def is_in_use(partition: Partition, own_id: int) -> bool:
    """Whether a broker with this id leads or is in sync, or no replica is in sync."""
    return not never_led(partition) and (not partition.isr or own_id in (partition.leader, *partition.isr))


def is_of_broker(cluster: Cluster, partition: Partition, own_id: int) -> bool:
    """Then only that broker may decide about the replica."""
    return own_id in cluster.brokers or is_in_use(partition, own_id)


def refusal(cluster: Cluster, replicas: Iterable[int], partition: Partition | None = None) -> KafkaError | None:
    """Refuses replicas on a server's id, for which no broker ever comes, except what `partition` already has on a
    broker that is down.
    """
    ids = sorted(
        {
            replica
            for replica in replicas
            if cluster.is_server(replica)
            and (
                partition is None or replica not in partition.replicas or not is_of_broker(cluster, partition, replica)
            )
        }
    )
    if not ids:
        return None
    return InvalidReplicaAssignment(
        f"No broker can have the id {' or '.join(map(str, ids))}: a reassignment server has taken it"
        f" (/admin/reassignment_server_ids/{ids[0]}), and servers hold no replicas."
    )


def held_by_brokers(topics: Iterable[Topic], own_id: int, *, is_ours: bool) -> Iterator[TopicPartition]:
    """The partitions of which a broker with this id holds a replica, or may hold one.

    is_ours   a server took the id when no broker held replicas under it; else a replica out of sync may also belong to
              a broker that is down
    """
    for topic in topics:
        for index, partition in topic.partitions.items():
            if own_id not in (*partition.replicas, *partition.pending_deletion):
                continue
            if index in topic.unreadable or (is_in_use(partition, own_id) if is_ours else not never_led(partition)):
                yield TopicPartition(topic.name, index)
