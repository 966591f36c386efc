"""Replicas on this server's broker id: placed there by a stock broker that took it for one, or those of a real broker.

A stock broker with this id may be down: its log may be the only one with all acknowledged records. Nothing in ZooKeeper
names the brokers of the past, so a replica counts as that of a broker unless it cannot have records:

    no state, or the first one without a leader     nobody has ever led the partition: there are no records
    the id leads, or is in sync                     a broker's: a stock controller gives that only to registered brokers
    others are in sync, the id is not               records that count are on the others. At its start a server asks
                                                    more: see `held_by_brokers`
"""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster, Partition, Topic, TopicPartition


def never_led(partition: Partition) -> bool:
    """Whether the partition provably never had a leader, and so no records.

    Its state does not exist yet, or is as this server creates it where no replica is live. A stock controller creates
    no state without a leader. A restored state has a higher leader epoch if its partition had lost a leader.
    """
    if partition.partition_epoch < 0:
        return True
    return partition.partition_epoch == 0 and partition.leader == NO_LEADER and partition.leader_epoch == 0


def is_in_use(partition: Partition, own_id: int) -> bool:
    """Whether the state shows a broker with this id: it leads, it is in sync, or there is nobody else in sync."""
    return not never_led(partition) and (not partition.isr or own_id in (partition.leader, *partition.isr))


def is_of_broker(cluster: Cluster, partition: Partition, own_id: int) -> bool:
    """Whether a replica on this id is that of a broker: nobody but its broker may decide about it."""
    return own_id in cluster.brokers or is_in_use(partition, own_id)


def held_by_brokers(topics: Iterable[Topic], own_id: int, *, is_ours: bool) -> Iterator[TopicPartition]:
    """The partitions with a replica on this id that a broker holds, or may hold.

    is_ours   the id is known to be a server's: no broker held replicas under it when a server took it. Of any other id
              also replicas that are not in sync may be those of a broker that is down
    """
    for topic in topics:
        for index, partition in topic.partitions.items():
            if own_id not in (*partition.replicas, *partition.pending_deletion):
                continue
            if index in topic.unreadable or (is_in_use(partition, own_id) if is_ours else not never_led(partition)):
                yield TopicPartition(topic.name, index)
