"""What metrics show of the cluster beside the number of moves: read at a scrape, for each broker at most."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core import reassignment_settings, restrictions
from kafka_reassign_rpc.core.partition_health import HEALTHY, UnhealthyPartitions
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment_settings import InFlightCaps, ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, rate_of

NONE = -1


class ClusterFigures(NamedTuple):
    """Figures of the controller; a standby has the defaults.

    caps        in force
    enabled     whether new moves may start
    throttles   rates of each live broker as leader and as follower, bytes/s; -1: none
    copied      bytes that moves have copied to each live broker, and from it
    unhealthy   partitions that are under-replicated or offline, as last counted
    """

    caps: InFlightCaps = InFlightCaps()
    enabled: bool = True
    throttles: Mapping[int, tuple[int, int]] = {}
    copied: Mapping[int, tuple[int, int]] = {}
    unhealthy: UnhealthyPartitions = HEALTHY


NO_FIGURES = ClusterFigures()


def figures_of(
    cluster: Cluster, settings: ReassignmentSettings, tracker: ProgressTracker, unhealthy: UnhealthyPartitions
) -> ClusterFigures:
    return ClusterFigures(
        reassignment_settings.caps_in_force(cluster, settings),
        restrictions.reassignments_disabled(cluster) is None,
        {
            broker: (_rate(cluster, broker, LEADER_RATE), _rate(cluster, broker, FOLLOWER_RATE))
            for broker in cluster.brokers
        },
        {broker: (tracker.copied_in[broker], tracker.copied_out[broker]) for broker in cluster.brokers},
        unhealthy,
    )


def _rate(cluster: Cluster, broker: int, name: str) -> int:
    found = rate_of(name, cluster.broker_configs.get(str(broker), {}), cluster.default_configs)
    return NONE if found is None else int(found)
