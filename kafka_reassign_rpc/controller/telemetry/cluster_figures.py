"""What metrics show of brokers besides the status document: read at a scrape."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.status.broker_documents import Throttle
from kafka_reassign_rpc.core.status.brokers import throttle_of
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE


class ClusterFigures(NamedTuple):
    """A standby has the defaults.

    throttles   rates of each live broker as leader and as follower, where they are known; None: there is none
    copied      bytes that moves have copied to each live broker, and from it; None: it is not known who leads
    migrating   how many live brokers were restarted for the migration to KRaft
    refused     configs of leases that ZooKeeper refuses to write
    """

    throttles: Mapping[int, tuple[Throttle | None, Throttle | None]] = {}
    copied: Mapping[int, tuple[int, int | None]] = {}
    cordoned: int = 0
    migrating: int = 0
    refused: int = 0


NO_FIGURES = ClusterFigures()


def figures_of(
    cluster: Cluster,
    tracker: ProgressTracker,
    silent: Collection[int] = (),
    refused: int = 0,
    *,
    hidden: Collection[str] = (),
    knows_leases: bool = True,
) -> ClusterFigures:
    """`silent`: brokers whose throttles are not known; `hidden`: topics whose leaders are not. `knows_leases`: as in
    `TermView`.
    """

    def throttle(broker: int, name: str) -> Throttle | None:
        return throttle_of(cluster, broker, name, knows_leases=knows_leases)

    return ClusterFigures(
        {
            broker: (throttle(broker, LEADER_RATE), throttle(broker, FOLLOWER_RATE))
            for broker in cluster.brokers
            if broker not in silent
        },
        {one: (tracker.copied_in[one], None if hidden else tracker.copied_out[one]) for one in cluster.brokers},
        len(cordoned(cluster) & cluster.brokers.keys()),
        len(cluster.soft.migrating),
        refused,
    )
