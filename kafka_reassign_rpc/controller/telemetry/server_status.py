"""What a server knows of itself, and metrics of brokers besides the status document, at a scrape of `/metrics` or
`/ready`. What is not known has no value: 0 would be a claim.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.events.notifications import WebhookCounts
from kafka_reassign_rpc.core.healing.failed_brokers import NO_REPAIRS, RepairCounts
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import ROUTES
from kafka_reassign_rpc.core.status.broker_documents import Throttle
from kafka_reassign_rpc.core.status.brokers import throttle_of
from kafka_reassign_rpc.core.status.documents import Caps, Healing, StartWindow, Status, Totals
from kafka_reassign_rpc.core.status.own_certificates import NO_CERTIFICATES, OwnCertificates
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


NOTHING = Totals(0, {}, 0, 0, 0, 0, 0, None, 0, 0, 0)
NO_CAPS = Caps(None, None, None)
"""Of a server that is not the controller."""

Values = Mapping[tuple[str, ...], float]
"""By the values of the metric's labels."""


class ServerStatus(NamedTuple):
    """connected       whether the ZooKeeper session, or the cluster that is watched, answers; in front of KRaft
                    whether a server is heard to lead
    round_trip      seconds that ZooKeeper took for its last answer; None: there is none
    events_lost     events that could not be written to the event log
    healing         failed brokers and their repairs, as last diagnosed
    refusing        brokers that do not take this server
    certificates    who would take those of this server, and when they end
    webhooks        what became of notifications, by receiver
    only_looks      it is `watch`: it does not learn what only a controller knows, and while it does not see the cluster
                    it knows nothing of it, where a standby of the cluster has none of the controller's moves
    """

    document: Status
    connected: bool
    round_trip: float | None
    events_lost: int
    healing: RepairCounts = NO_REPAIRS
    refusing: int = 0
    figures: ClusterFigures = NO_FIGURES
    webhooks: Mapping[str, WebhookCounts] = {}
    only_looks: bool = False
    certificates: OwnCertificates = NO_CERTIFICATES

    @property
    def sees_the_cluster(self) -> bool:
        return not self.only_looks or self.document.totals is not None

    @property
    def totals(self) -> Totals:
        return NOTHING if self.document.totals is None else self.document.totals

    @property
    def cordoned(self) -> int | None:
        """`watch`, which only looks, does not learn settings of servers, which cordon brokers too."""
        return self.figures.cordoned or (None if self.only_looks else 0)


def waiting(totals: Totals) -> Values:
    return {} if totals.waiting is None else {(route,): totals.waiting.get(route, 0) for route in ROUTES}


def copied(figures: ClusterFigures, side: int) -> Values:
    """`side`: 0 to the broker, 1 from it."""
    known = ((broker, both[side]) for broker, both in figures.copied.items())
    return {(str(broker),): size for broker, size in known if size is not None}


def throttles(figures: ClusterFigures) -> Values:
    return {
        (str(broker), side, "none" if rate is None else rate.by or "unknown"): -1 if rate is None else rate.rate
        for broker, both in figures.throttles.items()
        for side, rate in zip(("leader", "follower"), both, strict=True)
    }


def of_webhooks(status: ServerStatus, place: int) -> Values:
    """`place`: in `WebhookCounts`."""
    return {(receiver,): counts[place] for receiver, counts in status.webhooks.items()}


def log_dirs_offline(healing: Healing | None) -> Values:
    lost = () if healing is None else healing.failed_log_dirs
    return {(str(one.broker), path): 1 for one in lost for path in one.log_dirs or ("",)}


def caps(found: Caps | None) -> Values:
    found = NO_CAPS if found is None else found
    return {(name,): or_none(getattr(found, name)) for name in found.__struct_fields__}


def or_none(value: int | None) -> int:
    """-1 for what is not there."""
    return -1 if value is None else value


def changes_at(window: StartWindow | None) -> float | None:
    return None if window is None or window.until is None else window.until / 1000


def seconds(ms: int | None) -> float:
    return -1 if ms is None else ms / 1000
