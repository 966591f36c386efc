"""What the documents are made from: values, read when somebody looks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.broker import Broker, LostQuorum
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.status.own_certificates import NO_CERTIFICATES, OwnCertificates
from kafka_reassign_rpc.core.status.partition_health import UnhealthyPartitions
from kafka_reassign_rpc.core.throttling.leased_configs import Removed


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
