"""What a broker holds although it is not assigned to it: somebody has edited a topic's znode, has put an older one
back, or has created the topic again; or a former controller has not stopped the replica. Such a leader goes on taking
records, with acks=1 into a log that nobody reads.

Only the broker knows what it holds: a new controller cannot know what former ones have sent it, and a broker that was
cut off may have started again since. So it is asked (DescribeLogDirs): a log that is no replica's has the lag -1
(ReplicaManager.getLogEndOffsetLag). Logs whose topic is not in ZooKeeper stay as they are (`duties.propagation`), and
what waits for its deletion has its StopReplica.

StopReplica without deletion is not enough: it ends the fetcher of a follower, and a leader goes on as before
(ReplicaManager.stopPartitions). UpdateMetadata changes no replica at all, and a LeaderAndIsr of type FULL counts only
from a KRaft controller, and renames the logs as strays for deletion. So the broker becomes a follower first, by a
LeaderAndIsr in the present leader epoch that counts it among the replicas, since it takes no other; then StopReplica
ends the fetcher. The log stays as it is, since no one has asked for its deletion.
"""

from collections.abc import Collection, Container, Generator
from typing import NamedTuple

from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.log_dirs_reader import Dir


class Unassigned(NamedTuple):
    """held   the broker leads or follows them
    logs   only the log is there
    """

    held: list[TopicPartition]
    logs: list[TopicPartition]


def unassigned(
    cluster: Cluster, broker: int, dirs: Collection[Dir], refused: Container[TopicPartition] = ()
) -> Generator[None, None, Unassigned]:
    """Of the topics in ZooKeeper. `refused`: assigned ones that the broker does not take, since it holds those of a
    former topic of the name. Yields after each log.
    """
    found = Unassigned([], [])
    for one in dirs:
        for topic, sizes in one.sizes.items():
            idle = one.idle.get(topic, ())
            for index in sizes:
                name = TopicPartition(topic, index)
                if is_unassigned(cluster, broker, name, is_refused=name in refused):
                    (found.logs if index in idle else found.held).append(name)
                yield
    return found


def is_unassigned(cluster: Cluster, broker: int, name: TopicPartition, *, is_refused: bool = False) -> bool:
    """A topic in deletion stops its replicas itself. While a znode is unreadable nothing counts as unassigned; nor
    where the leader is no replica, since an edit that was just read may not be followed (`round.changed_by_others`).
    """
    topic = cluster.topics.get(name.topic)
    if topic is None or topic.deleting or name.topic in cluster.unreadable or name.partition in topic.unreadable:
        return False
    value = topic.partitions.get(name.partition)
    if value is None or value.partition_epoch < 0 or broker in value.pending_deletion:
        return False
    if value.leader not in (NO_LEADER, *value.replicas):
        return False
    if broker in value.replicas:
        return is_refused and cluster.soft.former.of_other(topic, name.partition) is not None
    return True


def leader_to_follow(cluster: Cluster, broker: int, name: TopicPartition) -> Broker | None:
    """A broker takes no follower's part without a live leader (ReplicaManager.makeFollowers). Where the partition has
    none, any other broker will do: it refuses to be fetched from. None: there is no other.
    """
    live = [one for one in cluster.brokers.values() if one.id != broker and one.id not in cluster.soft.shutting_down]
    value = cluster.get(*name)
    leader = None if value is None else value.leader
    return next((one for one in live if one.id == leader), live[0] if live else None)
