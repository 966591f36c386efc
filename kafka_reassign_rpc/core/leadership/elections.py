"""Leader election: the rules (kafka.controller.PartitionLeaderElectionAlgorithms and Election), ElectLeaders, and which
partitions get their preferred leader from time to time. Every election raises the leader epoch by one.

rule                 candidates, in order        the leader is the first that is  ISR afterwards
offline              replicas                    live and in the ISR              its live members
offline, unclean     replicas                    live                             the leader alone, recovering
reassignment         target replicas             live and in the ISR              unchanged
preferred            the first of the replicas   live and in the ISR              unchanged
controlled shutdown  replicas                    live and in the ISR              without those shutting down

A live replica's broker is registered and not in controlled shutdown, and its log dir has not failed. The reassignment
rule is in `reassignment_algebra`, that of controlled shutdown in `broker_changes`.
"""

from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum

from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import flag
from kafka_reassign_rpc.core.kafka_errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidTopic,
    KafkaError,
    PreferredLeaderNotAvailable,
)
from kafka_reassign_rpc.core.reassignment_algebra import completed
from kafka_reassign_rpc.core.round.round_view import (
    AssignmentWrite,
    Change,
    PartitionChange,
    RoundView,
    assignment_write,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

RECOVERED = 0
RECOVERING = 1
"""Leader recovery states (KIP-704): a leader from outside the ISR is recovering at first."""

UNCLEAN_ELECTION = "unclean.leader.election.enable"


class ElectionType(IntEnum):
    """As on the wire."""

    PREFERRED = 0
    UNCLEAN = 1


def first_electable(
    cluster: Cluster,
    partition: Partition,
    candidates: Iterable[int],
    isr: Collection[int],
    down: Collection[int] = (),
) -> int | None:
    """`down`: brokers that have bounced and count as dead."""
    for replica in candidates:
        if replica in isr and cluster.is_online(replica, partition) and replica not in down:
            return replica
    return None


def first_live(
    cluster: Cluster, partition: Partition, candidates: Iterable[int], down: Collection[int] = ()
) -> int | None:
    for replica in candidates:
        if cluster.is_online(replica, partition) and replica not in down:
            return replica
    return None


def allows_unclean(cluster: Cluster, topic: str) -> bool:
    """Unclean election may lose records."""
    own = cluster.topic_configs.get(topic, {}).get(UNCLEAN_ELECTION)
    return default_allows_unclean(cluster) if own is None else flag(own) is True


def default_allows_unclean(cluster: Cluster) -> bool:
    dynamic = flag(cluster.default_configs.get(UNCLEAN_ELECTION, ""))
    return cluster.soft.broker_settings.unclean_leader_election_enable if dynamic is None else dynamic


def unclean_leader(partition: Partition, leader: int) -> Partition:
    return replace(
        partition,
        leader=leader,
        isr=(leader,),
        leader_epoch=partition.leader_epoch + 1,
        leader_recovery_state=RECOVERING,
    )


def offline_election(cluster: Cluster, topic: str, partition: Partition, down: Collection[int] = ()) -> Partition:
    """The first two rules. Returns the same object if nothing changes; the ISR stays if all its members are dead."""
    brokers = cluster.brokers
    if partition.offline:
        down = (*down, *partition.offline)
    # Fast where nothing has changed, which is the usual case: this runs for every partition of the cluster.
    leader = partition.leader
    for replica in partition.isr:
        if replica not in brokers or replica in down:
            isr = tuple(replica for replica in partition.isr if replica in brokers and replica not in down)
            break
    else:
        if cluster.is_live(leader) and leader not in down:
            return partition
        isr = partition.isr
    if leader == NO_LEADER or not cluster.is_live(leader) or leader in down:
        elected = first_electable(cluster, partition, partition.replicas, isr, down)
        if elected is None and allows_unclean(cluster, topic):
            unclean = first_live(cluster, partition, partition.replicas, down)
            if unclean is not None:
                return unclean_leader(partition, unclean)
        if elected is not None:
            leader = elected
        elif leader not in isr:  # a leader in controlled shutdown stays the leader while no other replica can lead
            leader = NO_LEADER
    isr = isr or partition.isr
    if leader == partition.leader and isr == partition.isr:
        return partition
    return replace(partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)


def elect(view: RoundView, topic: str, index: int, election: ElectionType) -> tuple[KafkaError | None, list[Change]]:
    """ElectLeaders for one partition, with ZooKeeper mode's errors and texts."""
    partition = view.get(topic, index)
    if partition is None:
        known = view.cluster.topics.get(topic)
        if known is not None and index in known.partitions and index not in known.unreadable:
            return InvalidTopic("The topic is being deleted"), []
        return view.cluster.not_found(topic, index), []
    if election is ElectionType.PREFERRED:
        return _preferred(view, topic, index, partition)
    return _unclean(view, topic, index, partition)


def _preferred(view: RoundView, topic: str, index: int, partition: Partition) -> tuple[KafkaError | None, list[Change]]:
    if partition.replicas[:1] == (partition.leader,):  # an edited znode may name no replicas
        return ElectionNotNeeded(), []
    leader = first_electable(view.cluster, partition, partition.replicas[:1], partition.isr)
    if leader is None:
        return PreferredLeaderNotAvailable(
            f"Failed to elect leader for partition {TopicPartition(topic, index)} under strategy"
            " PreferredReplicaPartitionLeaderElectionStrategy"
        ), []
    elected = replace(partition, leader=leader, leader_epoch=partition.leader_epoch + 1)
    return None, [PartitionChange(topic, index, elected, AssignmentWrite.LATER)]


def _unclean(view: RoundView, topic: str, index: int, partition: Partition) -> tuple[KafkaError | None, list[Change]]:
    cluster = view.cluster
    if partition.leader != NO_LEADER and cluster.is_online(partition.leader, partition):
        return ElectionNotNeeded(), []
    leader = first_electable(cluster, partition, partition.replicas, partition.isr)
    if leader is not None:
        isr = tuple(replica for replica in partition.isr if cluster.is_online(replica, partition))
        elected = replace(partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)
    else:
        leader = first_live(cluster, partition, partition.replicas)
        if leader is None:
            return EligibleLeadersNotAvailable(
                f"Failed to elect leader for partition {TopicPartition(topic, index)} under strategy"
                " OfflinePartitionLeaderElectionStrategy(true)"
            ), []
        elected = unclean_leader(partition, leader)
    value = completed(cluster, elected) or elected
    return None, [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]


class LeaderImbalance:
    """KafkaController.checkAndTriggerAutoLeaderRebalance. A broker's imbalance is the share of the partitions
    preferring it as leader that another broker leads. Counts partitions, in slices of the caller.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._preferred: dict[int, int] = {}
        self._elsewhere: dict[int, list[TopicPartition]] = {}

    def count(self, names: Iterable[TopicPartition]) -> None:
        for name in names:
            partition = self._cluster.get(*name)
            if partition is None or not partition.replicas:
                continue
            preferred = partition.replicas[0]
            self._preferred[preferred] = self._preferred.get(preferred, 0) + 1
            if partition.leader != preferred:
                self._elsewhere.setdefault(preferred, []).append(name)

    def to_elect(self, percentage: int) -> Iterator[TopicPartition]:
        """Where the preferred leader is live, in the ISR, and has an imbalance above `percentage`."""
        for broker, names in self._elsewhere.items():
            if not self._cluster.is_live(broker) or 100 * len(names) <= percentage * self._preferred[broker]:
                continue
            for name in names:
                partition = self._cluster.get(*name)
                if partition is not None and broker in partition.isr and broker not in partition.offline:
                    yield name
