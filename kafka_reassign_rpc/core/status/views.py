"""What the documents are made from: values, read when somebody looks; and Kafka's UnderReplicatedPartitions and
OfflinePartitionsCount, cluster-wide.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.broker import Broker, LostQuorum
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition, Topic
from kafka_reassign_rpc.core.status.own_certificates import NO_CERTIFICATES, OwnCertificates
from kafka_reassign_rpc.core.throttling.leased_configs import Removed


class UnhealthyPartitions(NamedTuple):
    """An offline partition may be under-replicated too."""

    under_replicated: int = 0
    offline: int = 0


HEALTHY = UnhealthyPartitions()


def is_under_replicated(partition: Partition) -> bool:
    """Kafka's Partition.isUnderReplicated: a replica that a move adds is not missed yet. Where the ISR is not known:
    False.
    """
    return partition.is_described and len(partition.isr) < len(partition.sources)


class PartitionHealth:
    """`now`: the last count. A topic is counted again only after a change of its partitions, or while one is new."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int | None, UnhealthyPartitions]] = {}
        """By topic: at which of its revisions; None: it is counted again in any case."""
        self.now = HEALTHY
        self.counted = False

    def update(self, cluster: Cluster) -> Iterator[None]:
        """Without topics in deletion, as in Kafka."""
        counted: dict[str, tuple[int | None, UnhealthyPartitions]] = {}
        under_replicated = offline = 0
        for topic in list(cluster.topics.values()):
            yield
            if topic.deleting:
                continue
            known, revision = self._counted.get(topic.name), topic.revision
            if known is None or known[0] != revision:
                found, are_new = yield from _count(topic, cluster)
                known = None if are_new else revision, found
            counted[topic.name] = known
            under_replicated += known[1].under_replicated
            offline += known[1].offline
        self._counted = counted
        self.now = UnhealthyPartitions(under_replicated, offline)
        self.counted = True


def _is_new(partition: Partition) -> bool:
    """Kafka's NewPartition: it has no state yet.

    Metadata has no partition epoch, but a raised leader epoch shows that there has been a leader: with eligible leader
    replicas (KIP-966) the ISR may be empty after it.
    """
    is_known = partition.partition_epoch >= 0 or partition.leader_epoch > 0
    return not is_known and not partition.isr and partition.leader == NO_LEADER


def _count(topic: Topic, cluster: Cluster) -> Generator[None, None, tuple[UnhealthyPartitions, bool]]:
    """Also returns whether there are new partitions. One with a live replica is about to get a leader: it is not
    offline. Yields before each partition.
    """
    under_replicated = offline = 0
    are_new = False
    for partition in list(topic.partitions.values()):
        yield
        if _is_new(partition):
            are_new = True
            offline += not any(broker in cluster.brokers for broker in partition.replicas)
            continue
        under_replicated += is_under_replicated(partition)
        offline += partition.leader == NO_LEADER
    return UnhealthyPartitions(under_replicated, offline), are_new


def _asks_no_broker() -> None:
    """For a view whose brokers report no disks."""


class BrokerDisk(NamedTuple):
    """What a broker has reported of its log dirs, in bytes; None: unknown.

    at        when, ms since 1970
    replicas  of all its replicas
    capacity  of the volumes of the log dirs that work, of which `free` is left
    failed    path and error code of the other log dirs
    """

    at: int
    replicas: int | None
    capacity: int | None
    free: int | None
    failed: Sequence[tuple[str, int]]


class TermView(NamedTuple):
    """What only the controller knows. "Known" concerns `watch`, which may not see all.

    cluster        as of the last durable round; it changes between two turns of the event loop
    unhealthy      None until it was counted
    healing        as last diagnosed; None until then
    disks          of the brokers that have answered
    viewed         is called when somebody looks at the brokers, so that they are asked for their disks
    silent         brokers whose throttles are unknown
    knows_configs  whether the configs of all topics are known: `watch` reads only those of moving ones
    hidden         topics that this principal may not describe
    tells_routes   whether it is known how moves came: a stock controller does not report it
    knows_leases   whether throttle leases are known; a stock controller gives none
    throttles_at   when `watch` read each broker's throttles, ms since 1970
    outdated       brokers whose throttles were read before the last move ended
    removed        throttles of leases that somebody else has removed again, and that moves go on without
    closed         for `watch`: whether brokers take no new replica, if they report it. None for a controller, who knows
                   that, which brokers shut down, and what waits
    """

    cluster: Cluster
    progress: ProgressTracker
    unhealthy: UnhealthyPartitions | None
    healing: HealingStatus | None
    disks: Mapping[int, BrokerDisk] = {}
    viewed: Callable[[], None] = _asks_no_broker
    silent: Collection[int] = ()
    knows_configs: bool = True
    knows_waiting: bool = True
    hidden: Collection[str] = ()
    tells_routes: bool = True
    knows_leases: bool = True
    throttles_at: Mapping[int, int] = {}
    outdated: Collection[int] = ()
    removed: Collection[Removed] = ()
    closed: Mapping[int, bool | None] | None = None


class ControllerView(NamedTuple):
    """None: not known.

    epoch   if this server is the controller
    since   when it was elected, ms
    page    the address of its status page
    """

    id: int | None = None
    epoch: int | None = None
    since: int | None = None
    page: str | None = None


class WatchView(NamedTuple):
    """What only `watch` says of how it sees a cluster.

    name          of the cluster, where the process has several, else ""
    unseen        what cannot be seen, and why: one line each
    silent_since  since when the cluster has not reported the moves, ms since 1970, or None
    lost_quorum   no controller is active
    """

    name: str = ""
    unseen: Sequence[str] = ()
    silent_since: int | None = None
    lost_quorum: LostQuorum | None = None


class ServerView(NamedTuple):
    """server        its broker id, None for `watch`
    role          "controller", "standby", "watch", or "" while it is none of them: then `reason` says why
    term          None if it does not know the moves
    certificates  who would take those of this server
    """

    server: int | None
    cluster_id: str
    role: str
    reason: str
    controller: ControllerView
    brokers: Mapping[int, Broker]
    term: TermView | None
    watch: WatchView = WatchView()
    certificates: OwnCertificates = NO_CERTIFICATES

    @property
    def rules(self) -> TermView | None:
        """For how moves start, which only the controller itself knows. A stock controller has none of them, whatever
        the configs of the cluster say.
        """
        return None if self.role == "watch" else self.term
